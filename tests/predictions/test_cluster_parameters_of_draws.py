"""Draws of the parameters of clusters against their closed posterior laws."""

import numpy as np
import pytest
from posterior_means import POSTERIOR_MEANS
from prediction_cases import CASES, MEASURES, Case, draws_of, make_model, rows
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.posterior import sample_cluster_parameters

LABELS = [0, 1, 0, 0]
DRAWS = 4000


NAMES = ("NormalGamma, missing", "NormalWishart", "PoissonGamma", "BernoulliBeta, missing")


@pytest.mark.parametrize("name", rows(NAMES))
def test_posterior_means(name):
    case = CASES[name]
    idata = draws_of([LABELS] * DRAWS)
    found = sample_cluster_parameters(idata, make_model(MEASURES["DP"], case), random_seed=1)
    assert found["size"].values[0, 0].tolist() == [3, 1]
    family = broadcast_hyperparameters(case.family, *case.X.shape)
    for cluster in (0, 1):
        members = np.array(LABELS) == cluster
        for parameter, expected in POSTERIOR_MEANS[type(family).__name__](family, case.X[members]).items():
            drawn = found[parameter].sel(cluster=cluster)[0].values
            z = (drawn.mean(axis=0) - expected) / (drawn.std(axis=0) / np.sqrt(DRAWS))
            assert abs(z).max() < 4.5
            items = found[f"item_{parameter}"].isel(item=np.flatnonzero(members)[-1])
            np.testing.assert_array_equal(items[0], drawn)


@pytest.mark.slow
def test_layout():
    model = make_model(MEASURES["NGG"], CASES["NormalWishart"])
    idata = draws_of([[0, 0, 0, 0], [0, 1, 2, 1]])
    found, other = (sample_cluster_parameters(idata, model, random_seed=seed) for seed in (1, 2))
    assert found["mean"].dims == ("chain", "draw", "cluster", "feature")
    assert found["covariance"].dims == ("chain", "draw", "cluster", "feature", "feature_other")
    assert found["item_covariance"].dims == ("chain", "draw", "item", "feature", "feature_other")
    assert found.item.values.tolist() == list("abcd")
    assert found.feature_other.values.tolist() == found.feature.values.tolist() == ["feature 0", "feature 1"]
    assert found["size"].values[0].tolist() == [[4, 0, 0], [1, 2, 1]]
    assert found["mean"].isnull().any("feature").values[0].tolist() == [[False, True, True], [False] * 3]
    assert not found["item_mean"].isnull().any() and (found["item_mean"] != other["item_mean"]).all()
    without = sample_cluster_parameters(idata, model, to_items=False, random_seed=1)
    assert set(without.data_vars) == {"size", "mean", "covariance"}
    np.testing.assert_array_equal(without["mean"], found["mean"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "X", "dims", "mean"),
    [
        (nrm.CategoricalDirichlet(np.full((2, 3), 0.5)), [[0, 1], [1, 0], [0, 2]], ["level"], [[5, 1, 1], [1, 3, 3]]),
        (nrm.MultinomialDirichlet(0.5), sparse.csr_array([[2, 0, 1], [0, 4, 0], [1, 0, 0]]), [], [7, 1, 3]),
    ],
)
def test_probabilities_of_levels_and_of_words(family, X, dims, mean):
    model = make_model(MEASURES["DP"], Case(family, X if sparse.issparse(X) else np.array(X), None))
    found = sample_cluster_parameters(draws_of([[0, 1, 0]] * DRAWS), model, random_seed=1)
    assert found["probability"].dims == ("chain", "draw", "cluster", "feature", *dims)
    assert found["item_probability"].dims == ("chain", "draw", "item", "feature", *dims)
    expected = np.array(mean) / np.sum(mean, axis=-1, keepdims=True)
    np.testing.assert_allclose(found["probability"].mean(("chain", "draw")).sel(cluster=0), expected, atol=0.02)
