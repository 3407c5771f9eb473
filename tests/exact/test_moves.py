"""Every move of a flat partition by itself, for every family, against the enumerated law given u."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from cases import MEASURES, TREE_MOVES, rows
from helpers import assert_law, log_marginal_of, random_merges, seeded
from laws import CHAINS, inputs, law_given_u

from pymc_nrm.measures.base import weights
from pymc_nrm.moves.gibbs import gibbs_sweep, join_in_turn, scan_order
from pymc_nrm.moves.guide_trees.guide_tree import make_guide
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.moves.slice_labels import slice_move
from pymc_nrm.moves.split_merge import SplitMergeOptions, split_merge_moves
from pymc_nrm.moves.tree_guided import Cycle, MovesPerCycle, tree_guided_cycle
from pymc_nrm.partitions.clusters import build_state, ordered_labels

U = 2.5
N_STARTS, N_DRAWS = 24_000, 8_000


def random_guide(rng, n, family, data):
    """Moves are exact with any tree, which only decides how fast they mix."""
    return make_guide(build_tree(random_merges(rng, n), rng.normal(size=n - 1)), family, data)


def tree_move(name, n_moves):
    counts = MovesPerCycle(0, 0, 0, 0)._replace(**{name: n_moves})
    return tree_guided_cycle, lambda rng, guide: Cycle(guide, counts, np.empty(0, dtype=np.int64))


def fixed(options):
    return lambda rng, guide: options


def items(n_items):
    return lambda rng, guide: scan_order(rng, len(guide.tree.order), n_items or len(guide.tree.order))


# A kernel, and what gives its options.
MOVES = {
    "gibbs": (gibbs_sweep, items(None)),
    "gibbs of 2 items": (gibbs_sweep, items(2)),
    "sequential": (split_merge_moves, fixed(SplitMergeOptions(1, True, 0))),
    "three sequential": (split_merge_moves, fixed(SplitMergeOptions(3, True, 0))),
    **{f"{n} scans": (split_merge_moves, fixed(SplitMergeOptions(1, False, n))) for n in (0, 1, 3)},
    "slice": (slice_move, fixed(1e6)),
    **{name: tree_move(name, 3) for name in TREE_MOVES},
    "one tree_split_merge": tree_move("tree_split_merge", 1),
}


def move_once(rng, start, table, family, data, guide, move):
    kernel, options = MOVES[move]
    state, _ = kernel(rng, build_state(start, family, data), table, family, data, options(rng, guide))
    return ordered_labels(state)


QUICK = ("gibbs", "tree_split_merge", "subtree_gibbs", "sequential", "1 scans")


@pytest.mark.quick(*(f"NormalGamma, missing-{move}" for move in QUICK))
@pytest.mark.parametrize("move", MOVES)
def test_move_leaves_the_law_given_u_invariant(family, move):
    partitions, probabilities = law_given_u("NGG", family, U)
    n, rng = partitions.shape[1], seeded(family, move)
    starts = partitions[rng.choice(len(partitions), size=N_STARTS, p=probabilities)]
    table = weights(MEASURES["NGG"], n, np.log(U))
    ends = []
    for part in np.split(starts, CHAINS):
        guide = random_guide(rng, n, *inputs(family))
        ends.append([move_once(rng, start, table, *inputs(family), guide, move) for start in part])
    assert (np.reshape(ends, starts.shape) != starts).any(axis=1).mean() > 0.02
    assert_law(np.array(ends), partitions, probabilities)


@pytest.mark.parametrize("measure", rows(MEASURES, ("NGG",)))
@pytest.mark.parametrize("move", ["gibbs", "subtree_gibbs"])
def test_gibbs_moves_alone_reach_the_law_given_u(measure, move):
    family = "NormalGamma, missing"
    partitions, probabilities = law_given_u(measure, family, U)
    n = partitions.shape[1]
    table = weights(MEASURES[measure], n, np.log(U))
    draws = []
    for labels, rng in zip((np.zeros(n, dtype=np.int64), np.arange(n)), seeded(measure, move).spawn(2), strict=True):
        guide, chain = random_guide(rng, n, *inputs(family)), []
        for _ in range(N_DRAWS):
            labels = move_once(rng, labels, table, *inputs(family), guide, move)
            chain.append(labels)
        draws.append(chain[20:])
    assert_law(np.array(draws), partitions, probabilities)


@pytest.mark.quick("NormalGamma, missing")
def test_items_join_in_turn(family):
    """The probability of a partition is that with which its items join clusters, over all orders of the items."""
    partitions, _ = law_given_u("NGG", family, U)
    n = partitions.shape[1]
    table = weights(MEASURES["NGG"], n, np.log(U))

    @cache
    def log_marginal(items):
        return log_marginal_of(*inputs(family), list(items)) if items else 0.0

    def log_weight(cluster, item):
        return table.join[len(cluster)] + log_marginal(cluster | {item}) - log_marginal(cluster)

    def probability(labels, order):
        clusters, total = {}, 1.0
        for item in order:
            own = clusters.get(labels[item], frozenset())
            others = [cluster for label, cluster in clusters.items() if label != labels[item]]
            others += [frozenset()] if own else []
            total /= 1.0 + sum(np.exp(log_weight(other, item) - log_weight(own, item)) for other in others)
            clusters[labels[item]] = own | {item}
        return total

    probabilities = [np.mean([probability(labels, order) for order in permutations(range(n))]) for labels in partitions]
    rng = seeded(family, "in turn")
    draws = [join_in_turn(rng, table, *inputs(family)) for _ in range(N_DRAWS)]
    assert_law(np.reshape(draws, (CHAINS, -1, n)), partitions, np.array(probabilities))
