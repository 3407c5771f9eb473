"""Predictive densities against enumeration of the partitions of one more item."""

import numpy as np
import pytest
import xarray as xr
from prediction_cases import CASES, MEASURES, draws_of, extensions, joint_table, make_model, rows, stack
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.predictions import predictive_density

ALL = rows(CASES)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", ALL)
def test_density_is_the_ratio_of_joint_densities(measure, name):
    case = CASES[name]
    measure = MEASURES[measure]
    partitions, log_joint = joint_table(measure, case.family, case.X)
    predicted = predictive_density(draws_of(partitions), make_model(measure, case), case.new)
    values = predicted.density.values[0]
    posterior = np.exp(log_joint - logsumexp(log_joint))
    for j in range(case.new.shape[0]):
        longer, log_longer = joint_table(measure, case.family, stack(case.X, case.new[j : j + 1]))
        for s, labels in enumerate(partitions):
            expected = logsumexp(log_longer[extensions(longer, labels)]) - log_joint[s]
            assert np.log(values[s, j]) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        whole = logsumexp(log_longer) - logsumexp(log_joint)
        assert np.log(posterior @ values[:, j]) == pytest.approx(whole, rel=1e-9, abs=1e-9)


def test_layout():
    case = CASES["NormalWishart"]
    idata = draws_of(all_partitions(4)[:6])
    idata["posterior"] = idata["posterior"].isel(draw=slice(None, None, 2))
    predicted = predictive_density(idata, make_model(MEASURES["DP"], case), case.new)
    assert predicted.density.dims == ("chain", "draw", "point")
    assert predicted.draw.values.tolist() == [0, 2, 4]
    np.testing.assert_array_equal(predicted.x_1, case.new[:, 1])
    assert predicted.new_cluster_weight.dims == ("chain", "draw")
    np.testing.assert_allclose(predicted.new_cluster_weight, 0.8 / 4.8)
    assert predicted.attrs == {"variable": "x", "kind": "density"}


def test_grids_of_all_kinds_are_the_same():
    case = CASES["NormalWishart"]
    model, idata = make_model(MEASURES["DP"], case), draws_of(all_partitions(4)[:3])
    expected = predictive_density(idata, model, case.new)
    columns = {f"feature {j}": ("grid", case.new[:, j]) for j in (1, 0)}
    for grid in (case.new.tolist(), xr.DataArray(case.new), xr.Dataset(columns)):
        xr.testing.assert_equal(predictive_density(idata, model, grid), expected)
    vector = CASES["NormalGamma, vector"]
    model = make_model(MEASURES["DP"], vector)
    one = predictive_density(idata, model, vector.new)
    assert one.point.values.tolist() == vector.new.tolist()
    xr.testing.assert_equal(one, predictive_density(idata["posterior"].to_dataset(), model, vector.new[:, None]))


def test_density_of_one_feature_integrates_to_one():
    case = CASES["NormalGamma, vector"]
    t = np.linspace(-12, 12, 4001)
    predicted = predictive_density(draws_of(all_partitions(4)), make_model(MEASURES["NGG"], case), np.sinh(t))
    integral = predicted.density.values @ np.cosh(t) * (t[1] - t[0])
    np.testing.assert_allclose(integral, 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([[1.0]], r"grid must have shape \(m, 2\), one column per feature; got shape \(1, 1\)"),
        ([1.0, 2.0], r"got shape \(2,\)"),
        (np.empty((0, 2)), "at least one row"),
        ([[0.5, 1]], "whole numbers"),
        ([[-1, 1]], "at least 0"),
    ],
)
def test_bad_grids(grid, message):
    model = make_model(MEASURES["DP"], CASES["PoissonGamma"])
    with pytest.raises(ValueError, match=message):
        predictive_density(draws_of(all_partitions(4)), model, grid)


def test_grid_of_text():
    model = make_model(MEASURES["DP"], CASES["PoissonGamma"])
    with pytest.raises(TypeError, match="grid must be real numbers"):
        predictive_density(draws_of(all_partitions(4)), model, [["a", "b"]])


def test_unknown_mixture():
    model = make_model(nrm.DirichletProcess(1.0), CASES["PoissonGamma"])
    with pytest.raises(ValueError, match=r"that of a Mixture of the model, one of \['x'\]; got 'y'"):
        predictive_density(draws_of(all_partitions(4)), model, [[1, 1]], var_name="y")
