"""Densities of new items and of items left out, against enumeration."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from helpers import log_density, mixture_of
from prediction_cases import CASES, MEASURES, draws_of, extensions, joint_table, make_model, rows, stack
from scipy import stats
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.partitions.labels import all_partitions, canonical_labels
from pymc_nrm.partitions.prediction_rule import log_prediction_rule
from pymc_nrm.posterior import compute_log_likelihood
from pymc_nrm.posterior.any_draws import draws_of as posterior_draws
from pymc_nrm.testing import kernel_inputs

ALL = rows(CASES)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", ALL)
def test_density_is_the_ratio_of_joint_densities(measure, name):
    case = CASES[name]
    measure = MEASURES[measure]
    partitions, log_joint = joint_table(measure, case.family, case.X)
    idata, model = draws_of(partitions), make_model(measure, case)
    values = nrm.predictive_density(idata, model, case.new).density.values[0]
    log_mean = nrm.log_predictive_density(idata, model, case.new)
    np.testing.assert_allclose(log_mean, np.log(values.mean(axis=0)), rtol=1e-12)
    posterior = np.exp(log_joint - logsumexp(log_joint))
    for j in range(case.new.shape[0]):
        longer, log_longer = joint_table(measure, case.family, stack(case.X, case.new[j : j + 1]))
        for s, labels in enumerate(partitions):
            expected = logsumexp(log_longer[extensions(longer, labels)]) - log_joint[s]
            assert np.log(values[s, j]) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        whole = logsumexp(log_longer) - logsumexp(log_joint)
        assert np.log(posterior @ values[:, j]) == pytest.approx(whole, rel=1e-9, abs=1e-9)


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


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        ([["a", "b"]], TypeError, "grid must be real numbers"),
        ([[1.0]], ValueError, r"grid must have shape \(m, 2\), one column per feature; got shape \(1, 1\)"),
        ([1.0, 2.0], ValueError, r"got shape \(2,\)"),
        (np.empty((0, 2)), ValueError, "at least one row"),
        ([[0.5, 1]], ValueError, "whole numbers"),
        ([[-1, 1]], ValueError, "at least 0"),
    ],
)
def test_bad_grids(grid, error, message):
    model = make_model(MEASURES["DP"], CASES["PoissonGamma"])
    with pytest.raises(error, match=message):
        nrm.predictive_density(draws_of(all_partitions(4)), model, grid)


def test_mixtures_of_one_feature_each_are_one_of_all_features():
    case = CASES["PoissonGamma"]
    one = make_model(MEASURES["NGG"], case)
    with pm.Model() as two:
        z = nrm.Partition("z", MEASURES["NGG"], n=4)
        for k in range(2):
            family = nrm.PoissonGamma(case.family.alpha[k], case.family.beta)
            nrm.Mixture(f"x{k}", z, family, observed=case.X[:, k])
    idata = draws_of(all_partitions(4)[[0, 3, 3, 9, 14]])
    given = {f"x{k}": case.new[:, k] for k in range(2)}
    expected = nrm.log_predictive_density(idata, one, case.new)
    np.testing.assert_allclose(nrm.log_predictive_density(idata, two, given), expected, rtol=1e-12)
    alone = nrm.log_predictive_density(idata, two, {"x0": case.new[:, 0]})
    assert (alone > expected).all()


def test_nothing_underflows():
    X = np.zeros((4, 300), dtype=int)
    model = mixture_of(nrm.PoissonGamma(1.0, 1.0), X)
    idata = draws_of([[0, 0, 0, 0]])
    far = np.full((1, 300), 40)
    assert nrm.predictive_density(idata, model, far).density.item() == 0.0
    # In a new cluster a count has probability (1/2)^(x + 1), in the old one 5/6 (1/6)^x.
    expected = np.logaddexp(np.log(1 / 5) + 300 * 41 * np.log(1 / 2), np.log(4 / 5) - 300 * 40 * np.log(6))
    assert nrm.log_predictive_density(idata, model, far).item() == pytest.approx(expected, rel=1e-12)


def without(X, i):
    return X[[j for j in range(X.shape[0]) if j != i]]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", ALL)
def test_values_and_importance_weights_are_exact(measure, name):
    case = CASES[name]
    measure = MEASURES[measure]
    partitions, log_joint = joint_table(measure, case.family, case.X)
    model = make_model(measure, case)
    values = compute_log_likelihood(draws_of(partitions), model)["log_likelihood"]["x"].values[0]
    log_posterior = log_joint - logsumexp(log_joint)
    for i in range(4):
        fewer, log_fewer = joint_table(measure, case.family, without(case.X, i))
        rest = [canonical_labels(np.delete(labels, i)).tolist() for labels in partitions]
        for s in range(len(partitions)):
            same = [r for r in range(len(partitions)) if rest[r] == rest[s]]
            expected = logsumexp(log_joint[same]) - log_fewer[fewer.tolist().index(rest[s])]
            assert values[s, i] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        # The mean of the reciprocals over the posterior is the reciprocal of p(x_i | x_-i).
        assert -logsumexp(log_posterior - values[:, i]) == pytest.approx(
            logsumexp(log_joint) - logsumexp(log_fewer), rel=1e-9, abs=1e-9
        )


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
    tables = [joint_table(nrm.NormalizedGeneralizedGamma(alpha, 0.35), family, X) for alpha in alphas]
    return tables[0][0], np.array([log_joint for _, log_joint in tables])


def test_items_of_two_mixtures_are_left_out_as_a_whole():
    families = [nrm.NormalGamma(mu=0.0, kappa=0.3, alpha=2.5, beta=0.8), nrm.PoissonGamma(1.0, 0.5)]
    data = [np.array([-0.4, np.nan, 1.5]), np.array([[3], [0], [9]])]
    measure = MEASURES["NGG"]
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=3)
        nrm.Mixture("x", z, families[0], observed=data[0])
        nrm.Mixture("y", z, families[1], observed=data[1])
    partitions, log_joint = joint_table(measure, families, data)
    values = compute_log_likelihood(draws_of(partitions), model)["log_likelihood"]["z"].values[0]
    for i in range(3):
        _, log_fewer = joint_table(measure, families, [without(X, i) for X in data])
        expected = logsumexp(log_joint) - logsumexp(log_fewer)
        assert -logsumexp(log_joint - logsumexp(log_joint) - values[:, i]) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"shares partition 'z' with \['y'\].*var_name='z'"):
        compute_log_likelihood(draws_of(partitions), model, var_name="x")


class Pair(Ordered):
    """Items 0 and 1 always share their cluster, and count once for the measure."""

    def counts(self, labels):
        return np.bincount(labels[1:])

    def log_join_others(self, labels, join):
        join[:2] = -np.inf
        join[:2, labels[0]] = 0.0
        return join


@pytest.mark.parametrize("labels", [[0, 0, 1, 0], [0, 0, 1, 2], [0, 0, 0, 0]])
def test_items_of_a_kind_that_count_otherwise(labels):
    """Draws ask the kind for what the measure counts, and where an item may go that is left out."""
    case, measure, labels = CASES["PoissonGamma"], MEASURES["NGG"], np.array(labels)
    draws = posterior_draws(draws_of([labels]), make_model(measure, case))
    draws.kind = Pair().named("z")
    [draw] = draws

    def log_joint(labels, items):
        clusters = canonical_labels(labels)
        prior = log_eppf(measure, np.bincount(clusters[1:] if 0 in items and 1 in items else clusters))
        return prior + log_density(*kernel_inputs(case.family, case.X[items]), clusters)

    for item, value in enumerate(draws.leave_one_out(draw)):
        others = np.delete(np.arange(4), item)
        clusters = [labels[1 - item]] if item < 2 else [*np.unique(labels[others]), 9]
        moved = [np.where(np.arange(4) == item, k, labels) for k in clusters]
        expected = logsumexp([log_joint(one, [0, 1, 2, 3]) for one in moved]) - log_joint(labels[others], others)
        assert value == pytest.approx(expected, rel=1e-9)
    assert draws.weight_of_new(draw) == pytest.approx(
        np.exp(log_prediction_rule(measure, draws.kind.counts(labels)))[-1]
    )


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
