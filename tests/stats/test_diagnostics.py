"""Which variables of a result are partitions, quantities of their draws, whose statistics are whose, and groups."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy.stats import entropy as entropy_of

import pymc_nrm as nrm
from pymc_nrm import stats
from pymc_nrm.common.marks import partition_number
from pymc_nrm.stats import partition_quantities
from pymc_nrm.stats.contingency import cluster_sizes
from pymc_nrm.stats.convergence import convergence_table, halves
from pymc_nrm.stats.diagnostics import acceptance, diagnose
from tests.helpers import in_order

SAMPLE = ("chain", "draw")


def make_labels(seed, n_chains=2, n_draws=60, n=6, k=4):
    return in_order(np.random.default_rng(seed).integers(k, size=(n_chains, n_draws, n)))


def entropy(labels):
    return entropy_of(np.bincount(labels))


def step_stats(labels, seed):
    rng = np.random.default_rng(seed)
    rows = labels.reshape(-1, labels.shape[-1])
    shape = labels.shape[:2]
    proposed = rng.integers(0, 4, size=shape)
    return {
        "n_clusters": labels.max(axis=2) + 1,
        "entropy": np.array([entropy(row) for row in rows]).reshape(shape),
        "log_joint": rng.normal(size=shape),
        "n_moved": rng.integers(0, 6, size=shape),
        "n_splits_proposed": proposed,
        "n_splits_accepted": rng.integers(0, proposed + 1),
    }


def make_idata(partitions, order=None, lacking=()):
    """A result with some partitions, and statistics of their steps as PyMC stores them."""
    reported = [step_stats(partitions[name], seed) for seed, name in enumerate(order or partitions)]
    for name, statistics in zip(order or partitions, reported, strict=True):
        statistics["partition_number"] = np.full(statistics["n_clusters"].shape, partition_number(name))
    for name in lacking:
        del reported[-1][name]
    stats_vars = {}
    for name in reported[0]:
        columns = [column[name] for column in reported if name in column]
        if len(columns) == 1:
            stats_vars[name] = (SAMPLE, columns[0])
        else:
            stats_vars[name] = ((*SAMPLE, f"{name}_dim_0"), np.stack(columns, axis=-1))
    shape = next(iter(partitions.values())).shape
    coords = {"chain": np.arange(shape[0]), "draw": np.arange(shape[1])}
    posterior = {name: ((*SAMPLE, f"{name}_dim_0"), labels) for name, labels in partitions.items()}
    posterior["x"] = (SAMPLE, np.random.default_rng(9).normal(size=shape[:2]))
    groups = {"posterior": xr.Dataset(posterior, coords), "sample_stats": xr.Dataset(stats_vars, coords)}
    return xr.DataTree.from_dict(groups), dict(zip(order or partitions, reported, strict=True))


@pytest.fixture
def two():
    partitions = {"z": make_labels(1), "w": make_labels(2, n=4)}
    # The order of the steps is not that of the variables.
    return make_idata(partitions, order=["w", "z"])


def test_sizes_of_clusters_in_several_blocks(rng):
    labels = np.concatenate([np.zeros((30, 1), dtype=int), rng.integers(3, size=(30, 300_000))], axis=1)
    expected = [np.sort(np.bincount(row, minlength=3))[::-1] for row in labels]
    np.testing.assert_array_equal(cluster_sizes(labels), expected)


def test_quantities_by_hand():
    labels = np.array([[[0, 0, 0, 0], [0, 1, 0, 1]], [[0, 1, 2, 3], [0, 0, 0, 1]]])
    draws = xr.DataArray(labels, dims=("chain", "draw", "tree"), coords={"chain": [3, 5], "draw": [10, 12]}, name="z")
    result = partition_quantities(draws)
    assert result["n_clusters"].values.tolist() == [[1, 2], [4, 2]]
    assert result["largest_cluster"].values.tolist() == [[4, 2], [1, 3]]
    third = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    np.testing.assert_allclose(result["entropy"], [[0, math.log(2)], [math.log(4), third]])
    assert not np.signbit(result["entropy"]).any()
    assert result["cluster_sizes"].sel(rank=1).equals(result["largest_cluster"].assign_coords(rank=1))
    assert result["cluster_sizes"].values[1].tolist() == [[1, 1, 1, 1], [3, 1, 0, 0]]
    assert result["chain"].values.tolist() == [3, 5] and result["draw"].values.tolist() == [10, 12]
    assert "log_joint" not in result and "no group sample_stats" in result.attrs["log_joint"]


@pytest.mark.parametrize("name", ["z", "w"])
def test_each_partition_has_its_own_log_joint(two, name):
    idata, reported = two
    result = partition_quantities(idata, name)
    np.testing.assert_array_equal(result["log_joint"], reported[name]["log_joint"])
    assert "log_joint" not in result.attrs


@pytest.mark.parametrize(
    "select",
    [{"draw": slice(10, 40)}, {"draw": slice(None, None, 7)}, {"chain": [1]}, {"draw": [5, 2, 9], "chain": [1, 0]}],
    ids=str,
)
def test_log_joint_of_selected_draws(two, select):
    idata, reported = two
    expected = xr.DataArray(reported["z"]["log_joint"], dims=SAMPLE).isel(select)
    for selected in (
        idata.isel(select),
        # Only the posterior was thinned: statistics are looked up by the coordinates of the draws.
        xr.DataTree.from_dict({"posterior": idata["posterior"].isel(select), "sample_stats": idata["sample_stats"]}),
    ):
        np.testing.assert_array_equal(partition_quantities(selected, "z")["log_joint"], expected)


def test_one_chain_without_its_dimension(two):
    idata, reported = two
    result = partition_quantities(idata.isel(chain=1), "z")
    np.testing.assert_array_equal(result["log_joint"][0], reported["z"]["log_joint"][1])
    # The number of the chain is gone: nothing tells which statistics belong to these draws.
    selected = xr.DataTree.from_dict(
        {"posterior": idata["posterior"].isel(chain=1), "sample_stats": idata["sample_stats"]}
    )
    assert "different draws" in partition_quantities(selected, "z").attrs["log_joint"]
    assert nrm.stats.add_diagnostics(selected)["partition_stats/z/pairs"].attrs["parts"] == "halves"


@pytest.mark.parametrize("name", ["z", "w"])
def test_twins_are_told_apart_by_the_numbers_of_their_partitions(name):
    """Chains put together from two runs have their steps in two orders."""
    labels = make_labels(1)
    idata, reported = make_idata({"z": labels, "w": labels})
    numbers = np.array([partition_number("z"), partition_number("w")])
    stats = idata["sample_stats"].to_dataset()
    stats["partition_number"] = (stats["n_clusters"].dims, np.broadcast_to(numbers, stats["n_clusters"].shape).copy())
    for array in stats.data_vars.values():
        array.values[1] = array.values[1][:, ::-1]
    marked = xr.DataTree.from_dict({"posterior": idata["posterior"], "sample_stats": stats})
    quantities = partition_quantities(marked, name)
    np.testing.assert_array_equal(quantities["log_joint"], reported[name]["log_joint"])
    moved = acceptance(marked, quantities)["n_moved_per_draw"]
    np.testing.assert_allclose(moved, reported[name]["n_moved"].mean(axis=1))


def test_statistics_of_all_items_are_not_those_of_some(two):
    idata, _ = two
    stats = idata["sample_stats"].to_dataset()
    numbers = np.array([partition_number("w"), partition_number("z")])
    stats["partition_number"] = (stats["n_clusters"].dims, np.broadcast_to(numbers, stats["n_clusters"].shape))
    some = idata["posterior"].to_dataset().isel(z_dim_0=[0, 1])
    marked = xr.DataTree.from_dict({"posterior": some, "sample_stats": stats})
    assert "n_clusters in sample_stats differs" in partition_quantities(marked, "z").attrs["log_joint"]


def test_log_joint_is_never_guessed(two):
    idata, _ = two
    shifted = idata["posterior"].isel(draw=slice(1, 31)).to_dataset().assign_coords(draw=np.arange(30))
    other = xr.DataTree.from_dict({"posterior": shifted, "sample_stats": idata["sample_stats"]})
    assert "n_clusters in sample_stats differs" in partition_quantities(other, "z").attrs["log_joint"]
    without = shifted.drop_vars("draw")
    other = xr.DataTree.from_dict({"posterior": without, "sample_stats": idata["sample_stats"]})
    assert "different draws" in partition_quantities(other, "z").attrs["log_joint"]
    labels = make_labels(1)
    twins, _ = make_idata({"z": labels, "w": labels})
    twins["sample_stats"] = xr.DataTree(twins["sample_stats"].to_dataset().drop_vars("partition_number"))
    assert "does not say which step" in partition_quantities(twins, "z").attrs["log_joint"]
    lacking, _ = make_idata({"z": labels, "w": make_labels(2)}, lacking=["log_joint"])
    assert "not every step" in partition_quantities(lacking, "z").attrs["log_joint"]
    bare = xr.DataTree.from_dict(
        {"posterior": idata["posterior"], "sample_stats": idata["sample_stats"].to_dataset()[["n_moved"]]}
    )
    assert "does not say which step" in partition_quantities(bare, "z").attrs["log_joint"]
    for tree in (other, twins, lacking, bare):
        assert "log_joint" not in partition_quantities(tree, "z")
        assert "log_joint" not in diagnose(tree, "z")["convergence"]["quantity"].values


@pytest.mark.parametrize("name", ["z", "w"])
def test_acceptance_of_each_kind_of_move(two, name):
    idata, reported = two
    result = acceptance(idata, partition_quantities(idata, name))
    assert result["kind"].values.tolist() == ["split"]
    proposed, accepted = (reported[name][f"n_splits_{what}"].sum(axis=1) for what in ("proposed", "accepted"))
    np.testing.assert_array_equal(result["n_proposed"].sel(kind="split"), proposed)
    np.testing.assert_allclose(result["acceptance_rate"].sel(kind="split"), accepted / proposed)
    np.testing.assert_allclose(result["n_moved_per_draw"], reported[name]["n_moved"].mean(axis=1))
    assert result.attrs["left_out"] == ""


def test_moves_of_unknown_steps_are_left_out():
    partitions = {"z": make_labels(1), "w": make_labels(2)}
    idata, _ = make_idata(partitions, lacking=["n_splits_proposed", "n_splits_accepted"])
    result = acceptance(idata, partition_quantities(idata, "z"))
    assert set(result.data_vars) == {"n_moved_per_draw"}
    assert result.attrs["left_out"] == "n_splits_accepted, n_splits_proposed"


def test_table_of_convergence(rng):
    iid = rng.normal(size=(4, 1000))
    apart = iid + 3 * np.arange(4)[:, None]
    stuck = np.repeat([1.0, 2.0, 2.0, 2.0], 1000).reshape(4, 1000)
    arrays = {"iid": iid, "apart": apart, "stuck": stuck, "constant": np.ones((4, 1000))}
    table = convergence_table({name: xr.DataArray(array, dims=SAMPLE) for name, array in arrays.items()})
    row = table.sel(quantity="iid")
    assert abs(row.rhat - 1) < 0.01 and row.ess_bulk > 3200 and row.ess_tail > 3200
    assert float(row.mcse_mean) == pytest.approx(1 / math.sqrt(4000), rel=0.15)
    assert table.rhat.sel(quantity="apart") > 1.5 and table.rhat.sel(quantity="stuck") == np.inf
    assert table["constant"].values.tolist() == [False, False, False, True]
    assert np.isnan([table[n].sel(quantity="constant") for n in ("rhat", "ess_bulk", "ess_tail", "mcse_mean")]).all()


def test_one_chain_has_an_r_hat(rng):
    x = rng.normal(size=(1, 400))
    drift = x + np.linspace(0, 4, 400)
    table = convergence_table({name: xr.DataArray(a, dims=SAMPLE) for name, a in (("x", x), ("drift", drift))})
    assert abs(table.rhat[0] - 1) < 0.03 and table.rhat[1] > 1.2
    assert halves(np.arange(6)[None]).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_groups_are_replaced(two):
    idata, _ = two
    nrm.stats.add_diagnostics(idata)
    thinned = idata.isel(draw=slice(None, 30))
    del thinned["posterior"]["w"]
    nrm.stats.add_diagnostics(thinned)
    assert set(thinned["partition_stats"].children) == {"z"}
    expected = diagnose(thinned, "z")
    for name in ("", "/convergence", "/pairs", "/acceptance"):
        assert thinned[f"partition_stats/z{name}"].to_dataset().equals(expected[name or "."].to_dataset())
    nrm.stats.add_diagnostics(idata, "z", n_pairs=3, random_seed=5)
    assert idata["partition_stats/z/pairs"].sizes["pair"] == 3 and idata["partition_stats/w/pairs"].sizes["pair"] == 6


def test_wrong_arguments(two):
    idata, _ = two
    with pytest.raises(TypeError, match="idata must be a DataTree; got Dataset"):
        nrm.stats.add_diagnostics(idata["posterior"].to_dataset())
    with pytest.raises(ValueError, match="partition"):
        nrm.stats.add_diagnostics(xr.DataTree.from_dict({"posterior": idata["posterior"].to_dataset()[["x"]]}))
    with pytest.raises(ValueError, match="nothing"):
        nrm.stats.add_diagnostics(idata, "nothing")
    with pytest.raises(ValueError, match="z"):
        partition_quantities(idata)


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
        with pytest.raises(ValueError, match="var_name must be given, one of 'z', 'counts'"):
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
