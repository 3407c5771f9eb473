"""Jitter of repeated values."""

import logging
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm

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
    np.testing.assert_allclose(np.sort(nrm.jitter_ties(values)), expected, rtol=1e-12)


def test_values_stay_in_order_and_means_of_ties_as_they_are():
    jittered = nrm.jitter_ties(ROUNDED)
    for before, after in zip(ROUNDED.T, jittered.T, strict=True):
        known, group, sizes = np.unique(before.round(9), return_inverse=True, return_counts=True)
        np.testing.assert_allclose(np.bincount(group, after) / sizes, known, atol=1e-9)
        assert (before[np.argsort(after)] >= np.maximum.accumulate(before[np.argsort(after)]) - 1e-9).all()
        assert len(np.unique(after)) == len(after)


def test_jitter_follows_units_and_leaves_other_columns_alone():
    jittered = nrm.jitter_ties(ROUNDED)
    np.testing.assert_allclose(nrm.jitter_ties(1000 * ROUNDED), 1000 * jittered, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(nrm.jitter_ties(ROUNDED[:, :2]), jittered[:, :2])
    np.testing.assert_array_equal(nrm.jitter_ties(ROUNDED[:, 0]), jittered[:, 0])


def test_orders_of_different_columns_are_independent():
    """Of 400 equal pairs, half lie above their value in the first column; so many of these do in the second."""
    jittered = nrm.jitter_ties(np.r_[np.zeros((400, 2)), np.ones((1, 2))])[:400]
    both = (jittered > 0).all(axis=1).sum()
    # Hypergeometric: mean 100, standard deviation 5.
    assert abs(both - 100) < 20


def test_seeds():
    jittered = nrm.jitter_ties(ROUNDED)
    np.testing.assert_array_equal(nrm.jitter_ties(ROUNDED, random_seed=0), jittered)
    assert (nrm.jitter_ties(ROUNDED, random_seed=1) != jittered).any()
    assert (nrm.jitter_ties(ROUNDED, random_seed=np.random.default_rng(3)) != jittered).any()


def test_labels_of_the_argument_are_kept_and_its_values_too():
    frame = pd.DataFrame(ROUNDED, index=list(range(5, 65)), columns=["a", "b", "c"])
    before = frame.copy()
    jittered = nrm.jitter_ties(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert jittered.index.equals(frame.index) and jittered.columns.equals(frame.columns)
    np.testing.assert_array_equal(jittered, nrm.jitter_ties(ROUNDED))
    series = nrm.jitter_ties(frame["a"])
    assert series.name == "a" and series.index.equals(frame.index)
    array = nrm.jitter_ties(xr.DataArray(ROUNDED, dims=("item", "feature")))
    assert array.dims == ("item", "feature")


@pytest.mark.parametrize(
    ("X", "seed", "error", "message"),
    [
        (np.zeros((2, 2, 2)), 0, ValueError, r"got shape \(2, 2, 2\)"),
        (["a", "b"], 0, TypeError, "X must be real numbers"),
        ([1.0, 1.0, 2.0], -1, ValueError, "random_seed must be"),
    ],
)
def test_bad_arguments(X, seed, error, message):
    with pytest.raises(error, match=message):
        nrm.jitter_ties(X, random_seed=seed)


@pytest.mark.parametrize("recipe", [nrm.gaussian_mixture, nrm.mixture_model])
def test_recipes_model_the_jittered_values(recipe, caplog):
    frame = pd.DataFrame(ROUNDED, columns=["a", "b", "c"])
    with caplog.at_level(logging.INFO, logger="pymc.nrm_recipes"):
        model = recipe(frame)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "pymc.nrm_recipes"]
    columns = "a (by at most 0.05), b (by at most 0.35), c (by at most 0.0005)"
    assert line == f"Jittered repeated values of columns {columns}. jitter_ties=False leaves them as they are"
    with pm.Model() as explicit:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Gamma("alpha", 2.0, 1.0)), n=len(ROUNDED))
        jittered = nrm.jitter_ties(ROUNDED)
        name = model.observed_RVs[0].name
        nrm.Mixture(name, z, nrm.NormalWishart.learned(name, jittered), observed=jittered)
    point = explicit.initial_point(random_seed=1)
    assert model.compile_logp()(point) == pytest.approx(explicit.compile_logp()(point), rel=1e-12)

    caplog.clear()
    with caplog.at_level(logging.INFO, logger="pymc.nrm_recipes"):
        model = recipe(frame, jitter_ties=False)
    assert not caplog.records
    data = model.rvs_to_values[model.observed_RVs[0]].eval()
    np.testing.assert_array_equal(data, ROUNDED)


def test_long_lines_name_the_first_columns(caplog):
    with caplog.at_level(logging.INFO, logger="pymc.nrm_recipes"):
        nrm.gaussian_mixture(np.tile(ROUNDED, 3), covariance="diagonal")
    assert "5 (by at most 0.0005) and 3 more. jitter" in caplog.text


@pytest.mark.parametrize("recipe", [nrm.gaussian_mixture, nrm.mixture_model])
def test_recipes_check_the_argument(recipe):
    with pytest.raises(TypeError, match="jitter_ties must be True or False; got 'no'"):
        recipe(pd.DataFrame(ROUNDED, columns=["a", "b", "c"]), jitter_ties="no")


def test_combinations_of_columns_are_seen_before_the_jitter():
    dependent = np.c_[ROUNDED[:, :2].round(1), ROUNDED[:, :2].round(1).sum(axis=1)]
    assert "x_below_pivot" not in nrm.gaussian_mixture(dependent).named_vars
    with pytest.raises(ValueError, match="linear combinations"):
        nrm.gaussian_mixture(dependent, covariance="full")


@pytest.mark.parametrize(("gap", "warned"), [(0.1, False), (1e-6, True)])
def test_a_value_with_many_items_warns_unless_jitter_widens_it(gap, warned):
    values = np.random.default_rng(4).normal(size=100).round(1)
    values[:40] = 0.0
    values[40] = gap
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nrm.gaussian_mixture(values)
    messages = [str(warning.message) for warning in caught if "has the value" in str(warning.message)]
    assert len(messages) == warned
    if warned:
        assert "has the value 0 in 4" in messages[0] and "two columns, whether it has this value" in messages[0]


RNG = np.random.default_rng(5)
HEIGHTS = RNG.normal(172, 9, size=200)
INCHES = np.where(RNG.random(200) < 0.3, (HEIGHTS / 2.54).round() * 2.54, HEIGHTS.round()).round(2)
SECONDS = np.r_[((HEIGHTS * 6).round() / 60).round(3), 17.201]
UNEXPLAINED = {
    "inches among centimetres": (INCHES, "0.02", "1"),
    "three inches": (np.r_[HEIGHTS.round(), 160.02, 165.1, 167.64], "0.02", "1"),
    "sixtieths": (SECONDS, "0.001", "0.02"),
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
        jittered = nrm.jitter_ties(factor * values)
    assert abs(jittered / factor - values).max() < float(gap)
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    if factor == 1:
        rounded = "x.round()" if step == "1" else f"{step} * (x / {step}).round()"
        assert f"only {gap} apart" in message and message.endswith(f": {rounded}")
    remedy = float(step) * (values / float(step)).round()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.jitter_ties(remedy)
        nrm.jitter_ties(factor * remedy)


@pytest.mark.parametrize("name", EXPLAINED)
def test_ties_that_the_smallest_gap_explains_do_not_warn(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.jitter_ties(EXPLAINED[name])


def test_recipes_name_the_column_of_unexplained_ties():
    frame = pd.DataFrame({"weight": np.random.default_rng(6).normal(70, 9, size=200), 7: INCHES})
    for recipe in (nrm.gaussian_mixture, nrm.mixture_model):
        with pytest.warns(UserWarning, match="column 7 repeats values") as caught:
            recipe(frame)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            recipe(frame, jitter_ties=False)
