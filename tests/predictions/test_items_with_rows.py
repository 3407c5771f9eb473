"""Predictions where items have several rows of data or none: quantiles, replications, and what is refused."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from helpers import refused
from prediction_cases import AGE, MEASURES, OF_AGE, PATIENTS, PLANE, RESPONSE, draws_of, visits_model

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import all_partitions

MEASURE = MEASURES["NGG"]


@pytest.mark.slow
def test_quantile_of_a_new_item_with_one_row():
    idata, model, given = draws_of(all_partitions(4)[[5]]), visits_model(), {"age": [0.3], "time": [0.5]}
    [[[[end]]]] = nrm.conditional_quantiles(idata, model, given, [0.3], var_name="y")["quantile"].values
    grid = np.linspace(-60, end, 8001)
    density = nrm.predictive_density(idata, model, grid, given=given, var_name="y")["density"].values[0, 0, 0]
    assert density.sum() * (end + 60) / 8000 == pytest.approx(0.3, abs=2e-3)


@pytest.mark.slow
def test_replications_parameters_and_new_items():
    line = PLANE._replace(Lambda=1e-6 * np.eye(3), beta=1e-8)
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


test_wrong_rows = refused(
    lambda rows: nrm.Mixture("x", nrm.Partition("z", MEASURE, n=4), OF_AGE, observed=RESPONSE, rows=rows),
    ([0, 1, 2], ValueError, "observed data of Mixture 'x' must have one row for each of the 3 entries of rows"),
    ([0, 1, 2, 4, 0], ValueError, r"rows of Mixture 'x' must be items .* from 0 to 3; got 4 in row 3"),
    ([0, 1, np.nan, 1, 0], ValueError, "rows of Mixture 'x' must be items .* got nan in row 2"),
    ([0, 1, 0.5, 1, 0], ValueError, "rows of Mixture 'x' must be items .* got 0.5 in row 2"),
    ([[0], [1], [2], [1], [0]], ValueError, r"rows of Mixture 'x' must have shape \(n_rows,\)"),
    (["a", "b", "a", "b", "a"], TypeError, "rows of Mixture 'x' must be real numbers; got text"),
    (pt.lvector("i"), TypeError, "rows of Mixture 'x' must be an array"),
    within=pm.Model,
)


def test_nested_partitions_have_no_rows():
    with pm.Model():
        t = nrm.NestedPartition("t", nrm.DirichletProcess(1.0), 1, nrm.HierarchicalDirichletProcess(1.0, 1.0), n=4)
        with pytest.raises(ValueError, match="rows of Mixture 'x' must be None, since 't' is no flat Partition"):
            nrm.Mixture("x", t, OF_AGE, observed=RESPONSE, rows=PATIENTS)
