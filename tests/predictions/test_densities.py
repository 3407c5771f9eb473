"""Densities of new items and of items left out: their forms, leave-one-out by ArviZ, and what is refused."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from helpers import mixture_of, refused
from prediction_cases import CASES, MEASURES, draws_of, make_model
from scipy import stats
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.posterior import compute_log_likelihood
from pymc_nrm.testing import exact_posterior, log_evidence


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
    compute_log_likelihood(idata, model)
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
    assert compute_log_likelihood(idata, model, var_name="x") is idata
    again = compute_log_likelihood(idata, model)
    assert set(again["log_likelihood"].data_vars) == {"other", "x"}
    dataset = compute_log_likelihood(idata["posterior"].to_dataset(), model, extend_inferencedata=False)
    np.testing.assert_array_equal(dataset["x"], idata["log_likelihood"]["x"])
    with pytest.raises(TypeError, match="extend_inferencedata=False"):
        compute_log_likelihood(idata["posterior"].to_dataset(), model)


def test_latent_mixtures_have_no_likelihood():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        x = nrm.Mixture("x", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), shape=(3,))
        pm.Normal("y", x, 1.0, observed=np.zeros(3))
    posterior = draws_of([[0, 0, 1]])["posterior"].to_dataset()
    posterior["x"] = ("chain", "draw", "x_dim_0"), np.zeros((1, 1, 3))
    idata = xr.DataTree.from_dict({"posterior": posterior})
    with pytest.raises(ValueError, match="'x' is latent"):
        compute_log_likelihood(idata, model)
