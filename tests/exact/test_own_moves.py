"""Moves of a user's own, composed into the default step, against the enumerated posterior."""

import math

import numpy as np
import pytest
from cases import QUIET
from models import check_step, make_model, run

import pymc_nrm as nrm
from pymc_nrm.families.components import component_mean
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.steps import Move

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
    check_step(measure, FAMILY, nrm.TreeGuided, moves=moves, n_cycles=1)


@pytest.mark.slow
def test_own_move_beside_the_default_moves():
    check_step("NGG", FAMILY, nrm.TreeGuided, moves={"exchange": Move(exchange, 0.5)}, n_cycles=2)


@pytest.mark.slow
def test_own_move_is_made_and_counted():
    model = make_model("NGG", FAMILY)
    with model:
        moves = dict.fromkeys(QUIET, 0) | {"subtree_gibbs": 1, "exchange": Move(exchange, 50)}
        step = nrm.TreeGuided([model["z"]], moves=moves, n_cycles=1)
    _, statistics = run(step, 4, np.random.default_rng(1))
    assert max(stats["n_moved"] for stats in statistics) > 4


@pytest.mark.parametrize(
    ("moves", "error", "message"),
    [
        ({"exchange": 3}, ValueError, "unknown name 'exchange'; allowed are"),
        ({"tree_split_merge": Move(exchange)}, ValueError, "unknown name 'tree_split_merge'"),
        ({"exchange": Move(exchange, -1)}, ValueError, "exchange in moves .* -1"),
        ({"exchange": Move(exchange, needs=[component_mean])}, NotImplementedError, "no component_mean, which TreeGui"),
    ],
)
def test_wrong_moves_are_named(moves, error, message):
    with pytest.raises(error, match=message), make_model("NGG", "CategoricalDirichlet, missing") as model:
        nrm.TreeGuided([model["z"]], moves=moves)


def test_a_move_needs_a_kernel():
    with pytest.raises(TypeError, match="kernel of a Move must be a function made with kernel"):
        Move(lambda *arguments: arguments)


@pytest.mark.slow
def test_chains_continue_with_the_same_moves_only():
    model = make_model("NGG", FAMILY)
    with model:
        first, other = (
            nrm.TreeGuided([model["z"]], moves={"own": Move(kernel)}) for kernel in (exchange, exchange_at_random)
        )
    assert first.options != other.options
    with pytest.raises(Exception, match="options"):
        other.sampling_state = first.sampling_state
