"""What recipes say of columns: repeated values, redundant ones, those that are probably not what their type says."""

import logging
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.recipes.columns import redundant_columns, warn_of_redundant_columns
from pymc_nrm.recipes.rounding import function_of_rounded
from tests.helpers import refused

pytestmark = pytest.mark.usefixtures("unbroken")

ROUNDED = np.random.default_rng(1).normal(size=(60, 3)).round(1) * [1.0, 7.0, 0.01]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1.0, 3.0, 1.0, 2.5], [2 / 3 + 1 / 6, 1.0, 1 + 1 / 6, 2.5, 3.0]),
        ([0.0, 0.0, 1.0, 1.0], [-0.25, 0.25, 0.75, 1.25]),
        # 0.1 + 0.2 and 0.3 are one value.
        ([0.1 + 0.2, 0.3, 0.4, 0.5], [0.275, 0.325, 0.4, 0.5]),
        # Far from zero, arithmetic is less exact than a share of the range.
        (1e9 + np.array([0.1 + 0.2, 0.3 + 2e-7, 0.4, 0.5]), 1e9 + np.array([0.275, 0.325, 0.4, 0.5])),
        # The range overflows: nothing can be said of the width.
        ([-1e308, 1e308, 1e308], [-1e308, 1e308, 1e308]),
        ([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]),
        ([5.0, 5.0], [5.0, 5.0]),
        ([np.nan, 1.0, np.nan, 1.0, 2.0], [0.75, 1.25, 2.0, np.nan, np.nan]),
        ([np.nan, np.nan], [np.nan, np.nan]),
        ([], []),
    ],
)
def test_items_are_spread_evenly_over_the_smallest_gap(values, expected):
    np.testing.assert_allclose(np.sort(nrm.recipes.jitter_ties(values)), expected, rtol=1e-12)


def test_values_stay_in_order_and_means_of_ties_as_they_are():
    jittered = nrm.recipes.jitter_ties(ROUNDED)
    for before, after in zip(ROUNDED.T, jittered.T, strict=True):
        known, group, sizes = np.unique(before.round(9), return_inverse=True, return_counts=True)
        np.testing.assert_allclose(np.bincount(group, after) / sizes, known, atol=1e-9)
        assert (before[np.argsort(after)] >= np.maximum.accumulate(before[np.argsort(after)]) - 1e-9).all()
        assert len(np.unique(after)) == len(after)


def test_jitter_follows_units_and_leaves_other_columns_alone():
    jittered = nrm.recipes.jitter_ties(ROUNDED)
    np.testing.assert_allclose(nrm.recipes.jitter_ties(1000 * ROUNDED), 1000 * jittered, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(nrm.recipes.jitter_ties(ROUNDED[:, :2]), jittered[:, :2])
    np.testing.assert_array_equal(nrm.recipes.jitter_ties(ROUNDED[:, 0]), jittered[:, 0])


def test_orders_of_different_columns_are_independent():
    """Of 400 equal pairs, half lie above their value in the first column; so many of these do in the second."""
    jittered = nrm.recipes.jitter_ties(np.r_[np.zeros((400, 2)), np.ones((1, 2))])[:400]
    both = (jittered > 0).all(axis=1).sum()
    # Hypergeometric: mean 100, standard deviation 5.
    assert abs(both - 100) < 20


def test_seeds():
    jittered = nrm.recipes.jitter_ties(ROUNDED)
    np.testing.assert_array_equal(nrm.recipes.jitter_ties(ROUNDED, random_seed=0), jittered)
    assert (nrm.recipes.jitter_ties(ROUNDED, random_seed=1) != jittered).any()
    assert (nrm.recipes.jitter_ties(ROUNDED, random_seed=np.random.default_rng(3)) != jittered).any()


def test_labels_of_the_argument_are_kept_and_its_values_too():
    frame = pd.DataFrame(ROUNDED, index=list(range(5, 65)), columns=["a", "b", "c"])
    before = frame.copy()
    jittered = nrm.recipes.jitter_ties(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert jittered.index.equals(frame.index) and jittered.columns.equals(frame.columns)
    np.testing.assert_array_equal(jittered, nrm.recipes.jitter_ties(ROUNDED))
    series = nrm.recipes.jitter_ties(frame["a"])
    assert series.name == "a" and series.index.equals(frame.index)
    array = nrm.recipes.jitter_ties(xr.DataArray(ROUNDED, dims=("item", "feature")))
    assert array.dims == ("item", "feature")


test_bad_arguments = refused(
    lambda X, seed: nrm.recipes.jitter_ties(X, random_seed=seed),
    (np.zeros((2, 2, 2)), 0, ValueError, r"got shape \(2, 2, 2\)"),
    (["a", "b"], 0, TypeError, "X must be real numbers"),
    ([1.0, 1.0, 2.0], -1, ValueError, "random_seed must be"),
)


@pytest.mark.parametrize("recipe", [nrm.gaussian_mixture, nrm.mixture_model])
def test_recipes_model_the_jittered_values(recipe, caplog):
    frame = pd.DataFrame(ROUNDED, columns=["a", "b", "c"])
    logger = "pymc.nrm_recipes"
    with caplog.at_level(logging.INFO, logger=logger):
        model = recipe(frame)
    (text,) = [record.getMessage() for record in caplog.records if record.name == logger]
    if recipe is nrm.gaussian_mixture:
        columns = "a (by at most 0.05), b (by at most 0.35), c (by at most 0.0005)"
        assert text == f"Jittered repeated values of columns {columns}. jitter_ties=False leaves them as they are"
    else:
        for line, width in zip(text.splitlines()[2:], ("0.05", "0.35", "0.0005"), strict=True):
            assert line.endswith(f"measurements; jittered by up to {width}")
    with pm.Model() as explicit:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", np.log(len(ROUNDED)))), n=len(ROUNDED))
        jittered = nrm.recipes.jitter_ties(ROUNDED)
        name = model.observed_RVs[0].name
        nrm.Mixture(name, z, nrm.NormalWishart.learned(name, jittered), observed=jittered)
    point = explicit.initial_point(random_seed=1)
    assert model.compile_logp()(point) == pytest.approx(explicit.compile_logp()(point), rel=1e-12)

    caplog.clear()
    with caplog.at_level(logging.INFO, logger="pymc.nrm_recipes"):
        model = recipe(frame, jitter_ties=False)
    assert "jittered" not in caplog.text.lower()
    data = model.rvs_to_values[model.observed_RVs[0]].eval()
    np.testing.assert_array_equal(data, ROUNDED)


def test_combinations_of_columns_are_seen_before_the_jitter():
    dependent = np.c_[ROUNDED[:, :2].round(1), ROUNDED[:, :2].round(1).sum(axis=1)]
    assert "x_below_pivot" not in nrm.gaussian_mixture(dependent).named_vars
    with pytest.raises(ValueError, match="linear combinations"):
        nrm.gaussian_mixture(dependent, covariance="full")


@pytest.mark.parametrize(("gap", "warned"), [(0.1, False), (1e-6, True)])
def test_a_value_with_many_items_warns_unless_jitter_widens_it(gap, warned):
    values = np.random.default_rng(4).normal(size=(100, 2))
    values[:, 1] = np.where(np.arange(100) < 40, 0.0, values[:, 1].round(1)) + 0.0
    values[40, 1] = gap
    # Zero has no sign in a text.
    values[:10, 1] = -0.0
    for data, name in ((values, "1"), (pd.DataFrame(values, columns=["a", "b"]), "'b'")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            nrm.gaussian_mixture(data)
        messages = [str(warning.message) for warning in caught if "has the value" in str(warning.message)]
        assert len(messages) == warned
        for words in (f"column {name} has the value 0 in 4", "two columns, whether it has this value"):
            assert not warned or words in messages[0]


@pytest.mark.parametrize(("n_equal", "n", "warned"), [(20, 300, True), (13, 300, False), (7, 100, False)])
def test_the_floor_of_a_scale_warns(n_equal, n, warned):
    """Many items at the least of values that are nearly all different: a spike, whatever the jitter."""
    values = np.random.default_rng(6).normal(size=(n, 2)).round(5)
    values[:n_equal, 1] = values[:, 1].min()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nrm.gaussian_mixture(values)
    assert ["has the value" in str(warning.message) for warning in caught] == [True] * warned


RNG = np.random.default_rng(5)
HEIGHTS = RNG.normal(172, 9, size=200)
INCHES = np.where(RNG.random(200) < 0.3, (HEIGHTS / 2.54).round() * 2.54, HEIGHTS.round()).round(2)
SECONDS = np.r_[((HEIGHTS * 6).round() / 60).round(3), 17.201]
UNEXPLAINED = {
    "inches among centimetres": (INCHES, "0.02", "1"),
    "three inches": (np.r_[HEIGHTS.round(), 160.02, 165.1, 167.64], "0.02", "1"),
    "sixtieths": (SECONDS, "0.001", "0.0166667"),
    "one price off the others": (np.r_[5 * RNG.integers(1, 60, size=300) - 0.01, 100.0], "0.01", "5"),
}
EXPLAINED = {
    "rounded": HEIGHTS.round(1),
    "tails": RNG.standard_cauchy(size=500).round(2),
    "counts": RNG.poisson(5, size=200),
    "clusters": (100 * RNG.integers(20, size=500) + RNG.normal(size=500)).round(2),
    "many zeros": np.where(RNG.random(400) < 0.2, 0.0, RNG.gamma(2.0, size=400).round(3)),
    "heaped at fives": np.where(RNG.random(300) < 0.4, HEIGHTS[:1].round(), 5 * RNG.integers(10, 30, size=300)),
    "few items": INCHES[:19],
    "few ties": np.r_[RNG.normal(size=300), INCHES[:60]],
}


@pytest.mark.parametrize("name", UNEXPLAINED)
@pytest.mark.parametrize("factor", [1, 1024.0, -1.0])
def test_ties_that_the_smallest_gap_does_not_explain_warn(name, factor):
    values, gap, step = UNEXPLAINED[name]
    with pytest.warns(UserWarning, match="column 0 repeats values as if") as caught:
        jittered = nrm.recipes.jitter_ties(factor * values)
    assert abs(jittered / factor - values).max() < float(gap)
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    if factor == 1:
        rounded = "x.round()" if step == "1" else f"{step} * (x / {step}).round()"
        assert f"only {gap} apart" in message and message.endswith(f": {rounded}")
    step = 1 / 60 if step == "0.0166667" else float(step)
    remedy = step * (values / step).round()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.recipes.jitter_ties(remedy)
        nrm.recipes.jitter_ties(factor * remedy)


MONEY = np.r_[0.0, 100.0, 100 * np.maximum(1, np.exp(RNG.normal(4, 0.8, size=800)).round())]


@pytest.mark.parametrize("function", [np.log, np.log10, np.log2, np.log1p])
@pytest.mark.parametrize("factor", [0.1, 12.0])
def test_rounded_values_are_jittered_before_their_logarithm(function, factor):
    """Logarithms of rounded values have no step: 0.02 * (x / 0.02).round() would round them a second time."""
    money = factor * (MONEY if function is np.log1p else MONEY[1:])
    with pytest.warns(UserWarning, match="is too narrow") as caught:
        nrm.recipes.jitter_ties(function(money))
    (warning,) = caught
    assert f"Jitter first, np.{function.__name__}(nrm.recipes.jitter_ties(x)) for the" in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.gaussian_mixture(function(nrm.recipes.jitter_ties(money)))


@pytest.mark.parametrize("name", UNEXPLAINED)
def test_a_step_of_values_that_are_no_logarithms(name):
    assert function_of_rounded(np.unique(UNEXPLAINED[name][0])) is None
    assert function_of_rounded(np.unique(RNG.normal(size=50))) is None


def test_the_step_is_one_of_the_data():
    """Rounding these hours to tens makes 6 and 12 the same."""
    hours = np.r_[RNG.integers(0, 24, 60), RNG.choice([0, 6, 12, 18], 740)] * 1.0
    with pytest.warns(UserWarning, match=r"first: 6 \* \(x / 6\)\.round\(\)"):
        nrm.recipes.jitter_ties(hours)
    irregular = np.r_[RNG.normal(size=100).round(3), RNG.choice([0.1, 1.37, 2.02, 3.718], 300)]
    with pytest.warns(UserWarning, match="first, to the step to which most of it was recorded"):
        nrm.recipes.jitter_ties(irregular)


@pytest.mark.parametrize("name", EXPLAINED)
def test_ties_that_the_smallest_gap_explains_do_not_warn(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.recipes.jitter_ties(EXPLAINED[name])


BODY_RNG = np.random.default_rng(1)
HEIGHT, INDEX, RADIUS, NOISE = (
    170 + 8 * BODY_RNG.normal(size=60),
    23 + 2 * BODY_RNG.normal(size=60),
    5 + BODY_RNG.random(60),
    1e-3,
)
BODY = pd.DataFrame({
    "height": HEIGHT,
    "weight": INDEX * (HEIGHT / 100) ** 2,
    "index": INDEX,
    "radius": 1e6 * RADIUS,
    "perimeter": 1e-6 * (2 * np.pi * RADIUS + NOISE * BODY_RNG.normal(size=60)),
    "area": np.pi * RADIUS**2,
    "pulse": 60 + 5 * BODY_RNG.normal(size=60),
})  # fmt: skip


def message_of(X):
    values = np.asarray(X, dtype=float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_redundant_columns(X, values)
    assert len(caught) <= 1
    return str(caught[0].message) if caught else None


def r_squared(values, column, others):
    y, Z = values[:, column], np.column_stack([np.ones(len(values)), values[:, others]])
    rest = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    return 1 - rest.var() / y.var()


def test_each_column_follows_from_the_others_of_its_set():
    values = BODY.to_numpy()
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    found = redundant_columns(values)
    assert {frozenset([column, *others]) for column, others in found.items()} >= {frozenset([0, 1, 2])}
    assert len(found) == 3
    for column, others in found.items():
        assert r_squared(scaled, column, others) > 0.99
    left = [k for k in range(7) if k not in found]
    assert all(r_squared(scaled, k, [j for j in left if j != k]) < 0.99 for k in left)
    assert len({0, 1, 2} & set(left)) == 2 and len({3, 4, 5} & set(left)) == 1


def test_the_message_names_sets_and_what_to_do():
    message = message_of(BODY)
    for words in ("R^2 above 0.99", "Leave out", "n_directions"):
        assert words in message
    assert "'pulse'" not in message and "'weight' from 'height', 'index'" in message
    gaps = BODY.mask(np.random.default_rng(2).random(BODY.shape) < 0.05)
    assert "'weight' from 'height', 'index'" in message_of(gaps)
    assert "4 from" in message_of(BODY.to_numpy()) or "3 from" in message_of(BODY.to_numpy())


@pytest.mark.parametrize(
    "X",
    [
        BODY_RNG.normal(size=(5, 5)),  # any column follows from four others of five rows
        BODY_RNG.normal(size=(6, 5)),
        BODY_RNG.normal(size=(8, 5)),
        BODY_RNG.normal(size=(30, 1)),
        np.full((4, 2), np.nan),
        np.column_stack([np.ones(20), BODY_RNG.normal(size=20)]),
        BODY[["height", "index", "radius", "pulse"]],
        BODY[["height", "index"]].assign(sum=BODY["height"] + BODY["index"]),  # exact, of which others tell
    ],
)
def test_no_message_without_redundancy(X):
    assert message_of(X) is None


TIES = pd.DataFrame({"weight": np.random.default_rng(6).normal(70, 9, size=200), 7: INCHES})


@pytest.mark.parametrize("recipe", [nrm.gaussian_mixture, nrm.mixture_model])
@pytest.mark.parametrize(
    ("frame", "message", "fine"),
    [
        (TIES, "column 7 repeats values", {"jitter_ties": False}),
        (BODY, "'weight' from 'height', 'index'", BODY.drop(columns=["weight", "perimeter", "area"])),
    ],
    ids=["ties", "redundant"],
)
def test_recipes_name_columns_and_warn_where_they_are_called(recipe, frame, message, fine):
    with pytest.warns(UserWarning, match=message) as caught:
        recipe(frame)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recipe(frame, **fine) if isinstance(fine, dict) else recipe(fine)


N = 60
RANDOM = np.random.default_rng(1)
LENGTH = RANDOM.normal(size=N)
NUMBERS = RANDOM.normal(size=N).round(2).astype(str)
CITIES = np.array([f"city {k}" for k in RANDOM.integers(30, size=N)])


def table(**columns):
    return pd.DataFrame({"length": LENGTH, **columns})


def test_numbers_in_text_of_a_matrix():
    text = np.where(np.arange(N) == 7, "?", NUMBERS)
    with pytest.raises(TypeError, match=r"column 'b' must hold .*; got '\?' \(1 row\)"):
        nrm.gaussian_mixture(table(b=text))
    with pytest.raises(TypeError, match="column 'b' must hold numbers to be numeric; got text"):
        nrm.gaussian_mixture(table(b=CITIES))
    assert nrm.gaussian_mixture(table(b=NUMBERS)).coords["x_feature"] == ("length", "b")


IDENTIFIERS = 1000 + RANDOM.permutation(5 * N)[:N]
DOUBTFUL = {
    "codes": (RANDOM.integers(3, size=N), r"column 1 \(3 values\) is taken .* kinds=\{1: 'categorical'\}"),
    "scaled codes": (RANDOM.integers(3, size=N) / 7.0, r"column 1 \(3 values\) is taken .* as codes"),
    "ratings": (RANDOM.integers(1, 11, size=N), r"column 1 \(10 values\) is taken"),
    "identifiers": (IDENTIFIERS, r"column 1 \(60 values\) is taken .* names of rows .* leave them out"),
    "row numbers": (np.arange(N), "names of rows"),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_matrix_of_numbers_that_may_be_codes_or_names_warns(name):
    values, message = DOUBTFUL[name]
    data = np.column_stack([LENGTH, values])
    for X in (data, pd.DataFrame(data)):
        with pytest.warns(UserWarning, match=message) as caught:
            nrm.gaussian_mixture(X)
        assert [warning.filename for warning in caught] == [__file__] * len(caught)


def test_measurements_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.gaussian_mixture(IDENTIFIERS)
        nrm.gaussian_mixture(
            np.column_stack([LENGTH.round(1), 1e20 * RANDOM.normal(size=N), RANDOM.integers(30, size=N)])
        )
        nrm.gaussian_mixture([[1.0], [2.0], [3.0]])


def test_names_of_columns_that_are_whole_numbers():
    df = pd.DataFrame({0: LENGTH, 1: [1, 2, 3] * 20})
    with pytest.raises(ValueError, match=r"kinds must be of columns of df, \[0, 1\]; got \['1'\]"):
        nrm.mixture_model(df, kinds={"1": "count"})
    for kind in ("count", "categorical"):
        model = nrm.mixture_model(df, kinds={1: kind})
        assert model.coords["numeric_feature"] == ("0",) and model.coords[f"{kind}_feature"] == ("1",)
        assert nrm.table_data(model, df)[kind].shape == (N, 1)
