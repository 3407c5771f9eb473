"""Results for ArviZ, in which scalars of every draw take the place of labels."""

import arviz_plots
import arviz_stats
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm


def canonical(labels):
    return np.where(labels == labels[..., :1], 0, 1)


@pytest.fixture
def idata(rng):
    """Two partitions of many items, as labels of tuning and of draws."""
    names = ("chain", "draw")

    def group(n_draws):
        labels = {"z": canonical(rng.integers(2, size=(2, n_draws, 60)))}
        labels |= {"w": canonical(rng.integers(2, size=(2, n_draws, 50)))}
        arrays = {name: ((*names, f"{name}_item"), array, {"partition": name}) for name, array in labels.items()}
        coords = {"chain": [0, 1], "draw": np.arange(n_draws)}
        return xr.Dataset({"x": (names, rng.normal(size=(2, n_draws))), **arrays}, coords, attrs={"thin": 2})

    return xr.DataTree.from_dict({"posterior": group(200), "warmup_posterior": group(30)})


def test_posterior_has_scalars_in_place_of_labels(idata):
    result = nrm.without_labels(idata)
    scalars = ("n_clusters", "entropy", "largest_cluster")
    assert list(result["posterior"].data_vars) == ["x", *(f"{name}_{scalar}" for name in "zw" for scalar in scalars)]
    assert all(array.dims == ("chain", "draw") for array in result["posterior"].data_vars.values())
    expected = nrm.stats.partition_quantities(idata, "w")
    np.testing.assert_array_equal(result["posterior"]["w_entropy"], expected["entropy"])
    assert list(result["warmup_posterior"].data_vars) == ["x"]
    assert result["posterior"].attrs["thin"] == 2
    assert {"z", "w"} <= set(idata["posterior"].data_vars) and {"z", "w"} <= set(idata["warmup_posterior"].data_vars)


def test_groups_and_single_chains_are_taken_as_well(idata):
    posterior = idata["posterior"].to_dataset()
    expected = nrm.without_labels(idata)["posterior"].to_dataset()
    xr.testing.assert_identical(nrm.without_labels(posterior), expected)
    xr.testing.assert_identical(nrm.without_labels(idata["posterior"]).to_dataset(), expected)
    one = nrm.without_labels(posterior.isel(chain=1))
    xr.testing.assert_identical(one, expected.isel(chain=1))


def test_variables_of_the_model_are_kept(idata):
    posterior = idata["posterior"].to_dataset().assign(z_n_clusters=(("chain", "draw"), np.zeros((2, 200))))
    assert (nrm.without_labels(posterior)["z_n_clusters"] == 0).all()


def test_truth_values_are_numbers(idata):
    posterior = idata["posterior"].to_dataset()
    together = (posterior["z"][..., 0] == posterior["z"][..., 1]).rename("together")
    result = nrm.without_labels(posterior.assign(together=together))
    np.testing.assert_array_equal(result["together"], together)
    assert "together" in arviz_stats.summary(result).index
    assert "together" in nrm.summary(posterior.assign(together=together)).index


def test_first_things_that_users_of_arviz_type(idata):
    result = nrm.without_labels(idata)
    table = arviz_stats.summary(result)
    assert len(table) == 7 and "z_entropy" in table.index
    arviz_plots.plot_trace(result, backend="none")
    arviz_plots.plot_forest(result, backend="none")
    assert (arviz_stats.ess(result)["z_n_clusters"] > 100).all()


def test_functions_of_pymc_find_labels_in_the_result_itself():
    """PyMC draws from the prior whatever it does not find among the variables of the posterior."""
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=5)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9, 20])
        options = {"chains": 1, "cores": 1, "random_seed": 1, "quiet": True, "step": [nrm.MarginalGibbs([z])]}
        idata = nrm.sample(50, tune=5, **options)
        drawn = pm.sample_posterior_predictive(idata, var_names=["x", "z"], progressbar=False, random_seed=1)
    np.testing.assert_array_equal(drawn["posterior_predictive"]["z"], idata["posterior"]["z"])
