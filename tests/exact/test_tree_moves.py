"""Every move along a guide tree by itself, and their cycle as a step, against the enumerated posterior."""

import zlib

import numpy as np
import pymc as pm
import pytest
from cases import MEASURES, family_rows
from laws import CHAINS, assert_law, inputs, law_given_u, posterior
from models import make_model, run

from pymc_nrm.distributions.partition import Partition
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.moves.tree_guided.cycle import Cycle, MovesPerCycle, tree_guided_cycle
from pymc_nrm.moves.tree_guided.guide_tables import make_guide
from pymc_nrm.partitions.clusters import build_state, ordered_labels
from pymc_nrm.steps.tree_guided import TreeGuided
from pymc_nrm.testing import largest_z, total_variation, z_scores

U = 2.5
N_STARTS, N_DRAWS = 40_000, 8_000
MOVES = list(MovesPerCycle._fields[:3])

# Configurations of the step: the default, and each kind of move made often beside one item of Gibbs updates.
QUIET = dict.fromkeys(MOVES, 0) | {"marginal_gibbs": 1}
CYCLES = {"default": {}, **{name: QUIET | {name: 4} for name in MOVES}}


def move_once(rng, start, weights, family, data, guide, move, n_moves):
    """Labels after moves of one kind, by the kernel of the step."""
    counts = MovesPerCycle(0, 0, 0, 0)._replace(**{move: n_moves})
    state = build_state(start, family, data)
    state, _ = tree_guided_cycle(rng, state, weights, family, data, Cycle(guide, counts, start[:0]))
    return ordered_labels(state)


def move_all(rng, starts, weights, family, data, guide, move, n_moves):
    """Labels after moves of one kind from each start, shape of ``starts``."""
    return np.array([move_once(rng, start, weights, family, data, guide, move, n_moves) for start in starts])


def move_chain(rng, labels, weights, family, data, guide, move, n_draws):
    """Chain of moves of one kind, three per draw, shape (n_draws, n)."""
    draws = np.empty((n_draws, labels.shape[0]), dtype=np.int64)
    for t in range(n_draws):
        labels = move_once(rng, labels, weights, family, data, guide, move, 3)
        draws[t] = labels
    return draws


def random_guide(rng, n, family, data):
    """Moves are exact with any tree, which only decides how fast they mix."""
    roots, merges = list(range(n)), []
    for k in range(n - 1):
        i, j = rng.choice(len(roots), size=2, replace=False)
        merges.append((roots[i], roots[j]))
        roots = [root for position, root in enumerate(roots) if position not in (i, j)] + [n + k]
    return make_guide(build_tree(merges, rng.normal(size=n - 1)), family, data)


def rng_of(*names):
    return np.random.default_rng(zlib.crc32(" ".join(map(str, names)).encode()))


@pytest.mark.parametrize("n_moves", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("family", family_rows(fast=["PoissonGamma"]), indirect=True)
def test_move_leaves_the_law_given_u_invariant(family, move, n_moves):
    partitions, probabilities = law_given_u("NGG", family, U)
    n = partitions.shape[1]
    rng = rng_of(family, move, n_moves)
    starts = partitions[rng.choice(len(partitions), size=N_STARTS, p=probabilities)]
    table = weights(MEASURES["NGG"], n, np.log(U))
    parts = [
        move_all(rng, part, table, *inputs(family), random_guide(rng, n, *inputs(family)), move, n_moves)
        for part in np.split(starts, CHAINS)
    ]
    ends = np.array(parts)
    assert (ends.reshape(starts.shape) != starts).any(axis=1).mean() > 0.02
    assert_law(ends, partitions, probabilities)


def test_gibbs_moves_alone_reach_the_law_given_u(measure):
    family, move = "NormalGamma, missing", "subtree_gibbs"
    partitions, probabilities = law_given_u(measure, family, U)
    n = partitions.shape[1]
    table = weights(MEASURES[measure], n, np.log(U))
    draws = []
    for start, rng in zip((np.zeros(n, dtype=np.int64), np.arange(n)), rng_of(measure, move).spawn(2), strict=True):
        guide = random_guide(rng, n, *inputs(family))
        draws.append(move_chain(rng, start, table, *inputs(family), guide, move, N_DRAWS))
    assert_law(np.array(draws)[:, 20:], partitions, probabilities)


def check(measure, family, moves, n_cycles=1):
    model = make_model(measure, family)
    partitions, probabilities = posterior(measure, family)
    with model:
        step = TreeGuided([model["z"]], rng=1, moves=moves, n_cycles=n_cycles)
    labels, statistics = run(step, partitions.shape[1], rng_of(measure, family, moves))
    assert_law(labels, partitions, probabilities)
    assert all(set(stats) == set(TreeGuided.stats_dtypes_shapes) for stats in statistics)


@pytest.mark.parametrize("cycle", CYCLES)
def test_cycle_has_the_posterior_law(cycle, measure):
    check(measure, "NormalGamma, missing", CYCLES[cycle])


def test_default_cycle_has_the_posterior_law_of_every_family(family):
    check("NGG", family, {})


@pytest.mark.slow
def test_several_cycles_have_the_posterior_law():
    check("NGG", "NormalGamma, missing", {}, n_cycles=3)


@pytest.mark.slow
def test_test_has_power():
    """A guide tree that depends on the partition biases the moves, and the z-scores detect it."""
    family, n = "NormalWishart", 5
    partitions, probabilities = law_given_u("NGG", family, U)
    table = weights(MEASURES["NGG"], n, np.log(U))
    rng = np.random.default_rng(3)
    labels, draws = np.zeros(n, dtype=np.int64), []
    for _ in range(20_000):
        # Join the items of the current clusters first.
        items = sorted(range(n), key=lambda i: labels[i])
        merges = [(items[0], items[1])] + [(n + k - 1, items[k + 1]) for k in range(1, n - 1)]
        guide = make_guide(build_tree(merges, np.zeros(n - 1)), *inputs(family))
        labels = move_once(rng, labels, table, *inputs(family), guide, "subtree_gibbs", 1)
        draws.append(labels)
    scores = z_scores(np.array(draws)[None], partitions, probabilities)
    assert np.abs(scores).max() > largest_z((1, len(draws), n), scores.size)
    codes, counts = np.unique(np.array(draws), axis=0, return_counts=True)
    frequencies = np.zeros(len(partitions))
    for row, count in zip(codes, counts, strict=True):
        frequencies[(partitions == row).all(axis=1)] = count / len(draws)
    assert total_variation(frequencies, probabilities) > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3])
def test_step_works_on_few_items_without_data(n):
    with pm.Model():
        z = Partition("z", MEASURES["NGG"], n=n)
        step = TreeGuided([z], rng=1)
    labels, _ = run(step, n, np.random.default_rng(5))
    assert labels.max() == n - 1
