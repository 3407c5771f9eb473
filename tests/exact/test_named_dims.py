"""Models written with ``pymc.dims`` against the enumerations of their twins without names."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from tests.cases import MEASURES
from tests.exact import test_slot_steps as slot_steps
from tests.exact import test_weighted_components as weighted
from tests.helpers import assert_law, assert_means

pmd = pytest.importorskip("pymc.dims")
pytestmark = [pytest.mark.usefixtures("compiled"), pytest.mark.slow]


def model_of_slots(measure, K, counts=False):
    with pm.Model(coords={"item": range(4), "cluster": range(K)}) as model:
        z = nrm.Partition("z", MEASURES[measure], dims="item", max_clusters="cluster")
        tau = pmd.LogNormal("tau", 0.3, 0.4)
        mean = pmd.Normal("mean", 0, tau, dims="cluster")
        data = pmd.Data("data", slot_steps.Y, dims="item")
        pmd.Normal("y", mean.isel(cluster=("item", z)), slot_steps.SD, observed=data)
        if counts:
            counted = pmd.Data("counted", slot_steps.COUNTS, dims="item")
            nrm.Mixture("count", z, nrm.PoissonGamma(2.0, 1.0), observed=counted)
    return model


@pytest.mark.parametrize(
    ("measure", "K", "options"),
    [("DP", 6, {}), ("NGG", 3, {"counts": True, "n_sweeps": 1}), ("PY below 0", 20, {"mean_empty": 2.0})],
)
def test_labels_as_an_index_have_the_posterior(measure, K, options, monkeypatch):
    monkeypatch.setattr(slot_steps, "make_model", model_of_slots)
    slot_steps.check(measure, K, 10_000, **options)


def model_of_weights(has_means, has_mixture):
    with pm.Model(coords={"item": range(4), "component": range(2)}) as model:
        slope = pmd.Normal("slope", 0.0, weighted.PRIOR_SD)
        x = pmd.Data("predictor", weighted.X, dims="item")
        second = pmd.as_xtensor(np.array([0.0, 1.0]), dims=("component",))
        # Components come first here.
        z = nrm.Partition("z", log_weights=second * (weighted.OFFSET + slope * x), dims="item")
        data = pmd.Data("data", weighted.Y, dims="item")
        if has_means:
            mean = pmd.Normal(
                "mean", pmd.as_xtensor(weighted.PRIOR_MEANS, dims=("component",)), weighted.PRIOR_SD, dims="component"
            )
            pmd.Normal("y", mean.isel(component=("item", z)), weighted.SD, observed=data)
        if has_mixture:
            nrm.Mixture("x", z, weighted.FAMILY, observed=data)
    return model


@pytest.mark.parametrize(("has_means", "has_mixture"), [(True, False), (True, True)])
@pytest.mark.parametrize("make_steps", [weighted.summed_out, weighted.given_labels])
def test_weights_have_the_posterior(has_means, has_mixture, make_steps):
    labels, slopes = weighted.run(model_of_weights(has_means, has_mixture), make_steps, 20_000, seed=has_mixture)
    probabilities, mean, square = weighted.posterior(has_means, has_mixture)
    assert_law(labels, weighted.LABELINGS, probabilities)
    assert_means({"slope": slopes, "square": slopes**2}, {"slope": mean, "square": square})
