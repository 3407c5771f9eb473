"""Densities and clusters of new items and of items left out: forms, leave-one-out by ArviZ, and what is refused."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.testing import all_partitions, exact_posterior, log_evidence
from tests.helpers import mixture_of, refused
from tests.predictions.prediction_cases import CASES, MEASURES, draws_of, make_model


def test_grids_of_all_kinds_are_the_same():
    case = CASES["PoissonGamma"]
    model, idata = make_model(MEASURES["DP"], case), draws_of(all_partitions(4)[:3])
    expected = nrm.predictive_density(idata, model, case.new)
    assert expected.density.dims == ("chain", "draw", "point")
    assert expected.attrs == {"variable": "x", "kind": "probability"}
    np.testing.assert_array_equal(expected.x_1, case.new[:, 1])
    np.testing.assert_allclose(expected.new_cluster_weight, 0.8 / 4.8)
    columns = {f"feature {j}": ("grid", case.new[:, j]) for j in (1, 0)}
    for grid in (case.new.tolist(), xr.DataArray(case.new), xr.Dataset(columns)):
        xr.testing.assert_equal(nrm.predictive_density(idata, model, grid), expected)
    X = xr.DataArray(case.new, dims=("patient", "feature"), coords={"patient": ["p", "q"]})
    log_p = nrm.log_predictive_density(idata, model, X)
    assert log_p.dims == ("patient",) and log_p.patient.values.tolist() == ["p", "q"]
    vector = CASES["NormalGamma, vector"]
    model = make_model(MEASURES["DP"], vector)
    one = nrm.predictive_density(idata, model, vector.new)
    assert one.point.values.tolist() == vector.new.tolist()
    xr.testing.assert_equal(one, nrm.predictive_density(idata["posterior"].to_dataset(), model, vector.new[:, None]))


test_bad_grids = refused(
    lambda grid: nrm.predictive_density(
        draws_of(all_partitions(4)), make_model(MEASURES["DP"], CASES["PoissonGamma"]), grid
    ),
    ([["a", "b"]], TypeError, "grid must be real numbers"),
    ([[1.0]], ValueError, r"grid must have shape \(m, 2\), one column per feature; got shape \(1, 1\)"),
    ([1.0, 2.0], ValueError, r"got shape \(2,\)"),
    (np.empty((0, 2)), ValueError, "at least one row"),
    ([[0.5, 1]], ValueError, "whole numbers"),
    ([[-1, 1]], ValueError, "at least 0"),
)


def test_nothing_underflows():
    X = np.zeros((4, 300), dtype=int)
    model = mixture_of(nrm.PoissonGamma(1.0, 1.0), X)
    idata = draws_of([[0, 0, 0, 0]])
    far = np.full((1, 300), 40)
    assert nrm.predictive_density(idata, model, far).density.item() == 0.0
    # In a new cluster a count has probability (1/2)^(x + 1), in the old one 5/6 (1/6)^x.
    expected = np.logaddexp(np.log(1 / 5) + 300 * 41 * np.log(1 / 2), np.log(4 / 5) - 300 * 40 * np.log(6))
    assert nrm.log_predictive_density(idata, model, far).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_arviz_agrees_with_refits():
    """Draws from the exact posterior of partition and alpha, whose prior is spread over quantiles of Gamma(2, 1)."""
    X, family = np.array([-0.4, 0.3, 1.5, 4.0, 4.4]), nrm.NormalGamma(mu=0.0, kappa=0.3, alpha=2.5, beta=0.8)
    alphas = stats.gamma.ppf((np.arange(200) + 0.5) / 200, 2)
    partitions, log_joint = joint_over_alpha(alphas, family, X)
    fewer = [logsumexp(joint_over_alpha(alphas, family, np.delete(X, i))[1]) for i in range(5)]
    exact = logsumexp(log_joint) - np.array(fewer)
    posterior = np.exp(log_joint - logsumexp(log_joint))
    rows = np.random.default_rng(1).choice(log_joint.size, 4000, p=posterior.ravel())
    with pm.Model(coords={"item": list("abcde")}) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, 0.35), dims="item")
        nrm.Mixture("x", z, family, observed=X, dims="item")
    idata = draws_of(partitions[rows % len(partitions)], alpha=alphas[rows // len(partitions)])
    nrm.compute_log_likelihood(idata, model)
    loo = az.loo(idata, pointwise=True)
    ratios = np.exp(-idata["log_likelihood"]["x"].values[0])
    error = ratios.std(axis=0) / ratios.mean(axis=0) / np.sqrt(len(rows))
    assert error.max() < 0.02
    assert abs((loo.elpd_i.values - exact) / error).max() < 4.5
    assert loo.elpd == pytest.approx(exact.sum(), abs=4.5 * error.sum())
    assert loo.pareto_k.max() < 0.7
    assert loo.elpd_i["item"].values.tolist() == list("abcde")


def joint_over_alpha(alphas, family, X):
    """All partitions, and log joint densities with each alpha up to a constant, shape (alphas, partitions)."""
    measures = [nrm.NormalizedGeneralizedGamma(alpha, 0.35) for alpha in alphas]
    log_joint = [np.log(exact_posterior(m, family, X)[1]) + log_evidence(X, family, m) for m in measures]
    return all_partitions(len(X)), np.array(log_joint)


def test_existing_log_likelihoods_are_kept():
    case = CASES["PoissonGamma"]
    model, idata = make_model(MEASURES["DP"], case), draws_of(all_partitions(4))
    other = idata["posterior"].to_dataset()[["z"]].rename(z="other")
    idata["log_likelihood"] = type(idata)(other)
    assert nrm.compute_log_likelihood(idata, model, var_name="x") is idata
    again = nrm.compute_log_likelihood(idata, model)
    assert set(again["log_likelihood"].data_vars) == {"other", "x"}
    dataset = nrm.compute_log_likelihood(idata["posterior"].to_dataset(), model, extend_inferencedata=False)
    np.testing.assert_array_equal(dataset["x"], idata["log_likelihood"]["x"])
    with pytest.raises(TypeError, match="extend_inferencedata=False"):
        nrm.compute_log_likelihood(idata["posterior"].to_dataset(), model)


def test_latent_mixtures_have_no_likelihood():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        x = nrm.Mixture("x", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), shape=(3,))
        pm.Normal("y", x, 1.0, observed=np.zeros(3))
    posterior = draws_of([[0, 0, 1]])["posterior"].to_dataset()
    posterior["x"] = ("chain", "draw", "x_dim_0"), np.zeros((1, 1, 3))
    idata = xr.DataTree.from_dict({"posterior": posterior})
    with pytest.raises(ValueError, match="'x' is latent"):
        nrm.compute_log_likelihood(idata, model)


def test_estimates_of_all_kinds():
    case = CASES["PoissonGamma"]
    model, idata = make_model(MEASURES["DP"], case), draws_of(all_partitions(4))
    expected = nrm.cluster_probabilities(idata, model, case.new, [0, 1, 1, 0])
    assert expected.probability.dims == ("new_item", "cluster")
    labels = xr.DataArray([0, 1, 1, 0], dims="item", coords={"item": list("abcd")})
    for estimate in (labels, xr.Dataset({"labels": labels, "n_clusters": 2}), np.array([0, 1, 1, 0])):
        xr.testing.assert_equal(nrm.cluster_probabilities(idata, model, case.new, estimate), expected)
    chosen = nrm.point_estimate(idata, random_seed=0)
    by_default = nrm.cluster_probabilities(idata, model, case.new)
    xr.testing.assert_equal(by_default, nrm.cluster_probabilities(idata, model, case.new, chosen))
    X = xr.DataArray(case.new, dims=("patient", "feature"), coords={"patient": ["p", "q"]})
    renamed = nrm.cluster_probabilities(idata, model, X, [7, 2, 2, 7])
    assert renamed.cluster.values.tolist() == [7, 2] and renamed.patient.values.tolist() == ["p", "q"]
    np.testing.assert_array_equal(renamed.probability, expected.probability)
    assert set(renamed.labels.values) <= {7, 2, -1}


def test_several_mixtures():
    families, data = dict.fromkeys("xy", nrm.PoissonGamma(1.0, 0.1)), {"x": [0, 1, 30, 28], "y": [0, 1, 2, 0]}
    model = mixture_of(families, data, nrm.DirichletProcess(0.1))
    idata, estimate = draws_of([[0, 0, 1, 1]] * 2), [0, 0, 1, 1]
    both = nrm.cluster_probabilities(idata, model, {"y": [1, 1, 1], "x": [0, 29, 400]}, estimate)
    assert both.labels.values.tolist() == [0, 1, -1]
    one = nrm.cluster_probabilities(idata, model, {"y": [1]}, estimate)
    assert one.probability.values.max() < 0.7
    with pytest.raises(ValueError, match=r"X_new must be a dict .*\['x', 'y'\]"):
        nrm.cluster_probabilities(idata, model, [1], estimate)
    with pytest.raises(ValueError, match=r"got \['q'\]"):
        nrm.cluster_probabilities(idata, model, {"q": [1]}, estimate)
    with pytest.raises(ValueError, match="same number of items for every mixture"):
        nrm.cluster_probabilities(idata, model, {"x": [1], "y": [1, 2]}, estimate)


test_bad_estimates = refused(
    lambda estimate: nrm.cluster_probabilities(
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
    found = nrm.sample_cluster_parameters(idata, make_model(MEASURES["DP"], case), random_seed=1)
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
    found, other = (nrm.sample_cluster_parameters(idata, model, random_seed=seed) for seed in (1, 2))
    assert found["mean"].dims == ("chain", "draw", "cluster", "feature")
    assert found["covariance"].dims == ("chain", "draw", "cluster", "feature", "feature_other")
    assert found["item_covariance"].dims == ("chain", "draw", "item", "feature", "feature_other")
    assert found.item.values.tolist() == list("abcd")
    assert found.feature_other.values.tolist() == found.feature.values.tolist() == ["feature 0", "feature 1"]
    assert found["size"].values[0].tolist() == [[4, 0, 0], [1, 2, 1]]
    assert found["mean"].isnull().any("feature").values[0].tolist() == [[False, True, True], [False] * 3]
    assert not found["item_mean"].isnull().any() and (found["item_mean"] != other["item_mean"]).all()
    without = nrm.sample_cluster_parameters(idata, model, to_items=False, random_seed=1)
    assert set(without.data_vars) == {"size", "mean", "covariance"}
    np.testing.assert_array_equal(without["mean"], found["mean"])
