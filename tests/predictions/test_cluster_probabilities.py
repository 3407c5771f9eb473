"""Probabilities and parameters of clusters, against enumeration."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from helpers import refused
from prediction_cases import CASES, MEASURES, draws_of, make_model

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.posterior import cluster_probabilities, sample_cluster_parameters
from pymc_nrm.stats.point_estimate import point_estimate


def test_estimates_of_all_kinds():
    case = CASES["PoissonGamma"]
    model, idata = make_model(MEASURES["DP"], case), draws_of(all_partitions(4))
    expected = cluster_probabilities(idata, model, case.new, [0, 1, 1, 0])
    labels = xr.DataArray([0, 1, 1, 0], dims="item", coords={"item": list("abcd")})
    for estimate in (labels, xr.Dataset({"labels": labels, "n_clusters": 2}), np.array([0, 1, 1, 0])):
        xr.testing.assert_equal(cluster_probabilities(idata, model, case.new, estimate), expected)
    chosen = point_estimate(idata, random_seed=0)
    by_default = cluster_probabilities(idata, model, case.new)
    xr.testing.assert_equal(by_default, cluster_probabilities(idata, model, case.new, chosen))
    renamed = cluster_probabilities(idata, model, case.new, [7, 2, 2, 7])
    assert renamed.cluster.values.tolist() == [7, 2]
    np.testing.assert_array_equal(renamed.probability, expected.probability)
    assert set(renamed.labels.values) <= {7, 2, -1}


def test_names_of_new_items():
    case = CASES["PoissonGamma"]
    model, idata = make_model(MEASURES["DP"], case), draws_of([[0, 0, 1, 1]])
    assert cluster_probabilities(idata, model, case.new, [0, 0, 1, 1]).labels.dims == ("new_item",)
    X = xr.DataArray(case.new, dims=("patient", "feature"), coords={"patient": ["p", "q"]})
    predicted = cluster_probabilities(idata, model, X, [0, 0, 1, 1])
    assert predicted.probability.dims == ("patient", "cluster")
    assert predicted.patient.values.tolist() == ["p", "q"]


def test_several_mixtures():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(0.1), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.1), observed=[0, 1, 30, 28])
        nrm.Mixture("y", z, nrm.PoissonGamma(1.0, 0.1), observed=[0, 1, 2, 0])
    idata, estimate = draws_of([[0, 0, 1, 1]] * 2), [0, 0, 1, 1]
    both = cluster_probabilities(idata, model, {"y": [1, 1, 1], "x": [0, 29, 400]}, estimate)
    assert both.labels.values.tolist() == [0, 1, -1]
    one = cluster_probabilities(idata, model, {"y": [1]}, estimate)
    assert one.probability.values.max() < 0.7
    with pytest.raises(ValueError, match=r"X_new must be a dict with data of one or more of the mixtures \['x', 'y'\]"):
        cluster_probabilities(idata, model, [1], estimate)
    with pytest.raises(ValueError, match=r"got \['q'\]"):
        cluster_probabilities(idata, model, {"q": [1]}, estimate)
    with pytest.raises(ValueError, match="same number of items for every mixture"):
        cluster_probabilities(idata, model, {"x": [1], "y": [1, 2]}, estimate)


test_bad_estimates = refused(
    lambda estimate: cluster_probabilities(
        draws_of([[0, 0, 0, 0]]), make_model(MEASURES["DP"], CASES["PoissonGamma"]), [[1, 1]], estimate
    ),
    ([0, 0, 1], r"must have shape \(4,\); got shape \(3,\)"),
    ([0, 0, 1, -1], "at least 0"),
    ([0, 0, 1, 0.5], "must hold integers; got float64"),
    (xr.Dataset({"z": ("item", [0, 0, 0, 0])}), "must have the variable labels; got variables z"),
    error=(ValueError, TypeError),
)


# Expected parameters by name, given a family of full shape and the data of one cluster.


def poisson(family, X):
    return {"rate": (family.alpha + X.sum(axis=0)) / (family.beta + len(X))}


def normal_gamma(family, X):
    mean, beta = [], []
    for x, mu, kappa, prior_alpha, prior_beta in zip(X.T, *family, strict=True):
        x = x[~np.isnan(x)]
        weight = len(x) * kappa / (kappa + len(x))
        mean.append((kappa * mu + x.sum()) / (kappa + len(x)))
        rate = prior_beta + 0.5 * ((x - x.mean()) ** 2).sum() + 0.5 * weight * (x.mean() - mu) ** 2
        beta.append(rate / (prior_alpha + 0.5 * len(x) - 1))
    return {"mean": np.array(mean), "variance": np.array(beta)}


LABELS, DRAWS = [0, 1, 0, 0], 4000


@pytest.mark.parametrize(("name", "means"), [("NormalGamma, missing", normal_gamma), ("PoissonGamma", poisson)])
def test_posterior_means(name, means):
    case = CASES[name]
    idata = draws_of([LABELS] * DRAWS)
    found = sample_cluster_parameters(idata, make_model(MEASURES["DP"], case), random_seed=1)
    assert found["size"].values[0, 0].tolist() == [3, 1]
    family = broadcast_hyperparameters(case.family, *case.X.shape)
    for cluster in (0, 1):
        members = np.array(LABELS) == cluster
        for parameter, expected in means(family, case.X[members]).items():
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
