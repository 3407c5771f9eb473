"""Parameters of the clusters of an estimate, free of the names of slots."""

import numpy as np
import pytest
import xarray as xr

import pymc_nrm as nrm

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
    result = nrm.cluster_parameters(posterior, ESTIMATE)
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
    expected = nrm.cluster_parameters(idata, estimate.labels.values.tolist())
    for given in (None, estimate, estimate.labels):
        xr.testing.assert_identical(nrm.cluster_parameters(idata, given), expected)
    sizes = expected["size"].values
    assert sizes.tolist() == sorted(sizes, reverse=True)


def test_entries_of_other_slots_are_not_read(posterior):
    slots = posterior["z"].values
    for entry in np.ndindex(2, 7, 5):
        if entry[2] not in slots[entry[:2]]:
            posterior["scale"].values[entry] = np.inf
    assert np.isfinite(nrm.cluster_parameters(posterior, ESTIMATE)["scale"]).all()


def test_one_chain_and_names(posterior):
    one = nrm.cluster_parameters(posterior.sel(chain=1), ESTIMATE, "scale", var_name="z")
    whole = nrm.cluster_parameters(posterior, ESTIMATE, ["scale"])
    np.testing.assert_array_equal(one["scale"][0], whole["scale"][1])
    assert set(one.data_vars) == {"scale"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"var_names": "slop"}, ValueError, "var_names must be in the posterior, .*; got 'slop'"),
        ({"var_names": 3}, TypeError, "var_names must be a string or a list of at least one string; got 3"),
        ({"var_names": ["alpha"]}, ValueError, "var_names must have an entry for each slot .* 'alpha' has"),
        ({"var_name": "w"}, ValueError, "var_names must be given, since no .* of 'w'"),
        ({"estimate": [0, 1]}, ValueError, r"estimate must have shape \(6,\)"),
        ({"estimate": np.full(6, 0.5)}, TypeError, "estimate must hold integers"),
    ],
)
def test_errors(posterior, arguments, error, message):
    with pytest.raises(error, match=message):
        nrm.cluster_parameters(posterior, **{"estimate": ESTIMATE, **arguments})


def test_several_partitions_need_a_name(posterior):
    posterior["w"] = posterior["z"].assign_attrs(partition="w")
    posterior["level"] = posterior["scale"].assign_attrs(slots_of="w")
    with pytest.raises(ValueError, match=r"var_name must be the name of one partition, of \['w', 'z'\]; got None"):
        nrm.cluster_parameters(posterior, ESTIMATE)
    assert set(nrm.cluster_parameters(posterior, ESTIMATE, var_name="w").data_vars) == {"level"}
    assert nrm.cluster_parameters(posterior, ESTIMATE, "slope").attrs["partition"] == "z"
