"""Results in which scalars of every draw, or parameters of the clusters of an estimate, take the place of labels."""

import arviz_plots
import arviz_stats
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from tests.helpers import refused


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
    result = nrm.stats.without_labels(idata)
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
    expected = nrm.stats.without_labels(idata)["posterior"].to_dataset()
    xr.testing.assert_identical(nrm.stats.without_labels(posterior), expected)
    xr.testing.assert_identical(nrm.stats.without_labels(idata["posterior"]).to_dataset(), expected)
    one = nrm.stats.without_labels(posterior.isel(chain=1))
    xr.testing.assert_identical(one, expected.isel(chain=1))


def test_variables_of_the_model_are_kept_and_truth_values_are_numbers(idata):
    posterior = idata["posterior"].to_dataset().assign(z_n_clusters=(("chain", "draw"), np.zeros((2, 200))))
    posterior["together"] = posterior["z"][..., 0] == posterior["z"][..., 1]
    result = nrm.stats.without_labels(posterior)
    assert (result["z_n_clusters"] == 0).all()
    np.testing.assert_array_equal(result["together"], posterior["together"])
    assert "together" in arviz_stats.summary(result).index
    assert "together" in nrm.summary(posterior).index


def test_first_things_that_users_of_arviz_type(idata):
    result = nrm.stats.without_labels(idata)
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
        options = {"chains": 1, "cores": 1, "random_seed": 1, "quiet": True, "step": [nrm.steps.MarginalGibbs([z])]}
        idata = nrm.sample(50, tune=5, **options)
        drawn = pm.sample_posterior_predictive(idata, var_names=["x", "z"], progressbar=False, random_seed=1)
    np.testing.assert_array_equal(drawn["posterior_predictive"]["z"], idata["posterior"]["z"])


SAMPLE = ("chain", "draw")
ESTIMATE = np.array([3, 3, 3, 1, 1, 2])


@pytest.fixture
def posterior(rng):
    slots = rng.integers(5, size=(2, 7, 6))
    coords = {"chain": [0, 1], "draw": np.arange(7), "item": list("abcdef"), "covariate": ["age", "dose"]}
    values = {
        "z": ((*SAMPLE, "item"), slots, {"partition": "z"}),
        "slope": ((*SAMPLE, "slot", "covariate"), rng.normal(size=(2, 7, 5, 2)), {"slots_of": "z"}),
        "scale": ((*SAMPLE, "slot"), rng.gamma(2.0, size=(2, 7, 5)), {"slots_of": "z"}),
        "alpha": (SAMPLE, rng.normal(size=(2, 7))),
    }
    return xr.Dataset(values, coords)


def test_means_over_items(posterior):
    result = nrm.stats.cluster_parameters(posterior, ESTIMATE)
    assert result["cluster"].values.tolist() == [3, 1, 2] and result["size"].values.tolist() == [3, 2, 1]
    assert set(result.data_vars) == {"slope", "scale"}
    assert tuple(result["slope"].dims) == (*SAMPLE, "cluster", "covariate")
    assert result["covariate"].values.tolist() == ["age", "dose"]
    for chain in range(2):
        for draw in range(7):
            slots = posterior["z"].values[chain, draw]
            for name in ("slope", "scale"):
                items = posterior[name].values[chain, draw][slots]
                expected = [items[label == ESTIMATE].mean(axis=0) for label in (3, 1, 2)]
                np.testing.assert_allclose(result[name].values[chain, draw], expected)


def test_default_estimate_and_forms_of_estimates(posterior):
    idata = xr.DataTree.from_dict({"posterior": posterior})
    estimate = nrm.point_estimate(idata, random_seed=0)
    expected = nrm.stats.cluster_parameters(idata, estimate.labels.values.tolist())
    for given in (None, estimate, estimate.labels):
        xr.testing.assert_identical(nrm.stats.cluster_parameters(idata, given), expected)
    sizes = expected["size"].values
    assert sizes.tolist() == sorted(sizes, reverse=True)


def test_entries_of_other_slots_are_not_read(posterior):
    slots = posterior["z"].values
    for entry in np.ndindex(2, 7, 5):
        if entry[2] not in slots[entry[:2]]:
            posterior["scale"].values[entry] = np.inf
    assert np.isfinite(nrm.stats.cluster_parameters(posterior, ESTIMATE)["scale"]).all()


def test_one_chain_and_names(posterior):
    one = nrm.stats.cluster_parameters(posterior.sel(chain=1), ESTIMATE, "scale", var_name="z")
    whole = nrm.stats.cluster_parameters(posterior, ESTIMATE, ["scale"])
    np.testing.assert_array_equal(one["scale"][0], whole["scale"][1])
    assert set(one.data_vars) == {"scale"}


test_errors = refused(
    lambda posterior, arguments: nrm.stats.cluster_parameters(posterior, **{"estimate": ESTIMATE, **arguments}),
    ({"var_names": "slop"}, ValueError, "var_names must be in the posterior, .*; got 'slop'"),
    ({"var_names": 3}, TypeError, "var_names must be a string or a list of at least one string; got 3"),
    ({"var_names": ["alpha"]}, ValueError, "var_names must have an entry for each slot .* 'alpha' has"),
    ({"var_name": "w"}, ValueError, "var_names must be given, since no .* of 'w'"),
    ({"estimate": [0, 1]}, ValueError, r"estimate must have shape \(6,\)"),
    ({"estimate": np.full(6, 0.5)}, TypeError, "estimate must hold integers"),
)


def test_several_partitions_need_a_name(posterior):
    posterior["w"] = posterior["z"].assign_attrs(partition="w")
    posterior["level"] = posterior["scale"].assign_attrs(slots_of="w")
    with pytest.raises(ValueError, match=r"var_name must be .*\['w', 'z'\]; got None"):
        nrm.stats.cluster_parameters(posterior, ESTIMATE)
    assert set(nrm.stats.cluster_parameters(posterior, ESTIMATE, var_name="w").data_vars) == {"level"}
    assert nrm.stats.cluster_parameters(posterior, ESTIMATE, "slope").attrs["partition"] == "z"
