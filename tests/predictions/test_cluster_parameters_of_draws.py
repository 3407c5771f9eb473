"""Draws of the parameters of clusters against their closed posterior laws."""

import numpy as np
import pytest
from prediction_cases import CASES, MEASURES, Case, draws_of, make_model, rows
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.posterior import sample_cluster_parameters

LABELS = [0, 1, 0, 0]
DRAWS = 4000


def normal_gamma(case, members):
    mu, kappa, alpha, beta = (np.broadcast_to(h, (2,)) for h in case.family)
    moments = {"mean": np.empty(2), "variance": np.empty(2)}
    for j in range(2):
        x = case.X[members, j]
        x = x[~np.isnan(x)]
        n, mean = len(x), x.mean() if len(x) else 0.0
        beta_n = beta[j] + ((x - mean) ** 2).sum() / 2 + kappa[j] * n / (2 * (kappa[j] + n)) * (mean - mu[j]) ** 2
        moments["mean"][j] = (kappa[j] * mu[j] + n * mean) / (kappa[j] + n)
        moments["variance"][j] = beta_n / (alpha[j] + n / 2 - 1)
    return moments


def normal_wishart(case, members):
    mu, kappa, Psi, nu = (np.asarray(h) for h in case.family)
    X = case.X[members]
    n, mean = len(X), X.mean(axis=0)
    residuals = X - mean
    Psi_n = Psi + residuals.T @ residuals + kappa * n / (kappa + n) * np.outer(mean - mu, mean - mu)
    return {"mean": (kappa * mu + n * mean) / (kappa + n), "covariance": Psi_n / (nu + n - 3)}


def poisson_gamma(case, members):
    X = case.X[members]
    return {"rate": (np.asarray(case.family.alpha) + X.sum(axis=0)) / (case.family.beta + len(X))}


def bernoulli_beta(case, members):
    X = case.X[members]
    alpha, beta = np.asarray(case.family.alpha), np.asarray(case.family.beta)
    return {"probability": (alpha + np.nansum(X, axis=0)) / (alpha + beta + (~np.isnan(X)).sum(axis=0))}


MOMENTS = {
    "NormalGamma, missing": normal_gamma,
    "NormalWishart": normal_wishart,
    "PoissonGamma": poisson_gamma,
    "BernoulliBeta, missing": bernoulli_beta,
}


@pytest.mark.parametrize("name", rows(MOMENTS))
def test_posterior_means(name):
    case = CASES[name]
    idata = draws_of([LABELS] * DRAWS)
    found = sample_cluster_parameters(idata, make_model(MEASURES["DP"], case), random_seed=1)
    assert found["size"].values[0, 0].tolist() == [3, 1]
    for cluster in (0, 1):
        members = np.array(LABELS) == cluster
        for parameter, expected in MOMENTS[name](case, members).items():
            drawn = found[parameter].sel(cluster=cluster)[0].values
            z = (drawn.mean(axis=0) - expected) / (drawn.std(axis=0) / np.sqrt(DRAWS))
            assert abs(z).max() < 4.5
            items = found[f"item_{parameter}"].isel(item=np.flatnonzero(members)[-1])
            np.testing.assert_array_equal(items[0], drawn)


@pytest.mark.slow
def test_layout():
    model = make_model(MEASURES["NGG"], CASES["NormalWishart"])
    idata = draws_of([[0, 0, 0, 0], [0, 1, 2, 1]])
    found = sample_cluster_parameters(idata, model, random_seed=1)
    assert found["mean"].dims == ("chain", "draw", "cluster", "feature")
    assert found["covariance"].dims == ("chain", "draw", "cluster", "feature", "feature_other")
    assert found["item_covariance"].dims == ("chain", "draw", "item", "feature", "feature_other")
    assert found.item.values.tolist() == list("abcd")
    assert found.feature_other.values.tolist() == found.feature.values.tolist() == ["feature 0", "feature 1"]
    assert found["size"].values[0].tolist() == [[4, 0, 0], [1, 2, 1]]
    assert found["mean"].isnull().any("feature").values[0].tolist() == [[False, True, True], [False] * 3]
    assert not found["item_mean"].isnull().any()
    without = sample_cluster_parameters(idata, model, to_items=False, random_seed=1)
    assert set(without.data_vars) == {"size", "mean", "covariance"}
    np.testing.assert_array_equal(without["mean"], found["mean"])


def test_vector_has_no_feature_dimension():
    model = make_model(MEASURES["DP"], CASES["NormalGamma, vector"])
    found = sample_cluster_parameters(draws_of([[0, 0, 1, 1]]), model, random_seed=1)
    assert found["variance"].dims == ("chain", "draw", "cluster")
    assert found["item_mean"].dims == ("chain", "draw", "item")


@pytest.mark.slow
def test_probabilities_of_levels_and_of_words():
    case = Case(nrm.CategoricalDirichlet(np.full((2, 3), 0.5)), np.array([[0, 1], [0, 2], [1, 0]]), None)
    found = sample_cluster_parameters(draws_of([[0, 1, 0]] * DRAWS), make_model(MEASURES["DP"], case), random_seed=1)
    assert found["probability"].dims == ("chain", "draw", "cluster", "feature", "level")
    mean = found["probability"].mean(("chain", "draw")).sel(cluster=0)
    np.testing.assert_allclose(mean, np.array([[1.5, 1.5, 0.5], [1.5, 1.5, 0.5]]) / 3.5, atol=0.02)
    words = Case(nrm.MultinomialDirichlet(0.5), sparse.csr_array([[2, 0, 1], [1, 0, 0], [0, 4, 0]]), None)
    found = sample_cluster_parameters(draws_of([[0, 0, 1]] * DRAWS), make_model(MEASURES["DP"], words), random_seed=1)
    mean = found["probability"].mean(("chain", "draw")).sel(cluster=0)
    np.testing.assert_allclose(mean, np.array([3.5, 0.5, 1.5]) / 5.5, atol=0.02)
    assert found["item_probability"].dims == ("chain", "draw", "item", "feature")


def test_seeds():
    model, idata = make_model(MEASURES["DP"], CASES["PoissonGamma"]), draws_of([LABELS] * 3)
    first, again, other = (sample_cluster_parameters(idata, model, random_seed=seed)["rate"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
