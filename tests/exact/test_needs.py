"""What steps and functions need of a family: messages, and a family that has no more than it must have."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from cases import FAMILIES
from helpers import mixture_of

import pymc_nrm as nrm
from pymc_nrm.families import PoissonGamma, base, conjugate
from pymc_nrm.measures.base import weights
from pymc_nrm.partitions.clusters import build_state, log_target, log_target_by_items
from pymc_nrm.testing import exact_posterior, kernel_inputs


class Predictive(PoissonGamma):
    """Counts without what conjugacy gives."""


for generic in (conjugate.log_marginal, conjugate.draw_parameters, conjugate.draw_item):
    generic.register(Predictive)(generic.dispatch(object))

X = FAMILIES["PoissonGamma"].X


def model_of(family):
    return mixture_of(family, X, nrm.NormalizedInverseGaussian(0.6))


@pytest.mark.filterwarnings("ignore:PublishedTreeGuided does not leave")
@pytest.mark.parametrize("step", [nrm.TreeGuided, nrm.SplitMerge, nrm.published.PublishedTreeGuided])
def test_a_step_says_what_it_needs_and_which_does_not(step):
    message = f"Predictive has no log_marginal, which {step.__name__} needs; MarginalGibbs does not"
    with model_of(Predictive()) as model, pytest.raises(NotImplementedError, match=f"^{message}$"):
        step([model["z"]])


@pytest.mark.slow
def test_gibbs_without_log_marginals_makes_the_same_draws():
    chains = []
    for family_class in (Predictive, PoissonGamma):
        with model_of(family_class(*FAMILIES["PoissonGamma"].family)) as model:
            step = nrm.MarginalGibbs([model["z"]], rng=1)
        point, draws = {"z": np.arange(4)}, []
        for _ in range(200):
            point, [stats] = step.step(point)
            draws.append([*point["z"], stats["log_joint"]])
        chains.append(draws)
    np.testing.assert_allclose(*chains, rtol=1e-12)


def test_log_target_by_items_is_that_of_log_marginals():
    family, data = kernel_inputs(*FAMILIES["PoissonGamma"])
    for labels in ([0, 0, 0, 0], [0, 1, 0, 2], [0, 1, 2, 3]):
        state = build_state(np.array(labels), family, data)
        table = weights(nrm.NormalizedInverseGaussian(0.6), 4, 0.3)
        by_items = log_target_by_items(state, table, family, data)
        assert by_items == pytest.approx(log_target(state, table, family), rel=1e-13)


POSTERIOR = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0, 0]]])})
DP, BOTH = nrm.DirichletProcess(1.0), "draw_parameters and no draw_item"


@pytest.mark.parametrize(
    ("call", "lacking", "name"),
    [
        (lambda m: nrm.sample_cluster_parameters(POSTERIOR, m), "draw_parameters", "sample_cluster_parameters"),
        (lambda m: nrm.sample_posterior_predictive(POSTERIOR, m), BOTH, "sample_posterior_predictive"),
        (lambda m: nrm.sample_random_measure(POSTERIOR, m), "draw_parameters", "sample_random_measure"),
        (lambda m: pm.draw(m["x"]), BOTH, "a forward draw of a Mixture"),
        (lambda m: nrm.trees.bhc(X, Predictive(), DP), "log_marginal", "Bayesian hierarchical clustering"),
        (lambda m: exact_posterior(DP, Predictive(), X), "log_marginal", "exact_posterior"),
    ],
)
def test_a_function_says_what_it_needs(call, lacking, name):
    message = f"Predictive has no {lacking}, which {name}"
    with pytest.raises((NotImplementedError, TypeError), match=message):
        call(model_of(Predictive()))


def test_a_mixture_needs_a_symbolic_likelihood():
    class Silent(PoissonGamma):
        pass

    base.log_likelihood.register(Silent)(base.log_likelihood.dispatch(object))
    with pytest.raises(NotImplementedError, match="Silent has no log_likelihood, which Mixture needs"):
        model_of(Silent())
