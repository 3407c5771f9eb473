"""What runs of flat partitions guarantee holds for nested ones: other data, stored draws, workers, resumed runs."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.exceptions import SamplingError

import pymc_nrm as nrm
from pymc_nrm.common.marks import partition_number
from pymc_nrm.posterior.label_dependence import changed_by_renaming
from tests.nested.comparison import HalfDiffusion, diffusion
from tests.tools.same_results import assert_same, stop_at

B = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 0, 1]])
Y = np.array([[0.0, 0.4], [0.3, 0.1], [4.0, 4.2], [4.4, 3.9], [9.1, 0.2], [9.4, 0.1]])
DATA = {"h": B, "t": Y}
GROUPS = ["b", "a", "b", "c", "a", "c"]
OPTIONS = {"draws": 30, "tune": 10, "chains": 2, "cores": 1, "random_seed": 1, "quiet": True, "progressbar": False}


def add_partition(name, X, **items):
    """A nested partition and its data: ``h`` with weights, ``t`` with a tree family."""
    if name == "h":
        weights = nrm.nested.HierarchicalDirichletProcess(1.0, 1.5)
        h = nrm.nested.NestedPartition("h", nrm.DirichletProcess(1.0), 2, weights, **items)
        nrm.Mixture("x", h, nrm.BernoulliBeta(0.6, 0.6), observed=X)
    else:
        t = nrm.nested.NestedPartition("t", nrm.DirichletProcess(1.0), 3, **items)
        nrm.Mixture("y", t, nrm.nested.NormalDiffusion(4.0, [2.0, 1.0, 1.0, 1.0], np.eye(2), 4.0), observed=X)


def make_model(name, dims=True):
    """Model of one nested partition, whose data may change."""
    coords = {"animal": list("abcdef"), "feature": range(DATA[name].shape[1])}
    with pm.Model(coords=coords if dims else None) as model:
        X = pm.Data("X", DATA[name], dims=("animal", "feature") if dims else None)
        add_partition(name, X, **({"dims": "animal"} if dims else {"n": X.shape[0]}))
    return model


def together():
    """A flat and three nested partitions in one model, one with known paths, and a step of the flat one."""
    with pm.Model(coords={"animal": list("abcdef")}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="animal")
        nrm.Mixture("counts", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9, 20, 22])
        add_partition("h", B, dims="animal")
        k = nrm.nested.NestedPartition(
            "k", weights=nrm.nested.HierarchicalDirichletProcess(1.0, 1.5), paths=GROUPS, dims="animal"
        )
        nrm.Mixture("v", k, nrm.BernoulliBeta(0.6, 0.6), observed=B)
        add_partition("t", Y, dims="animal")
        return {"model": model, "step": [nrm.steps.MarginalGibbs([z])]}


@pytest.fixture(scope="module")
def model_of_all():
    return together()


@pytest.fixture(scope="module")
def idata(model_of_all):
    return nrm.sample(**OPTIONS, **model_of_all)


@pytest.mark.slow
def test_statistics_of_each_partition(idata):
    groups, stats = idata["partition_stats"], idata["sample_stats"]
    names = {"z", "h", "h_components", "k", "k_components", "t"}
    assert set(groups.children) == names == {name.split("[")[0] for name in nrm.summary(idata).index}
    assert sorted(stats["partition"].values) == ["h", "k", "t", "z"]
    for name in ("z", "h", "k", "t"):
        np.testing.assert_array_equal(groups[name]["log_joint"], stats["log_joint"].sel(partition=name))
    assert (idata.posterior["k"][..., 0] == [0, 1, 0, 2, 1, 2]).all()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_draws_are_stored_and_read(idata, tmp_path, suffix):
    path = tmp_path / f"draws.{suffix}"
    if suffix == "nc":
        idata.to_netcdf(path)
        found = xr.open_datatree(path)
    else:
        idata.to_zarr(path)
        found = xr.open_datatree(path, engine="zarr").load()
    assert nrm.stats.nested_names(found) == ["h", "k", "t"]
    assert str(nrm.nested.consensus_tree(found, var_name="t")) == str(nrm.nested.consensus_tree(idata, var_name="t"))
    assert sorted(nrm.summary(found).index) == sorted(nrm.summary(idata).index)


@pytest.mark.slow
def test_pymc_samples_the_same(idata, model_of_all):
    options = {key: value for key, value in OPTIONS.items() if key != "quiet"}
    with model_of_all["model"]:
        found = pm.sample(**options, step=model_of_all["step"])
    for name in "hk":
        found["posterior"][f"{name}_components"] = nrm.stats.component_draws(found, name)
    assert_same(found["posterior"], idata["posterior"])
    assert nrm.stats.nested_names(found) == ["h", "k", "t"]
    xr.testing.assert_equal(nrm.stats.levels(found, "h").drop_attrs(), nrm.stats.levels(idata, "h").drop_attrs())


@pytest.mark.slow
def test_cores_and_storage_change_nothing(idata, model_of_all):
    assert_same(nrm.sample(**(OPTIONS | {"cores": 2}), **model_of_all), idata)
    compact = nrm.sample(**OPTIONS, **model_of_all, label_storage="compact")
    assert_same(compact["posterior"], idata["posterior"], of_types=False)
    assert compact.posterior["t"].dtype.itemsize == compact.posterior["k_components"].dtype.itemsize == 1
    assert "k_components" not in nrm.sample(**OPTIONS, **model_of_all, label_storage="none").posterior
    assert compact.posterior["t"].attrs["nested_partition"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
def test_a_stopped_run_resumes(name, tmp_path):
    model, X = make_model(name), DATA[name]
    settings = {"checkpoint": tmp_path, "seconds_between_checkpoints": 0, "callback": stop_at(1, 20)}
    stopped = nrm.sample(**OPTIONS, model=model, **settings)
    assert stopped.posterior.sizes["chain"] * stopped.posterior.sizes["draw"] < 60
    found = nrm.resume(tmp_path, model=model, cores=1, quiet=True, progressbar=False)
    assert found.posterior[name].shape[:3] == (2, 30, len(X))
    assert_same(found, nrm.sample(**OPTIONS, model=model))


@pytest.mark.slow
@pytest.mark.parametrize("dims", [True, False])
@pytest.mark.parametrize("name", DATA)
def test_data_of_other_items(name, dims):
    model, X = make_model(name, dims), DATA[name]
    with model:
        step = nrm.nested.NestedGibbs([model[name]])
    for rows in (X[:4], np.vstack([X, X]), X):
        coords = {"animal": range(len(rows))} if dims else None
        with model:
            pm.set_data({"X": rows}, coords=coords)
            found = nrm.sample(**OPTIONS, step=step)
        assert found.posterior[name].shape[:3] == (2, 30, len(rows))
        if dims:
            assert found.posterior[name].dims[2] == "animal"
            assert len(found.posterior["animal"]) == len(rows)
        nrm.nested.consensus_tree(found)
        assert partition_number(name) in found.sample_stats["partition_number"]


def test_data_beyond_doubles_are_refused_at_the_start():
    with pm.Model() as model:
        add_partition("t", Y * np.array([[1e18, 1.0]]), n=6)
    with pytest.raises(ValueError, match="data of 'y'"), model:
        nrm.nested.NestedGibbs([model["t"]])


def test_levels_may_change_when_nodes_are_renamed():
    model = make_model("t")
    with model:
        pm.Deterministic("level", model["t"][:, 0])
    assert changed_by_renaming(model, {})["level"] == "t"


@pytest.mark.slow
def test_a_tree_family_whose_graph_and_kernels_disagree_is_refused_at_the_start():
    with pm.Model() as model:
        step = diffusion(HalfDiffusion(4.0, [1.0, 2.0, 1.0], 2.0, 1.0))
        with pytest.raises(
            SamplingError, match="of partition 't' where a chain starts is .* by the graph of the model"
        ):
            nrm.sample(model=model, step=step, **OPTIONS)
