"""Finding the partitions in results of sampling, whatever was done to these."""

import numpy as np
import pytest
import xarray as xr
from helpers import in_order

from pymc_nrm import stats
from pymc_nrm.common.marks import partition_number


@pytest.fixture
def idata(rng):
    """Two partitions, and variables that only look like one."""
    z, y = (in_order(rng.integers(3, size=(2, 20, n))) for n in (8, 5))
    posterior = xr.Dataset(
        {
            "z": (("chain", "draw", "obs"), z),
            "theta": (("chain", "draw", "obs"), rng.normal(size=z.shape)),
            "counts": (("chain", "draw", "site"), y),
            "poisson": (("chain", "draw", "site"), 1 + rng.poisson(3.0, size=y.shape)),
            "z_n_clusters": (("chain", "draw"), z.max(axis=2) + 1),
        },
        coords={"chain": [0, 1], "draw": np.arange(20), "obs": list("abcdefgh")},
    )
    return xr.DataTree.from_dict({"posterior": posterior, "observed_data": xr.Dataset({"x": ("obs", np.zeros(8))})})


def test_names(idata):
    assert stats.partition_names(idata) == stats.partition_names(idata["posterior"].to_dataset()) == ["z", "counts"]
    assert stats.partition_names(idata["posterior"]) == ["z", "counts"]


def marked(idata):
    posterior = idata["posterior"].to_dataset().copy()
    posterior["z"].attrs["partition"] = "z"
    return xr.DataTree.from_dict({"posterior": posterior})


def test_marked_variables_are_the_only_partitions(idata, tmp_path):
    tree = marked(idata)
    posterior = tree["posterior"].to_dataset()
    chains = [posterior.isel(chain=[chain]) for chain in (0, 1)]
    cases = [
        tree,
        posterior,
        tree.sel(draw=slice(0, None, 3)),
        posterior.isel(chain=1),
        posterior.isel(obs=[6, 2, 3]),
        xr.concat(chains, dim="chain"),
        through_netcdf(tree, str(tmp_path / "netcdf")),
        through_zarr(tree, str(tmp_path / "zarr")),
    ]
    for case in cases:
        assert stats.partition_names(case) == ["z"]


def test_variables_made_from_a_partition_are_none(idata):
    posterior = marked(idata)["posterior"].to_dataset()
    posterior["a"] = (posterior["z"] * 0).assign_attrs(posterior["z"].attrs)
    assert stats.partition_names(posterior) == ["z"]
    # A name that says nothing is as good as none.
    assert stats.partition_names(posterior.rename(z="y")) == ["y", "counts", "a"]


def test_variables_that_steps_have_moved_are_the_only_partitions(idata):
    numbers = np.full((2, 20), partition_number("z"))
    statistics = xr.Dataset({"partition_number": (("chain", "draw"), numbers)})
    tree = xr.DataTree.from_dict({"posterior": idata["posterior"], "sample_stats": statistics})
    assert stats.partition_names(tree) == stats.partition_names(tree.isel(chain=0)) == ["z"]


def test_draws(idata):
    z = idata["posterior"]["z"]
    draws = stats.partition_draws(idata, "z")
    xr.testing.assert_identical(draws, z)
    xr.testing.assert_identical(stats.partition_draws(z), z)
    xr.testing.assert_identical(stats.partition_draws(z.transpose("obs", "draw", "chain").astype("int16")), z)
    np.testing.assert_array_equal(stats.stack_draws(draws), np.concatenate([z[0], z[1]]))
    only = idata["posterior"].to_dataset().drop_vars("counts")
    xr.testing.assert_identical(stats.partition_draws(only), z)


def test_selections_of_draws(idata):
    z = idata["posterior"]["z"]
    for selected in (idata.isel(draw=slice(None, None, 3)), idata.isel(draw=slice(5, 6), chain=[1])):
        xr.testing.assert_identical(stats.partition_draws(selected, "z"), selected["posterior"]["z"])
    one = stats.partition_draws(idata["posterior"].to_dataset().isel(chain=1), "z")
    assert one.dims == ("chain", "draw", "obs")
    np.testing.assert_array_equal(one[0], z[1])
    assert stats.stack_draws(one.isel(draw=slice(4))).shape == (4, 8)


def test_selections_of_items_are_renamed(idata):
    part = idata["posterior"].to_dataset().isel(obs=[6, 2, 3])
    draws = stats.partition_draws(part, "z")
    before = idata["posterior"]["z"].values[:, :, [6, 2, 3]]
    np.testing.assert_array_equal(draws, in_order(before))
    assert draws.obs.values.tolist() == ["g", "c", "d"]


def through_zarr(idata, path):
    pytest.importorskip("zarr")
    idata.to_zarr(path, zarr_format=2)
    return xr.open_datatree(path, engine="zarr")


def through_netcdf(idata, path):
    if not {"netcdf4", "h5netcdf"} & set(xr.backends.list_engines()):
        pytest.skip("xarray has no library for trees in NetCDF")
    idata.to_netcdf(path)
    return xr.open_datatree(path)


def through_netcdf_of_the_group(idata, path):
    """The classic format, which knows 32 bits only and no groups."""
    idata["posterior"].to_dataset().to_netcdf(path, engine="scipy")
    return xr.open_dataset(path, engine="scipy")


@pytest.mark.parametrize("through", [through_zarr, through_netcdf, through_netcdf_of_the_group])
def test_files(idata, through, tmp_path):
    loaded = through(idata, str(tmp_path / "result"))
    assert sorted(stats.partition_names(loaded)) == ["counts", "z"]  # files may order variables by name
    for function in (stats.similarity, stats.point_estimate, stats.credible_ball, stats.assignment_uncertainty):
        kwargs = {} if function is stats.similarity else {"random_seed": 1}
        xr.testing.assert_equal(function(loaded, var_name="z", **kwargs), function(idata, var_name="z", **kwargs))
        with pytest.raises(ValueError, match="var_name must be given, one of 'z', 'counts': there are several"):
            function(idata)


def test_errors(idata):
    posterior = idata["posterior"].to_dataset()
    cases = [
        (idata, "w", ValueError, "var_name must be a variable .*; got 'w'; partitions are: 'z', 'counts'"),
        (idata, "theta", TypeError, "theta must hold integers; got float64"),
        (idata, "z_n_clusters", ValueError, "z_n_clusters must have dimensions chain, draw and one of items"),
        (posterior[["theta"]], None, ValueError, "idata has no partition: .*variables are: 'theta'"),
        (posterior - 5, "z", ValueError, r"labels of z must be from 0 to 1080; got -5 to"),
        (posterior * 10**6, "z", ValueError, r"labels of z must be from 0 to 1080; got 0 to"),
        (posterior.isel(draw=0), "z", ValueError, "z must have dimensions chain, draw and one of items"),
        (posterior["z"].stack(sample=("chain", "draw")), None, ValueError, "z must have dimensions chain, draw"),
        (idata["observed_data"].to_dataset(), None, ValueError, "idata has no partition: .*variables are: 'x'"),
        (posterior["z"].values, None, TypeError, "idata must be a DataTree, a Dataset or a DataArray; got ndarray"),
    ]
    for data, name, error, message in cases:
        with pytest.raises(error, match=message):
            stats.partition_draws(data, name)
