"""Predictive densities of new items, and the log of their mean, against enumeration of partitions."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from helpers import mixture_of
from prediction_cases import CASES, MEASURES, draws_of, extensions, joint_table, make_model, rows, stack
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import all_partitions

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
