"""Functions of draws and a model refuse draws of other rows, other orders or other units."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from prediction_cases import drawn_from_prior

import pymc_nrm as nrm

X = np.array([[0.1, 1.0], [0.3, np.nan], [4.0, 5.0], [4.2, 5.5]])
LABELS = np.array([[[0, 0, 1, 1], [0, 0, 1, 2]]])


def model_of(X, items="abcd", kind="flat"):
    with pm.Model(coords={"item": list(items), "feature": ["u", "v"], "cluster": range(3)}) as model:
        measure, family = nrm.DirichletProcess(1.0), nrm.NormalGamma(0.0, 1.0, 2.0, 1.0)
        if kind == "groups":
            weights = nrm.HierarchicalDirichletProcess(1.0, 1.0)
            z = nrm.NestedPartition("z", paths=[0, 0, 1, 1], weights=weights, dims="item")
        elif kind == "slots":
            z = nrm.Partition("z", measure, dims="item", max_clusters="cluster")
            mean = pm.Normal("mean", dims="cluster")
            pm.Normal("y", mean[z], 1, observed=X[:, 0], dims="item")
        else:
            z = nrm.Partition("z", measure, dims="item")
        nrm.Mixture("x", z, family, observed=X, dims=("item", "feature"))
    return model


def test_rows_in_another_order():
    idata = drawn_from_prior(model_of(X), LABELS)
    nrm.fused_estimate(idata, model_of(X))
    with pytest.raises(ValueError, match=r"item 0 of 'z' is 'a' in the draws and 'd' in the model"):
        nrm.fused_estimate(idata, model_of(X[::-1], "dcba"))
    with pytest.raises(ValueError, match=r"the observed x\[0, 0\] is 0.1 in the draws and 4.2 in the model"):
        nrm.fused_estimate(idata, model_of(X[::-1]))


def test_other_units_and_gaps_elsewhere():
    idata = drawn_from_prior(model_of(X), LABELS)
    with pytest.raises(ValueError, match=r"the observed x\[0, 1\] is 1 in the draws and 100 in the model"):
        nrm.predictive_density(idata, grid=X[:1], model=model_of(X * [1.0, 100.0]))
    with pytest.raises(ValueError, match=r"the observed x\[1, 1\] is nan in the draws and 2 in the model"):
        nrm.predictive_density(idata, grid=X[:1], model=model_of(np.nan_to_num(X, nan=2.0)))
    nrm.predictive_density(idata, grid=X[:1], model=model_of(X * (1 + 1e-9)))


@pytest.mark.quick("slots")
@pytest.mark.parametrize("kind", ["groups", "slots"])
def test_other_kinds_of_partitions(kind):
    idata = drawn_from_prior(model_of(X, kind=kind), LABELS)
    with pytest.raises(ValueError, match="idata must hold draws of this model: the observed"):
        nrm.compute_log_likelihood(idata, model=model_of(X[::-1], kind=kind), var_name="z" if kind == "slots" else "x")


def test_files_and_thinned_draws(tmp_path):
    idata = drawn_from_prior(model_of(X), LABELS)
    idata.to_netcdf(tmp_path / "draws.nc")
    for same in (xr.open_datatree(tmp_path / "draws.nc"), idata.isel(draw=slice(0, None, 2), missing_dims="ignore")):
        nrm.predictive_density(same, grid=X[:1], model=model_of(X))
