"""Recipes whose clusters differ along leading principal directions: what is chosen, refused, and in which units."""

import logging

import numpy as np
import pandas as pd
import pytest
from helpers import refused

import pymc_nrm as nrm
from pymc_nrm.families.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.models.rvs import family_of

RNG = np.random.default_rng(1)
# Two clusters far apart along the first of four directions.
SCORES = RNG.normal(size=(40, 4)) * [1.0, 0.5, 0.1, 0.1] + np.repeat([[-4.0], [4.0]], 20, axis=0) * [1.0, 0, 0, 0]
X = SCORES @ np.linalg.qr(RNG.normal(size=(4, 4)))[0] * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 3.0, -1.0]
TABLE = pd.DataFrame(X, columns=["a", "b", "c", "d"])
GAPS = TABLE.mask(np.arange(160).reshape(40, 4) == 5)
DEPENDENT = TABLE.assign(e=TABLE["a"] + 2 * TABLE["b"])


def test_the_family_follows_from_the_number():
    model = nrm.gaussian_mixture(X, n_components=2)
    family = family_of(model["x"])
    assert type(family) is PrincipalNormalWishart
    assert family.location.type.shape == (2,) and family.noise.type.shape == (2,)
    assert model.coords["x_component"] == (1, 2) and model.coords["x_noise_component"] == (3, 4)
    assert model.named_vars_to_dims["x"] == ("item", "x_feature")
    for data, number in ((X, 4), (X[:, :1], 1), (X[:, 0], 1)):
        assert type(family_of(nrm.gaussian_mixture(data, n_components=number)["x"])) is nrm.NormalWishart
    table = nrm.mixture_model(TABLE.assign(kind=["u", "v"] * 20), n_components=3)
    assert type(family_of(table["numeric"])) is PrincipalNormalWishart
    assert table.coords["numeric_feature"] == ("a", "b", "c", "d")


def test_auto_keeps_most_of_the_variance(caplog):
    variances = np.linalg.eigvalsh(np.corrcoef(X, rowvar=False))[::-1]
    expected = 1 + int(np.argmax(np.cumsum(variances) >= 0.95 * 4))
    assert 1 <= expected < 4
    with caplog.at_level(logging.INFO, "pymc.nrm_recipes"):
        family = family_of(nrm.gaussian_mixture(X, n_components="auto")["x"])
    assert family.location.type.shape == (expected,)
    assert f"n_components='auto' takes {expected} of 4 principal directions, with 95% of the variance" in caplog.text
    noise = np.random.default_rng(2).normal(size=(40, 4))
    assert type(family_of(nrm.gaussian_mixture(noise, n_components="auto")["x"])) is nrm.NormalWishart


test_what_is_refused = refused(
    lambda data, options: nrm.gaussian_mixture(data, **options),
    (X, {"n_components": 0}, "n_components must be a whole number of at least 1; got 0"),
    (X, {"n_components": 5}, "n_components must be a whole number between 1 and 4; got 5"),
    (X, {"n_components": 2.0}, "n_components must be None, 'auto' or a whole number of at least 1; got 2.0"),
    (X, {"n_components": True}, "n_components must be None, 'auto' or .*; got True"),
    (X, {"n_components": "most"}, "n_components must be None, 'auto' or .*; got 'most'"),
    (X, {"n_components": 2, "covariance": "diagonal"}, "n_components needs full covariances"),
    (X[:4], {"n_components": 2}, "more rows than columns, .* got 4 rows and 4 columns"),
    (GAPS, {"n_components": 2}, r"complete data; columns \['b'\] have missing values"),
    (DEPENDENT, {"n_components": 2}, r"columns \['[abe]'\] are linear combinations of others. Leave them out"),
    (X * [1, 1, 1, 0], {"n_components": 2}, "constant"),
    (np.where(X > 60, np.inf, X), {"n_components": 2}, "inf"),
    (nrm.Chunks(X), {"n_components": 2}, "n_components must be None for Chunks; got 2"),
)


def test_a_table_without_numbers():
    with pytest.raises(ValueError, match="n_components must be None without numeric columns; got 'auto'"):
        nrm.mixture_model(pd.DataFrame({"kind": list("uuvvu")}), n_components="auto")


test_held_out_density_refuses = refused(
    lambda data, options: nrm.recipes.held_out_density(data, **options),
    (X, {"n_components": []}, "one or more different numbers"),
    (X, {"n_components": [2, 2]}, "one or more different numbers"),
    (X, {"n_components": [5]}, "n_components must be a whole number between 1 and 4; got 5"),
    (X, {"n_components": [2], "n_folds": 1}, "n_folds must be a whole number between 2 and 40; got 1"),
    (GAPS, {"n_components": [2]}, "X must be a complete matrix"),
    (X[:, 0], {"n_components": [1]}, r"X must be a complete matrix, .* got shape \(40,\)"),
)


@pytest.mark.slow
def test_results_are_in_the_original_columns():
    estimator = nrm.MixtureEstimator(n_components=2, draws=200, tune=200, chains=2, cores=1, random_state=1)
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
    np.testing.assert_allclose(found.std(axis=0), X.std(axis=0), rtol=0.1)
    assert "a" in str(nrm.describe_clusters(idata, model))
    log_likelihood = nrm.compute_log_likelihood(idata, model, progressbar=False)
    assert np.isfinite(log_likelihood["log_likelihood"]["numeric"].values).all()


@pytest.mark.slow
def test_held_out_density():
    options = {"draws": 300, "tune": 100, "chains": 1, "random_seed": 1}
    found = nrm.recipes.held_out_density(X, [2], **options)
    assert found.dims == ("n_components", "item") and found.shape == (1, 40)
    again = nrm.recipes.held_out_density(X * [2.0, 1.0, 1.0, 1.0], [2], **options)
    np.testing.assert_allclose(found, again + np.log(2.0), atol=0.4)
