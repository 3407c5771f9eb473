"""Moves and families of a user's own: moves have the enumerated posterior, and what a family lacks is named."""

import math

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.families import base, conjugate
from pymc_nrm.families.components import component_mean
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import weights
from pymc_nrm.partitions.clusters import build_state, log_target, log_target_by_items
from pymc_nrm.steps import Move
from pymc_nrm.steps.tree_guided import numbers_of_moves
from pymc_nrm.testing import exact_posterior, kernel_inputs
from tests.cases import QUIET, SMALL
from tests.exact.models import check_step, make_model, run
from tests.helpers import functions_of, mixture_of, refused
from tests.tools.wings import rows_of_wings

FAMILY = "PoissonGamma"


@kernel
def swap(state, family, data, i, j):
    a, b = state.labels[i], state.labels[j]
    for item, slot, sign in ((j, a, 1.0), (i, a, -1.0), (i, b, 1.0), (j, b, -1.0)):
        update_cache(family, state.statistics[slot], state.cache[slot], data, item, sign)
    state.labels[i], state.labels[j] = b, a


@kernel
def propose_swaps(rng, state, family, data, number, factor):
    n, n_moved = state.labels.shape[0], 0
    for _ in range(number):
        i, j = int(rng.random() * n), int(rng.random() * n)
        a, b = state.labels[i], state.labels[j]
        if a == b:
            continue
        log_ratio = -log_marginal(family, state.statistics[a]) - log_marginal(family, state.statistics[b])
        swap(state, family, data, i, j)
        log_ratio += log_marginal(family, state.statistics[a]) + log_marginal(family, state.statistics[b])
        if math.log(rng.random()) < factor * log_ratio:
            n_moved += 2
        else:
            swap(state, family, data, i, j)
    return state, n_moved


@kernel
def exchange(rng, state, weights, family, data, number):
    return propose_swaps(rng, state, family, data, number, 1.0)


@kernel
def exchange_at_random(rng, state, weights, family, data, number):
    """Wrong: it accepts whatever the data say."""
    return propose_swaps(rng, state, family, data, number, 0.0)


@pytest.mark.slow
def test_own_move_leaves_the_posterior_invariant(measure):
    moves = QUIET | {"exchange": Move(exchange, 3, needs=[log_marginal])}
    check_step(measure, FAMILY, nrm.steps.TreeGuided, moves=moves, n_cycles=1)


@pytest.mark.slow
def test_own_move_beside_the_default_moves():
    check_step("NGG", FAMILY, nrm.steps.TreeGuided, moves={"exchange": Move(exchange, 0.5)}, n_cycles=2)


@pytest.mark.slow
def test_own_move_is_made_and_counted():
    model = make_model("NGG", FAMILY)
    with model:
        moves = dict.fromkeys(QUIET, 0) | {"subtree_gibbs": 1, "exchange": Move(exchange, 50)}
        step = nrm.steps.TreeGuided([model["z"]], moves=moves, n_cycles=1)
    _, statistics = run(step, 4, np.random.default_rng(1))
    assert max(stats["n_moved"] for stats in statistics) > 4


def wrong_step(moves):
    with make_model("NGG", "CategoricalDirichlet, missing") as model:
        nrm.steps.TreeGuided([model["z"]], moves=moves)


test_wrong_moves_are_named = refused(
    lambda make_moves: wrong_step(make_moves()),
    (lambda: {"exchange": 3}, "unknown name 'exchange'; allowed are"),
    (lambda: {"tree_split_merge": Move(exchange)}, "unknown name 'tree_split_merge'"),
    (lambda: {"exchange": Move(exchange, -1)}, "exchange in moves .* -1"),
    (lambda: {"exchange": Move(exchange, needs=[component_mean])}, "no component_mean, which TreeGui"),
    (lambda: {"exchange": Move(lambda *arguments: arguments)}, "kernel of a Move must be a function made with kernel"),
    error=(NotImplementedError, TypeError, ValueError),
)


@pytest.mark.slow
def test_chains_continue_with_the_same_moves_only():
    model = make_model("NGG", FAMILY)
    with model:
        first, other = (
            nrm.steps.TreeGuided([model["z"]], moves={"own": Move(kernel)}) for kernel in (exchange, exchange_at_random)
        )
    assert first.options != other.options
    with pytest.raises(Exception, match="options"):
        other.sampling_state = first.sampling_state


LACKING = (conjugate.log_marginal, conjugate.draw_parameters, conjugate.draw_item)
# Counts without what conjugacy gives.
Predictive = type(
    "Predictive",
    (nrm.PoissonGamma,),
    functions_of(nrm.PoissonGamma) | {generic.__name__: generic.dispatch(object) for generic in LACKING},
)

X = SMALL["PoissonGamma"].X


def model_of(family):
    return mixture_of(family, X, nrm.NormalizedInverseGaussian(0.6))


@pytest.mark.slow
def test_gibbs_without_log_marginals_makes_the_same_draws():
    chains = []
    for family_class in (Predictive, nrm.PoissonGamma):
        with model_of(family_class(*SMALL["PoissonGamma"].family)) as model:
            step = nrm.steps.MarginalGibbs([model["z"]], rng=1)
        point, draws = {"z": np.arange(4)}, []
        for _ in range(200):
            point, [stats] = step.step(point)
            draws.append([*point["z"], stats["log_joint"]])
        chains.append(draws)
    np.testing.assert_allclose(*chains, rtol=1e-12)


@pytest.mark.slow
def test_log_target_by_items_is_that_of_log_marginals():
    family, data = kernel_inputs(*SMALL["PoissonGamma"])
    for labels in ([0, 0, 0, 0], [0, 1, 0, 2], [0, 1, 2, 3]):
        state = build_state(np.array(labels), family, data)
        table = weights(nrm.NormalizedInverseGaussian(0.6), 4, 0.3)
        by_items = log_target_by_items(state, table, family, data)
        assert by_items == pytest.approx(log_target(state, table, family, data), rel=1e-13)


POSTERIOR = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0, 0]]])})


class Silent(nrm.PoissonGamma):
    """Counts without a symbolic likelihood."""


base.log_likelihood.register(Silent)(base.log_likelihood.dispatch(object))
DP, BOTH = nrm.DirichletProcess(1.0), "draw_parameters and no draw_item"


test_what_a_family_lacks_is_named_with_who_needs_it = refused(
    lambda call: call(model_of(Predictive())),
    (lambda m: nrm.sample_cluster_parameters(POSTERIOR, m), "draw_parameters, which sample_cluster_parameters"),
    (lambda m: nrm.sample_posterior_predictive(POSTERIOR, m), f"{BOTH}, which sample_posterior_predictive"),
    (lambda m: nrm.random_measure.sample_random_measure(POSTERIOR, m), "draw_parameters, which sample_random_measure"),
    (lambda m: pm.draw(m["x"]), f"{BOTH}, which a forward draw of a Mixture"),
    (lambda m: nrm.trees.bhc(X, Predictive(), DP), "log_marginal, which Bayesian hierarchical clustering"),
    (lambda m: exact_posterior(DP, Predictive(), X), "log_marginal, which exact_posterior"),
    (lambda m: model_of(Silent()), "log_likelihood, which Mixture needs"),
    *(
        (
            lambda m, step=step: step([m["z"]], model=m),
            f"log_marginal, which {step.__name__} needs; MarginalGibbs does not$",
        )
        for step in (nrm.steps.TreeGuided, nrm.steps.SplitMerge, *rows_of_wings("OF_MARGINALS").values())
    ),
    match="^(Predictive|Silent) has no {}",
    error=(NotImplementedError, TypeError),
)


def test_a_positive_share_is_at_least_one_move():
    """Shares that round to none would leave a chain that stands still."""
    moves = {"tree_split_merge": 0, "subtree_gibbs": 0, "marginal_gibbs": 0.05, "exchange": 1e-6}
    assert numbers_of_moves(8, moves, tuning=False) == moves | {
        "informed_split_merge": 0,
        "marginal_gibbs": 1,
        "exchange": 1,
    }
    assert numbers_of_moves(8, {"marginal_gibbs": 0.0}, tuning=False)["marginal_gibbs"] == 0
