"""Families, measures and data that go together, as pieces of programs."""

import functools
from typing import NamedTuple

from hypothesis import strategies as st

from tests.tools.wings import rows_of_wings

from .case import Text, pieces
from .values import EXTREME_POSITIVE, WRONG_NUMBERS, choose, per_feature, positive, real

SIZES = [4, 6, 5, 3, 2, 1, 9, 12, 30]
WIDTHS = [1, 2, 3, 1, 2, 7]

REAL = ["rng.normal(size=({n}, {d}))"] * 4 + pieces("""
    np.zeros(({n}, {d})) | np.full(({n}, {d}), 0.1) | np.repeat(rng.normal(size=(1, {d})), {n}, axis=0)
    rng.integers(0, 3, size=({n}, {d})) * 1.0 | np.arange({n} * {d}).reshape({n}, {d})
    rng.standard_cauchy(size=({n}, {d})) | rng.normal(size=({n}, {d})) + 8.0 * (np.arange({n}) % 2)[:, None]
""")
SCALES = [""] * 4 + [
    f" {scale}" for scale in pieces("* 1e-8 | * 1e3 | * 1e8 | + 1e6 | * 1e-150 | * 1e-300 | + 1e9 | * 1e100 | * 1e155")
]
COUNTS = ["rng.poisson(2.0, size=({n}, {d}))"] * 4 + pieces("""
    np.zeros(({n}, {d}), dtype=int) | rng.poisson(1e4, size=({n}, {d})) | np.ones(({n}, {d}), dtype=int)
    rng.poisson([0.1] * {d}, size=({n}, {d})) * 10**6 | np.full(({n}, {d}), 2**40) | np.full(({n}, {d}), 10**15)
    rng.poisson(3.0, size=({n}, {d})).astype('uint8') | rng.poisson(3.0, size=({n}, {d})).astype(float)
""")
BITS = ["rng.integers(0, 2, size=({n}, {d}))"] * 4 + ["np.zeros(({n}, {d}))", "np.ones(({n}, {d}), dtype=bool)"]
LEVELS = ["rng.integers(0, 3, size=({n}, {d}))"] * 4 + [
    "np.zeros(({n}, {d}), dtype=int)",
    "rng.integers(0, 40, size=({n}, {d}))",
    "np.full(({n}, {d}), 5)",
    "np.where(np.arange({n})[:, None] == 0, 10**9, rng.integers(0, 2, size=({n}, {d})))",
]
POSITIVE = ["rng.lognormal(size=({n}, {d}))"] * 4 + pieces("""
    np.ones(({n}, {d})) | np.full(({n}, {d}), 0.1) | np.zeros(({n}, {d})) | rng.normal(size=({n}, {d}))
    rng.lognormal(size=({n}, {d})) * 1e-12 | rng.lognormal(size=({n}, {d})) * 1e12
    1.0 + rng.poisson(3.0, size=({n}, {d}))
    rng.lognormal(0.0, 40.0, size=({n}, {d})) | np.full(({n}, {d}), 5e-324) | np.full(({n}, {d}), 1e308)
    rng.lognormal(5.0, 1e-9, size=({n}, {d})) | rng.lognormal(size=({n}, {d})) * 1e-320
    np.where(rng.random(({n}, {d})) < 0.3, nan, rng.lognormal(size=({n}, {d})))
""")
AMOUNTS = ["rng.lognormal(size=({n}, {d})) * rng.integers(0, 2, size=({n}, {d}))"] * 4 + [
    *POSITIVE[4:],
    "rng.poisson(0.7, size=({n}, {d}))",
    "np.where(rng.random(({n}, {d})) < 0.3, nan, rng.lognormal(size=({n}, {d})) * rng.integers(0, 2, size=({n}, {d})))",
]
# Columns of which the logarithm is taken.
LOG_COLUMNS = [
    *("np.ones({d})", "np.arange({d}) % 2", "np.zeros({d})", "1", "[True] * {d}", "np.full({d}, 0.5)", "None"),
    *("[1] * ({d} + 1)", "-np.ones({d})", "pm.Bernoulli.dist(0.5, size={d})", "'log'", "np.full({d}, nan)"),
]
PLAIN = 4  # number of ordinary entries at the start of each list

# How an array may be wrapped before it is passed: in ordinary containers, and in wrong ones.
CONTAINERS = ["{X}"] * 6 + pieces("""
    ({X}).tolist() | pd.DataFrame({X}) | np.asfortranarray({X}) | xr.DataArray({X}, dims=('i', 'j'))
    np.array({X}, dtype='float32') | pt.constant({X}) | np.array({X}, dtype=object) | ({X})[::-1]
    np.ma.masked_invalid(np.array({X}, dtype=float))
""")
WRONG_DATA = pieces("""
    sparse.csr_array({X}) | sparse.coo_matrix({X}) | np.array({X}).astype(str) | np.array({X}) * 1j | ({X})[None]
    np.array({X}).astype('datetime64[s]') | ({X})[:-1] | ({X})[:0] | ({X})[:, :0] | ({X}).T | np.array({X}) - 10
    np.array({X}) + 0.5 | np.where(np.arange(({X}).size).reshape(({X}).shape) % 3 == 0, nan, {X})
    np.where({X} == {X}, nan, 0.0) | np.where(np.arange(({X}).size).reshape(({X}).shape) == 0, inf, {X})
    [[1.0], [1.0, 2.0], [3.0]] | 'abc' | None | 3.0 | {{'a': 1}} | [] | iter([1, 2]) | np.array({X}).astype(bool)
    np.array({X}).astype('timedelta64[s]') | object() | np.ma.masked_array({X}, mask=np.array({X}) == np.array({X}))
    pd.DataFrame({X}).astype(str) | np.array([['a', 'b']] * 4) | pd.DataFrame({{'a': ['x', 'y', 'x', 'z']}})
    pd.Series({X}.ravel()) | np.append({X}, {X}, axis=0) | pm.Normal.dist(size=(4, 2))
    np.where(np.arange(len({X}))[:, None] == 0, 1e9, {X}) | np.where(np.arange(len({X}))[:, None] == 0, 1e160, {X})
    np.where(np.arange(len({X}))[:, None] < 2, -999999999, {X}) | pd.array([1, None, 3], dtype='Int64')
""")


class Inputs(NamedTuple):
    """Texts of a family, a measure and data, with what is known about them."""

    family: Text
    measure: Text
    X: Text
    n: int
    d: int


@functools.cache
@st.composite
def measures(draw, hostile):
    """A measure."""
    alpha = draw(positive(hostile))
    kinds = ["DirichletProcess", "NormalizedInverseGaussian", "NormalizedGeneralizedGamma", "PitmanYorProcess"]
    kind = choose(draw, [*kinds, "MixtureOfFiniteMixtures"])
    if kind in kinds[:2]:
        return Text(f"nrm.{kind}({alpha.source})", alpha.is_plain)
    if kind == "MixtureOfFiniteMixtures":
        rate = draw(positive(hostile))
        return Text(f"nrm.{kind}({alpha.source}, {rate.source})", alpha.is_plain and rate.is_plain)
    choices = ["0.5", "0.3", "0.0", "0.9", "0.05", "1e-12", "0.999999", "5e-324", "1 - 1e-15", *WRONG_NUMBERS]
    position = draw(st.integers(0, len(choices) - 1 if hostile else 4))
    if kind == "PitmanYorProcess":
        is_plain = alpha.is_plain and position < 5
        # Above minus the discount for any ordinary alpha.
        concentration = f"{alpha.source} - {choices[position]}" if is_plain and draw(st.booleans()) else alpha.source
        return Text(f"nrm.{kind}({choices[position]}, {concentration})", is_plain)
    return Text(f"nrm.{kind}({alpha.source}, {choices[position]})", alpha.is_plain and position < 5)


@st.composite
def data(draw, values, n, d, hostile):
    """Data of n items with d features."""
    row = draw(st.integers(0, len(values) - 1))
    source, is_plain = values[row].format(n=n, d=d), row < PLAIN
    if values is REAL:
        scale = choose(draw, SCALES)
        source, is_plain = f"{source}{scale}", is_plain and not scale
    source = source.replace("rng", f"np.random.default_rng({draw(st.integers(0, 30))})")
    level = draw(st.integers(0, 19))
    if level < hostile:
        return Text(choose(draw, WRONG_DATA).format(X=source), False)
    if level < 2 * hostile:
        return Text(choose(draw, CONTAINERS).format(X=source), False)
    return Text(source, is_plain)


@functools.cache
@st.composite
def matrices(draw, d, hostile):
    """A positive definite matrix, or something else instead."""
    if draw(st.integers(0, 19)) >= 2 * hostile:
        scale = choose(draw, ["", " * 0.2", " * 30.0"])
        return Text(f"np.eye({d}){scale}")
    number = choose(draw, [*EXTREME_POSITIVE, *WRONG_NUMBERS])
    forms = pieces("""
        np.eye({d}) * 1e-20 | np.eye({d}) * 1e-300 | np.eye({d}) * 1e300 | np.ones(({d}, {d})) | np.eye({d} + 1)
        np.eye(1) | 1.0 | -1.0 | [1.0, 2.0] | -np.eye({d}) | np.zeros(({d}, {d})) | np.eye({d}).tolist()
        pd.DataFrame(np.eye({d})) | np.eye({d}) + 1e-9 | np.ones({d}) | np.diag(np.logspace(0, 300, {d}))
        np.eye({d}) + np.eye({d}, k=1) | np.eye({d})[None]
    """)
    return Text(choose(draw, [*(form.format(d=d) for form in forms), number]), False)


# Families of real rows in wings: their fields, with the source of those that are not drawn.
OF_WINGS = rows_of_wings("ATTACKED")


@functools.cache
@st.composite
def families(draw, kind, n, d, hostile):
    """A family of the given name."""
    scalar, location = positive(hostile), per_feature(real(hostile), d, hostile)
    shaped, matrix = per_feature(scalar, d, hostile), matrices(d, hostile)
    nu = scalar.map(lambda text: Text(f"{d} + {text.source}", text.is_plain))
    logs = st.sampled_from(
        [Text(form.format(d=d), k < 2) for k, form in enumerate(LOG_COLUMNS if hostile else LOG_COLUMNS[:2])]
    )
    covariates = st.just(Text(f"np.linspace(-1, 1, {n})[:, None] ** np.arange({d})", True))
    parts = {
        "NormalGamma": {"mu": location, "kappa": shaped, "alpha": shaped, "beta": shaped},
        "NormalWishart": {"mu": location, "kappa": scalar, "Psi": matrix, "nu": nu},
        "NormalRegression": {
            "covariates": covariates,
            "mu": location,
            "Lambda": matrix,
            "alpha": scalar,
            "beta": scalar,
        },
        "LogNormalGamma": {"log_columns": logs, "mu": location, "kappa": shaped, "alpha": shaped, "beta": shaped},
        "LogNormalWishart": {"log_columns": logs, "mu": location, "kappa": scalar, "Psi": matrix, "nu": nu},
        "HurdleLogNormal": {
            "ones": shaped,
            "zeros": shaped,
            "mu": location,
            "kappa": shaped,
            "alpha": shaped,
            "beta": shaped,
        },
        "HurdlePoisson": {"ones": shaped, "zeros": shaped, "alpha": shaped, "beta": shaped},
        "PoissonGamma": {"alpha": shaped, "beta": shaped},
        "BernoulliBeta": {"alpha": shaped, "beta": shaped},
        "CategoricalDirichlet": {"alpha": scalar},
        "MultinomialDirichlet": {"alpha": shaped},
    }
    drawn = {"mu": location, "Lambda": matrix}
    for name, fields in OF_WINGS.items():
        made = {field: source.format(n=n, d=d) for field, source in fields.items() if source}
        parts[name] = {field: drawn.get(field, scalar) for field in fields}
        parts[name] |= {field: st.just(Text(source, True)) for field, source in made.items()}
    texts = {name: draw(part) for name, part in parts[kind].items()}
    further = {"CategoricalDirichlet": "n_levels", "MultinomialDirichlet": "total"}.get(kind)
    if hostile and further and draw(st.integers(0, 4)) == 0:
        given = choose(draw, ["3", "0", "-1", "2.5", "[3, 3]", "'x'", "nan", "10**9", "[]", f"[3] * {d}", f"[4] * {n}"])
        texts[further] = Text(given, False)
    arguments = ", ".join(f"{name}={text.source}" for name, text in texts.items())
    return Text(f"nrm.{kind}({arguments})", all(text.is_plain for text in texts.values()))


VALUES = {
    "NormalGamma": REAL,
    "NormalRegression": REAL,
    "NormalWishart": REAL,
    "LogNormalGamma": POSITIVE,
    "LogNormalWishart": POSITIVE,
    "HurdleLogNormal": AMOUNTS,
    "HurdlePoisson": COUNTS,
    "PoissonGamma": COUNTS,
    "BernoulliBeta": BITS,
    "CategoricalDirichlet": LEVELS,
    "MultinomialDirichlet": COUNTS,
} | dict.fromkeys(OF_WINGS, REAL)


@functools.cache
@st.composite
def inputs(draw, kinds=tuple(VALUES), hostility=(0, 0, 0, 1, 2, 4)):
    """A family, a measure and data; ``kinds`` are the families to choose from."""
    kind = choose(draw, kinds)
    n, d = choose(draw, SIZES), choose(draw, WIDTHS)
    hostile = choose(draw, hostility)
    family = draw(families(kind, n, d, hostile))
    measure = draw(measures(hostile if draw(st.booleans()) else 0))
    X = draw(data(VALUES[kind], n, d, hostile))
    if kind == "NormalRegression" or (d == 1 and X.is_plain and kind != "MultinomialDirichlet" and draw(st.booleans())):
        X = Text(f"({X.source})[:, 0]", X.is_plain)
    return Inputs(family, measure, X, n, d)
