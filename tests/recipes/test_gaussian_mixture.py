"""Gaussian mixtures of matrices in one call, also of clusters that differ along leading principal directions."""

import logging
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.models.rvs import family_of
from tests.cases import PrincipalNormalWishart, SphericalPrincipalNormalWishart
from tests.helpers import measure_of, refused

pytestmark = pytest.mark.usefixtures("unbroken")

X = np.random.default_rng(1).normal(size=(12, 3))
GAPS = np.where(np.arange(36).reshape(12, 3) == 4, np.nan, X)
WIDE = np.random.default_rng(2).normal(size=(60, 31))
DEPENDENT = np.column_stack([X, X @ [1.0, 2.0, 0.0]])


@pytest.mark.parametrize(
    ("data", "covariance", "family"),
    [
        (X, None, nrm.NormalWishart),
        (X, "diagonal", nrm.NormalGamma),
        (GAPS, None, nrm.NormalWishart),
        (DEPENDENT, None, nrm.NormalGamma),
        (X[:3], None, nrm.NormalGamma),
        (X[:, :1], None, nrm.NormalGamma),
        (X[:, 0], None, nrm.NormalGamma),
        (WIDE, None, nrm.NormalGamma),
        (WIDE[:, :30], None, nrm.NormalWishart),
        (X[:, :1], "full", nrm.NormalWishart),
    ],
)
def test_the_family_follows_from_the_data(data, covariance, family):
    model = nrm.gaussian_mixture(data, covariance=covariance)
    assert type(family_of(model["x"])) is family
    assert model.named_vars_to_dims["x"] == ("item", "x_feature")[: data.ndim]
    assert [rv.name for rv in model.free_RVs[:2]] == ["alpha", "z"]


NAMES = ["a", 7, "c"]
EMPTY = np.where(np.arange(12)[:, None] == 5, np.nan, X)
TWO = pd.DataFrame(np.where(np.isnan(GAPS), np.nan, EMPTY), columns=NAMES)
REASONS = {
    "combinations": (pd.DataFrame(DEPENDENT, columns=[*NAMES, 3]), r"combinations of other columns: .*\. Leave"),
    "few rows": (X[:3], "3 rows for 3 numeric columns"),
    "many columns": (WIDE, "31 numeric columns.*at most 30"),
}


@pytest.mark.parametrize("reason", REASONS)
def test_columns_without_covariances_warn_and_say_why(reason):
    data, message = REASONS[reason]
    with pytest.warns(UserWarning, match=message) as caught:
        model = nrm.gaussian_mixture(data)
    assert "independent within clusters" in str(caught[0].message) and caught[0].filename == __file__
    assert type(family_of(model["x"])) is nrm.NormalGamma
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.gaussian_mixture(data, covariance="diagonal")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (GAPS, "1 in 1 of 12 rows, column 1. "),
        (EMPTY, "3 in 1 of 12 rows, columns 0, 1, 2. "),
        (TWO, "4 in 2 of 12 rows, columns 'a', 7, 'c'. "),
        (np.where(np.arange(60)[:, None] % 3 == np.arange(3), np.nan, WIDE[:, :3]), "60 in 60 of 60 rows"),
    ],
)
def test_gaps_are_drawn_and_said(data, text, caplog):
    with warnings.catch_warnings(), caplog.at_level("INFO", logger="pymc.nrm_recipes"):
        warnings.simplefilter("error")
        for covariance in (None, "full"):
            model = nrm.gaussian_mixture(data, covariance=covariance)
            assert type(family_of(model["x"])) is nrm.NormalWishart
            values = np.asarray(data, dtype="float64")
            names = getattr(data, "columns", range(3))
            items, columns = np.nonzero(np.isnan(values))
            expected = [f"{i}, {names[j]}" for i, j in zip(items, columns, strict=True)]
            assert list(model.coords["x_missing_entry"]) == expected
    assert [f"as x_missing: {text}" in record.message for record in caplog.records] == [True, True]


def test_names():
    df = pd.DataFrame(X, columns=["a", "b", "c"], index=list("klmnopqrstuv"))
    array = xr.DataArray(X, dims=("plant", "trait"), coords={"plant": df.index, "trait": df.columns})
    for data in (df, array):
        model = nrm.gaussian_mixture(data)
        assert model.coords["x_feature"] == ("a", "b", "c") and model.coords["item"] == tuple(df.index)
    assert nrm.gaussian_mixture(df["a"]).coords["item"] == tuple(df.index)
    data = nrm.table_data(nrm.gaussian_mixture(df), df[["c", "a", "b"]].head(1))
    np.testing.assert_array_equal(data["x"], X[:1])


def test_measures_with_priors():
    measure = nrm.NormalizedGeneralizedGamma(pm.Gamma.dist(2, 1), pm.Beta.dist(1, 4))
    for _ in range(2):
        model = nrm.gaussian_mixture(X, measure=measure)
        assert [rv.name for rv in model.free_RVs[:3]] == ["alpha", "sigma", "z"]
        assert type(measure_of(model["z"])) is nrm.NormalizedGeneralizedGamma
    assert measure.alpha.name is None
    fixed = nrm.gaussian_mixture(X, measure=nrm.DirichletProcess(0.5))
    assert "alpha" not in fixed.named_vars
    with pytest.raises(TypeError, match="measure must be a measure such as"):
        nrm.gaussian_mixture(X, measure=1.0)
    with pm.Model():
        alpha = pm.Gamma("alpha", 2, 1)
        with pytest.raises(TypeError, match=r"alpha of measure must be .*pm.Gamma.dist.*; got alpha"):
            nrm.gaussian_mixture(X, measure=nrm.DirichletProcess(alpha))
        with pytest.raises(TypeError, match="alpha of measure must be"):
            nrm.gaussian_mixture(X, measure=nrm.DirichletProcess(2 * pm.Gamma.dist(2, 1)))


def test_a_model_of_its_own():
    """The model is no part of one that is being written."""
    with pm.Model() as outer:
        inner = nrm.gaussian_mixture(X)
    assert not outer.named_vars and inner.parent is None


test_bad_data = refused(
    lambda data, covariance: nrm.gaussian_mixture(data, covariance=covariance),
    (np.where(np.arange(36).reshape(12, 3) % 3 == 1, np.nan, X), "full", ValueError, "two values in every column"),
    (DEPENDENT, "full", ValueError, "linear combinations"),
    (X[:3], "full", ValueError, "got 3 rows and 3 columns. Take n_directions='auto'.* or covariance='diagonal'"),
    (X, "spherical", ValueError, "covariance must be"),
    (X[:1], None, ValueError, r"at least two items.*got shape \(1, 3\)"),
    (X[:, :0], None, ValueError, r"got shape \(12, 0\)"),
    (X[None], None, ValueError, r"got shape \(1, 12, 3\)"),
    ([["a"], ["b"]], None, TypeError, "must be real numbers"),
    (X + 1j, None, TypeError, "must be real numbers"),
    (X * [1, 0, 0], None, ValueError, r"columns \[1, 2\] are constant"),
    (np.where(X > 1, np.inf, X), None, ValueError, "inf"),
    (pd.DataFrame({"a": X[:, 0], "b": list("abcabcabcabc")}), None, TypeError, "column 'b' must hold numbers"),
    (pd.DataFrame({"a": X[:, 0], "b": 1.0}), None, ValueError, "column 'b' has only one value"),
)


RNG = np.random.default_rng(1)
# Two clusters far apart along the first of four directions.
SCORES = RNG.normal(size=(40, 4)) * [1.0, 0.5, 0.1, 0.1] + np.repeat([[-4.0], [4.0]], 20, axis=0) * [1.0, 0, 0, 0]
ROTATED = SCORES @ np.linalg.qr(RNG.normal(size=(4, 4)))[0] * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 3.0, -1.0]
TABLE = pd.DataFrame(ROTATED, columns=["a", "b", "c", "d"])
TABLE_WITH_GAP = TABLE.mask(np.arange(160).reshape(40, 4) == 5)
TABLE_WITH_SUM = TABLE.assign(e=TABLE["a"] + 2 * TABLE["b"])


def test_the_family_follows_from_the_number_of_components():
    model = nrm.gaussian_mixture(ROTATED, n_directions=2)
    family = family_of(model["x"])
    assert type(family) is PrincipalNormalWishart
    assert family.location.type.shape == (2,) and family.noise.type.shape == (2,)
    assert model.coords["x_component"] == (1, 2) and model.coords["x_noise_component"] == (3, 4)
    assert model.named_vars_to_dims["x"] == ("item", "x_feature")
    for data, number in ((ROTATED, 4), (ROTATED[:, :1], 1), (ROTATED[:, 0], 1)):
        assert type(family_of(nrm.gaussian_mixture(data, n_directions=number)["x"])) is nrm.NormalWishart
    table = nrm.mixture_model(TABLE.assign(kind=["u", "v"] * 20), n_directions=3)
    assert type(family_of(table["numeric"])) is PrincipalNormalWishart
    assert table.coords["numeric_feature"] == ("a", "b", "c", "d")


def test_auto_keeps_most_of_the_variance(caplog):
    variances = np.linalg.eigvalsh(np.corrcoef(ROTATED, rowvar=False))[::-1]
    expected = 1 + int(np.argmax(np.cumsum(variances) >= 0.95 * 4))
    assert 1 <= expected < 4
    with caplog.at_level(logging.INFO, "pymc.nrm_recipes"):
        family = family_of(nrm.gaussian_mixture(ROTATED, n_directions="auto")["x"])
    assert family.location.type.shape == (expected,)
    assert f"n_directions='auto' takes {expected} of 4 principal directions, with 95% of the variance" in caplog.text
    noise = np.random.default_rng(2).normal(size=(40, 4))
    assert type(family_of(nrm.gaussian_mixture(noise, n_directions="auto")["x"])) is nrm.NormalWishart


test_wrong_numbers_of_components = refused(
    lambda data, options: nrm.gaussian_mixture(data, **options),
    (ROTATED, {"n_directions": 0}, "n_directions must be a whole number of at least 1; got 0"),
    (ROTATED, {"n_directions": 5}, "n_directions must be a whole number between 1 and 4; got 5"),
    (ROTATED, {"n_directions": 2.0}, "n_directions must be None, 'auto' or a whole number of at least 1; got 2.0"),
    (ROTATED, {"n_directions": True}, "n_directions must be None, 'auto' or .*; got True"),
    (ROTATED, {"n_directions": "most"}, "n_directions must be None, 'auto' or .*; got 'most'"),
    (ROTATED, {"n_directions": 2, "covariance": "diagonal"}, "n_directions needs full covariances"),
    (ROTATED[:4], {"n_directions": 3}, "n_directions must be a whole number between 1 and 2; got 3"),
    (TABLE_WITH_GAP, {"n_directions": 2}, r"complete data; columns \['b'\] have missing values"),
    (TABLE_WITH_SUM, {"n_directions": 2}, r"columns \['[abe]'\] are linear combinations of others. Leave them out"),
    (ROTATED * [1, 1, 1, 0], {"n_directions": 2}, "constant"),
    (np.where(ROTATED > 60, np.inf, ROTATED), {"n_directions": 2}, "inf"),
    (nrm.Chunks(ROTATED), {"n_directions": 2}, "n_directions must be None for Chunks; got 2"),
)


def expression(n=24, d=60, seed=0):
    """Columns of which a third differ between three groups of rows, and the groups."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 3
    return rng.normal(size=(n, d)) + np.pad(rng.normal(size=(3, d // 3)) * 3.0, ((0, 0), (0, d - d // 3)))[
        groups
    ], groups


def test_more_columns_than_rows(caplog):
    """Leading directions are those above shuffled columns: of three groups two."""
    values = expression()[0]
    with warnings.catch_warnings(), caplog.at_level(logging.INFO, "pymc.nrm_recipes"):
        warnings.simplefilter("error")
        models = [nrm.gaussian_mixture(values), nrm.gaussian_mixture(values, n_directions="auto")]
        by_number = nrm.gaussian_mixture(values, n_directions=4)
    for model in models:
        assert type(family_of(model["x"])) is SphericalPrincipalNormalWishart
        assert model.coords["x_component"] == (1, 2) and model.coords["x_noise_component"] == ("3 to 60",)
    assert by_number.coords["x_component"] == (1, 2, 3, 4)
    assert "24 rows for 60 numeric columns, too few for covariances: clusters differ along leading" in caplog.text
    assert "n_directions='auto' takes 2 of 22 principal directions, with 32% of" in caplog.text
    noise = np.random.default_rng(1).normal(size=(20, 40))
    assert nrm.gaussian_mixture(noise).coords["x_component"] == (1,)
    with pytest.warns(UserWarning, match="n_directions='auto'.* needs complete columns"):
        model = nrm.gaussian_mixture(np.where(np.arange(24)[:, None] + np.arange(60) == 9, np.nan, values))
    assert type(family_of(model["x"])) is nrm.NormalGamma


@pytest.mark.slow
def test_expression_data_have_their_groups():
    values, groups = expression(63, 2307)
    model = nrm.gaussian_mixture(values, n_directions="auto")
    idata = nrm.sample(200, tune=200, chains=2, cores=1, model=model, random_seed=1, progressbar=False, quiet=True)
    estimate = nrm.point_estimate(idata, random_seed=1, progressbar=False)
    assert nrm.stats.adjusted_rand(estimate["labels"].values, groups) == 1.0
    assert nrm.fused_estimate(idata, model, progressbar=False)["labels"].values.max() == 2
    assert "cluster" in str(nrm.describe(idata, model, estimate))
    replicated = nrm.sample_posterior_predictive(idata, model, random_seed=1, progressbar=False)
    found = replicated["posterior_predictive"]["x"].isel(draw=slice(20)).values.reshape(-1, 2307)
    np.testing.assert_allclose(found.std(axis=0).mean(), values.std(axis=0).mean(), rtol=0.15)


def test_a_table_without_numbers():
    with pytest.raises(ValueError, match="n_directions must be None .*; got 'auto'"):
        nrm.mixture_model(pd.DataFrame({"kind": list("uuvvu")}), n_directions="auto")


test_held_out_density_refuses = refused(
    lambda data, options: nrm.recipes.held_out_density(data, **options),
    (ROTATED, {"n_directions": []}, "one or more different numbers"),
    (ROTATED, {"n_directions": [2, 2]}, "one or more different numbers"),
    (ROTATED, {"n_directions": [5]}, "n_directions must be a whole number between 1 and 4; got 5"),
    (ROTATED, {"n_directions": [2], "n_folds": 1}, "n_folds must be a whole number between 2 and 40; got 1"),
    (TABLE_WITH_GAP, {"n_directions": [2]}, "X must be a complete matrix"),
    (ROTATED[:, 0], {"n_directions": [1]}, r"X must be a complete matrix, .* got shape \(40,\)"),
)


@pytest.mark.slow
def test_results_are_in_the_original_columns():
    estimator = nrm.MixtureEstimator(n_directions=2, draws=200, tune=200, chains=2, cores=1, random_state=1)
    labels = estimator.fit_predict(TABLE)
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 20))
    idata, model = estimator.idata_, estimator.model_
    assert estimator.score(TABLE) > -40 and (estimator.predict(TABLE) == labels).all()
    parameters = nrm.sample_cluster_parameters(idata, model, random_seed=1, progressbar=False)
    assert parameters["covariance"].dims[-2:] == ("numeric_feature", "numeric_feature_other")
    means = parameters["item_mean"].mean(("chain", "draw"))
    for half in (slice(0, 20), slice(20, 40)):
        own = TABLE.to_numpy()[half]
        assert (np.abs(means.values[half] - own.mean(axis=0)) < 3 * own.std(axis=0) / np.sqrt(20)).all()
    replicated = nrm.sample_posterior_predictive(idata, model, random_seed=1, progressbar=False)
    found = replicated["posterior_predictive"]["numeric"].values.reshape(-1, 4)
    np.testing.assert_allclose(found.std(axis=0), ROTATED.std(axis=0), rtol=0.1)
    assert "a" in str(nrm.describe(idata, model))
    log_likelihood = nrm.compute_log_likelihood(idata, model, progressbar=False)
    assert np.isfinite(log_likelihood["log_likelihood"]["numeric"].values).all()


@pytest.mark.slow
def test_held_out_density():
    options = {"draws": 300, "tune": 100, "chains": 1, "random_seed": 1}
    found = nrm.recipes.held_out_density(ROTATED, [2], **options)
    assert found.dims == ("n_directions", "item") and found.shape == (1, 40)
    again = nrm.recipes.held_out_density(ROTATED * [2.0, 1.0, 1.0, 1.0], [2], **options)
    np.testing.assert_allclose(found, again + np.log(2.0), atol=0.4)
