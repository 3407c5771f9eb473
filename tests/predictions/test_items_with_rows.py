"""Predictions where items have several rows of data or none, against enumeration of partitions."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from helpers import log_density
from prediction_cases import draws_of, extensions
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.labels import all_partitions, canonical_labels, label_counts
from pymc_nrm.testing import kernel_inputs

MEASURE = nrm.NormalizedGeneralizedGamma(0.6, 0.35)
# Item 3 has no row, and the response of row 4 is missing.
ITEMS = np.array([2, 0, 0, 1, 2])
AGE, TIME = np.array([0.2, 1.5, 0.9, -1.0]), np.array([0.0, 1.0, 2.0, 0.5, 1.5])
Y = np.array([1.9, 0.4, 0.7, -1.0, np.nan])
OF_AGE = nrm.NormalGamma(0.5, 0.3, 2.0, 0.8)
LINE = nrm.NormalRegression(None, [0.2, 0.5, 0.0], 0.3 * np.eye(3), 2.5, 0.7)


def design(age_of_row, time):
    return pt.stack([pt.ones_like(time), age_of_row, time], axis=1)


def make_model(items=ITEMS, y=Y, time=TIME):
    """Patients with an age, and visits whose response depends on age and time."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4)
        age = nrm.Mixture("age", z, OF_AGE, observed=AGE)
        when = pm.Data("time", time)
        family = LINE._replace(covariates=design(age[items], when))
        nrm.Mixture("y", z, family, observed=y, rows=items, dims="visit")
    return model


def log_joint(age, items, time, y):
    """All partitions of the items, and the log joint densities of partition and data."""
    partitions = all_partitions(len(age))
    W = np.column_stack([np.ones(len(time)), age[items], time])
    own, line = kernel_inputs(OF_AGE, age), kernel_inputs(LINE._replace(covariates=W), y)
    log_p = [
        log_eppf(MEASURE, label_counts(labels)) + log_density(*own, labels) + log_density(*line, labels[items])
        for labels in partitions
    ]
    return partitions, np.array(log_p)


def with_new(age, time, y):
    return np.append(AGE, age), np.append(ITEMS, 4), np.append(TIME, time), np.append(Y, y)


@pytest.mark.slow
def test_density_and_clusters_of_a_new_item_with_one_row():
    partitions, _ = log_joint(AGE, ITEMS, TIME, Y)
    idata, model = draws_of(partitions), make_model()
    ages, times, ys = np.array([0.3, 1.2, 0.0, 2.0, -1.0]), np.array([0.5, 3.0, 0.1, 0.2, 0.3]), [1.4, -1.2]
    given = {"age": ages, "time": times}
    found = nrm.predictive_density(idata, model, ys, given=given, var_name="y")["density"].values[0]
    curves = nrm.conditional_quantiles(idata, model, given, [0.3], var_name="y")["quantile"].values[0, :, :, 0]
    at_quantile = nrm.predictive_density(
        idata, model, np.linspace(-60, curves[5, 0], 8001), given={"age": ages[:1], "time": times[:1]}, var_name="y"
    )["density"].values[0, 5, 0]
    assert at_quantile.sum() * (curves[5, 0] + 60) / 8000 == pytest.approx(0.3, abs=2e-3)
    for g, j in [(0, 0), (1, 1), (3, 0)]:
        longer, log_longer = log_joint(*with_new(ages[g], times[g], ys[j]))
        _, log_missing = log_joint(*with_new(ages[g], times[g], np.nan))
        for s, labels in enumerate(partitions):
            places = extensions(longer, labels)
            expected = logsumexp(log_longer[places]) - logsumexp(log_missing[places])
            assert np.log(found[s, g, j]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_an_item_is_left_out_with_all_its_rows():
    partitions, log_p = log_joint(AGE, ITEMS, TIME, Y)
    found = nrm.compute_log_likelihood(draws_of(partitions), make_model(), extend_inferencedata=False)["z"].values[0]
    for item in range(4):
        kept, others = item != ITEMS, np.arange(4) != item
        of_others = np.cumsum(others) - 1
        fewer, log_fewer = log_joint(AGE[others], of_others[ITEMS[kept]], TIME[kept], Y[kept])
        for s, labels in enumerate(partitions):
            rest = canonical_labels(labels[others])
            same = [np.array_equal(canonical_labels(one[others]), rest) for one in partitions]
            expected = logsumexp(log_p[same]) - log_fewer[(fewer == rest).all(axis=1)].item()
            assert found[s, item] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_replications_parameters_and_new_items():
    line = LINE._replace(Lambda=1e-6 * np.eye(3), beta=1e-8)
    items, rates = np.array([0, 0, 0, 2, 1, 1, 0]), np.array([4, 6, 5, 90, 3, 5, 5])
    time = np.arange(7.0)
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4)
        covariates = np.column_stack([np.ones(7), time, time**2])
        nrm.Mixture("y", z, line._replace(covariates=covariates), observed=2.0 + 3.0 * time, rows=items, dims="visit")
        nrm.Mixture("count", z, nrm.PoissonGamma(1.0, 0.1), observed=rates, rows=items)
    idata = draws_of([[0, 0, 1, 0]] * 400)
    drawn = nrm.sample_posterior_predictive(idata, model, random_seed=1, progressbar=False)["posterior_predictive"]
    assert drawn["y"].dims == ("chain", "draw", "visit")
    on_line = drawn["y"].values[0][:, items == 0]
    np.testing.assert_allclose(on_line, np.tile(2.0 + 3.0 * time[items == 0], (400, 1)), atol=0.05)
    np.testing.assert_allclose(drawn["count"].mean(("chain", "draw")).values[[0, 3, 4]], [4.7, 82.7, 4.7], rtol=0.15)
    parameters = nrm.sample_cluster_parameters(idata, model, var_name="count", random_seed=1, progressbar=False)
    assert parameters["item_rate"].sizes["item"] == 4
    new = nrm.sample_posterior_predictive(idata, model, new_items=2, var_names="count", random_seed=1)
    assert new["predictions"]["count"].shape == (1, 400, 2)
    assert new["posterior_predictive"]["count"].shape == (1, 400, 7)
    assert list(nrm.describe_clusters(idata, model, [0, 0, 1, 0]).cells.columns.intersection(["y", "count"])) == []


@pytest.mark.slow
def test_forward_draws_have_the_clusters_of_their_items():
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4)
        family = nrm.NormalGamma(0.0, 1e-14, 1e8, 1.0)
        nrm.Mixture("x", z, family, rows=[2, 0, 0, 3, 2], shape=(5,))
    z, x = pm.draw([model["z"], model["x"]], 50, random_seed=1)
    for labels, values in zip(z, x, strict=True):
        same = labels[[2, 0, 0, 3, 2]][:, None] == labels[[2, 0, 0, 3, 2]]
        np.testing.assert_array_equal(np.abs(values[:, None] - values) < 0.01, same)


def test_one_row_each_is_no_change():
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4)
        nrm.Mixture("plain", z, OF_AGE, observed=AGE)
        nrm.Mixture("rows", z, OF_AGE, observed=AGE[[2, 0, 3, 1]], rows=[2, 0, 3, 1])
    logps = [model.compile_logp(model[name], mode="FAST_COMPILE") for name in ("plain", "rows")]
    for labels in all_partitions(4):
        plain, rows = (logp({"z": labels}) for logp in logps)
        assert rows == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([0, 1, 2], ValueError, "observed data of Mixture 'x' must have one row for each of the 3 entries of rows"),
        ([0, 1, 2, 4, 0], ValueError, r"rows of Mixture 'x' must be items .* from 0 to 3; got 4 in row 3"),
        ([0, 1, np.nan, 1, 0], ValueError, "rows of Mixture 'x' must be items .* got nan in row 2"),
        ([0, 1, 0.5, 1, 0], ValueError, "rows of Mixture 'x' must be items .* got 0.5 in row 2"),
        ([[0], [1], [2], [1], [0]], ValueError, r"rows of Mixture 'x' must have shape \(n_rows,\)"),
        (["a", "b", "a", "b", "a"], TypeError, "rows of Mixture 'x' must be real numbers; got text"),
        (pt.lvector("i"), TypeError, "rows of Mixture 'x' must be an array"),
    ],
)
def test_wrong_rows(rows, error, message):
    with pm.Model():
        z = nrm.Partition("z", MEASURE, n=4)
        with pytest.raises(error, match=message):
            nrm.Mixture("x", z, OF_AGE, observed=Y, rows=rows)


def test_nested_partitions_have_no_rows():
    with pm.Model():
        t = nrm.NestedPartition("t", nrm.DirichletProcess(1.0), 1, nrm.HierarchicalDirichletProcess(1.0, 1.0), n=4)
        with pytest.raises(ValueError, match="rows of Mixture 'x' must be None, since 't' is no flat Partition"):
            nrm.Mixture("x", t, OF_AGE, observed=Y, rows=ITEMS)
