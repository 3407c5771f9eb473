"""Numbers and objects for arguments, as pieces of programs: ordinary, extreme and wrong ones."""

import functools

from hypothesis import strategies as st

from .case import Text, pieces

ORDINARY_POSITIVE = ["1.0", "0.5", "2", "3.7", "10.0", "0.05"]
EXTREME_POSITIVE = pieces("""
    1e-300 | 5e-324 | 1e-20 | 1e-15 | 1e-8 | 1e-3 | 1e3 | 1e6 | 1e10 | 1e15 | 1e17 | 1e100 | 1e300 | np.float32(0.3)
    np.int64(2) | True | np.array(1.5) | pt.constant(0.7) | np.nextafter(1.0, 2.0)
""")
WRONG_NUMBERS = pieces("""
    0.0 | -1.0 | -0.0 | nan | inf | -inf | '1.0' | 'x' | None | 1j | [] | [1.0, 'a'] | [[1.0], [1.0, 2.0]] | {}
    object() | np.datetime64('2020-01-01') | np.array(['a']) | pd.Series([1.0, 2.0]) | np.ones((2, 2, 2))
    xr.DataArray([1.0, 2.0], dims='k') | np.ma.masked_array([1.0, 2.0], [True, False]) | np.ones(17) | 2**70
    sparse.csr_array([[1.0]]) | lambda: 1.0 | float | pd.DataFrame({'a': [1.0]}) | b'1' | np.ones((0,))
""")
EXTREME_REAL = ["1e-300", "1e8", "-1e8", "1e12", "-1e150", "1e300", "5e-324", "np.float32(0.1)", "True", "10**20"]

WRONG_ANYTHING = pieces("""
    None | 'auto' | -1 | 0 | nan | inf | 1.5 | True | [] | {} | () | object() | 1j | 'z' | b'z' | ['z']
    np.array([]) | np.zeros((2, 2)) | 2**63 | -(2**63) | pd.DataFrame() | xr.Dataset() | xr.DataTree() | np.int8(3)
    np.random.default_rng(1) | float('1e400') | 'misspelt' | lambda: 0 | np.datetime64('NaT') | (1, 2, 3)
    [[1], [2, 3]]
""")


@functools.cache
def _places(count):
    return st.integers(0, count - 1)


def choose(draw, values):
    """One of a list.  ``sampled_from`` would make and check a strategy of its own at each call."""
    return values[draw(_places(len(values)))]


@functools.cache
@st.composite
def positive(draw, hostile):
    """A positive hyperparameter, or something else with probability ``hostile`` in ten."""
    return draw(_number(ORDINARY_POSITIVE, EXTREME_POSITIVE, hostile))


@functools.cache
@st.composite
def real(draw, hostile):
    """A hyperparameter that is any real number."""
    return draw(_number(["0.0", "1.0", "-2.5", "0"], EXTREME_REAL, hostile))


@st.composite
def _number(draw, ordinary, extreme, hostile):
    level = draw(st.integers(0, 19))
    if level >= 2 * hostile:
        return Text(choose(draw, ordinary))
    if level % 3:
        return Text(choose(draw, extreme), False)
    return Text(choose(draw, WRONG_NUMBERS), False)


@functools.cache
@st.composite
def per_feature(draw, number, d, hostile):
    """A number for all features, one for each feature, or too few or too many."""
    form = draw(st.integers(0, 9))
    if form < 5:
        return draw(number)
    length = d if form < 9 or not hostile else choose(draw, [0, 1, d + 1, 2 * d + 1])
    parts = [draw(number) for _ in range(min(length, 4))] + [Text("1.0")] * (length - 4)
    source = f"[{', '.join(part.source for part in parts)}]"
    source = source if draw(st.booleans()) else f"np.array({source})"
    return Text(source, length == d and all(part.is_plain for part in parts))


@st.composite
def anything(draw, ordinary, hostile=3):
    """An argument: one of the ordinary pieces of text, or anything at all."""
    if draw(st.integers(0, 9)) < hostile:
        return Text(choose(draw, WRONG_ANYTHING), False)
    return Text(choose(draw, ordinary))


@st.composite
def options(draw, table, *, most=2, hostile=3):
    """Keyword arguments ``, name=value``, and sometimes a misspelt name."""
    count = draw(_places(most + 1)) if table else 0
    chosen = dict.fromkeys(choose(draw, sorted(table)) for _ in range(count))
    source, is_plain = "", True
    for name in chosen:
        value = draw(anything(table[name], hostile))
        source, is_plain = f"{source}, {name}={value.source}", is_plain and value.is_plain
    if table and draw(st.integers(0, 29)) == 29:
        source, is_plain = f"{source}, {choose(draw, sorted(table))}s=1", False
    return Text(source, is_plain)
