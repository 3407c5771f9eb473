"""Every move of a flat partition by itself against the enumerated law given u, and proposals of units exactly."""

from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from scipy.special import expit

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.gibbs import gibbs_sweep, join_in_turn, scan_order
from pymc_nrm.moves.guide_trees.guide_tree import draw_level, make_guide, n_separating_levels
from pymc_nrm.moves.guide_trees.tree import build_tree, leaves, lowest_common_ancestor
from pymc_nrm.moves.slice_labels import slice_move
from pymc_nrm.moves.split_merge import SplitMergeOptions, allocate_items, choose_side, split_merge_moves, start_sides
from pymc_nrm.moves.tree_guided import Cycles, MovesPerCycle, tree_guided_cycles
from pymc_nrm.moves.tree_split_merge import (
    allocate_units,
    find_traces,
    item_of,
    make_units,
    sides_of_units,
    unit_size,
    unit_statistics,
)
from pymc_nrm.partitions.clusters import build_state, ordered_labels
from pymc_nrm.testing import kernel_inputs
from tests.cases import MEASURES, TREE_MOVES, rows
from tests.exact.laws import CHAINS, inputs, law_given_u
from tests.helpers import assert_law, canonical_labels, log_marginal_of, random_merges, seeded

U = 2.5
N_STARTS, N_DRAWS = 24_000, 8_000


def random_guide(rng, n, family, data):
    """Moves are exact with any tree, which only decides how fast they mix."""
    return make_guide(build_tree(random_merges(rng, n), rng.normal(size=n - 1)), family, data)


def tree_move(name, n_moves):
    counts = MovesPerCycle(0, 0, 0, 0)._replace(**{name: n_moves})
    return tree_guided_cycles, lambda rng, guide: Cycles(guide, counts, np.empty((1, 0), dtype=np.int64))


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


QUICK = ("gibbs", "tree_split_merge")


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


@pytest.mark.parametrize("log_odds", [-800.0, -1.2, 0.4, 800.0])
def test_sides_are_drawn_with_the_probability_that_is_given(log_odds):
    rng, n_draws = np.random.default_rng(1), 4000
    probability = expit(log_odds)
    sides, log_q = np.array([choose_side(rng, log_odds, -1) for _ in range(n_draws)]).T
    assert abs(sides.mean() - probability) <= 4.5 * np.sqrt(probability * (1.0 - probability) / n_draws)
    for side in (0, 1):
        assert choose_side(rng, log_odds, side) == (side, pytest.approx(-np.logaddexp(0.0, log_odds * (1 - 2 * side))))
        assert (log_q[sides == side] == choose_side(rng, log_odds, side)[1]).all()


N_UNITS = 70


def random_tree(rng, n):
    """Merges, mostly of neighbours, so that some clusters fill whole blocks."""
    roots, merges = list(range(n)), []
    for k in range(n - 1):
        i = int(rng.integers(len(roots) - 1))
        j = i + 1 if rng.random() < 0.7 else int(rng.choice([m for m in range(len(roots)) if m != i]))
        merges.append((roots[i], roots[j]))
        roots = [root for place, root in enumerate(roots) if place not in (i, j)] + [n + k]
    return build_tree(merges, rng.normal(size=n - 1))


def items_of(guide, units, k):
    node = units.node[k]
    if node < 0:
        return frozenset(units.items[units.start[k] : units.start[k + 1]].tolist())
    anchor = {int(units.anchors[units.glued[k]])} if units.glued[k] >= 0 else set()
    return frozenset(leaves(guide.tree, int(node)).tolist()) - anchor


def cases(n=N_UNITS, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    family, data = kernel_inputs(nrm.NormalGamma(mu=0.0, kappa=0.2, alpha=2.0, beta=1.0), X)
    for _ in range(60):
        guide = make_guide(random_tree(rng, n), family, data)
        # Runs in leaf order, with some breaks.
        runs = np.sort(rng.integers(0, 5, size=n))
        runs[rng.random(n) < rng.choice([0.0, 0.05, 0.3])] = 1
        labels = np.empty(n, dtype=np.int64)
        labels[guide.tree.order] = runs
        state = build_state(canonical_labels(labels), family, data)
        first, second = map(int, rng.choice(n, size=2, replace=False))
        for level in range(n_separating_levels(guide, lowest_common_ancestor(guide.tree, first, second))):
            yield rng, family, data, guide, state, level, first, second


def test_units_are_the_traces_of_blocks():
    n_whole = n_glued = 0
    for _, family, data, guide, state, level, first, second in cases():
        slots = {int(state.labels[first]), int(state.labels[second])}
        union = {i for i in range(N_UNITS) if state.labels[i] in slots} - {first, second}
        blocks = {int(node): set(leaves(guide.tree, int(node)).tolist()) for node in guide.block[level]}
        assert all(len(block) <= guide.granularity[level] for block in blocks.values())
        assert sum(map(len, blocks.values())) == N_UNITS
        expected = {frozenset(block & union): node for node, block in blocks.items() if block & union}

        units = make_units(state, guide, find_traces(state, guide), level, first, second)
        found = [items_of(guide, units, k) for k in range(len(units.node))]
        assert len(found) == len(set(found))
        assert set(found) == set(expected)
        row = np.empty(state.statistics.shape[1])
        ones = [build_state(np.zeros(1, dtype=np.int64), family, data._replace(values=x[None])) for x in data.values]
        placed = np.zeros(len(found), dtype=np.int64)
        # A split can give the clusters if every unit, with the anchor of its block, lies in one of them.
        glued = [unit | blocks[expected[unit]] & {first, second} for unit in found]
        pure = sides_of_units(state, guide, units, int(state.labels[second]), placed)
        if len(slots) == 2:
            assert pure == all(len({int(state.labels[i]) for i in unit}) == 1 for unit in glued)
        for k, unit in enumerate(found):
            block = blocks[expected[unit]]
            assert units.glued[k] == (0 if first in block else 1 if second in block else -1)
            assert unit_size(guide, units, k) == len(unit)
            unit_statistics(family, data, guide, units, k, row)
            np.testing.assert_allclose(row, sum(ones[i].statistics[0] for i in unit), rtol=1e-9, atol=1e-9)
            if pure and len(slots) == 2:
                assert placed[k] == (state.labels[next(iter(unit))] == state.labels[second])
            n_whole += units.node[k] >= guide.tree.order.shape[0]
            n_glued += units.node[k] >= guide.tree.order.shape[0] and units.glued[k] >= 0
    assert n_whole > 100
    assert n_glued > 20


def test_items_of_a_cluster():
    for _, _, _, guide, state, _, first, _ in cases():
        found, slot = find_traces(state, guide), int(state.labels[first])
        members = [item_of(guide, found, slot, rank) for rank in range(state.counts[slot])]
        assert sorted(members) == np.flatnonzero(state.labels == slot).tolist()


def allocation(seed, table, family, data, guide, units, level, goals):
    sides = start_sides(family, data, *map(int, units.anchors))
    rng, placed = np.random.default_rng(seed), np.empty_like(goals)
    if level == 0:
        log_q = allocate_items(rng, sides, table, family, data, units.node, placed, goals, False)
    else:
        log_q = allocate_units(rng, sides, table, family, data, guide, units, placed, goals)
    return log_q, placed, sides


def test_probabilities_of_all_allocations_of_units_sum_to_one():
    """A forced allocation has the probability of the same free one."""
    table = weights(nrm.NormalizedGeneralizedGamma(0.8, 0.4), 14, 0.3)
    n_checked = 0
    for rng, family, data, guide, state, level, first, second in cases(14, seed=3):
        units = make_units(state, guide, find_traces(state, guide), level, first, second)
        n_units = len(units.node)
        if n_units > 6:
            continue
        fixed = (int(rng.integers(1 << 30)), table, family, data, guide, units, level)
        choices = np.array(list(product((0, 1), repeat=n_units)), dtype=np.int64).reshape(-1, n_units)
        choices = choices[((units.glued < 0) | (choices == units.glued)).all(axis=1)]
        assert sum(np.exp(allocation(*fixed, choice)[0]) for choice in choices) == pytest.approx(1.0, rel=1e-9)
        # The order of units is drawn first, so that with one seed both runs see the same.
        log_q, placed, sides = allocation(*fixed, np.full(n_units, -1))
        log_p, same, again = allocation(*fixed, placed)
        np.testing.assert_array_equal(same, placed)
        assert log_p == pytest.approx(log_q, abs=1e-9)
        for a, b in zip(sides, again, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        n_checked += 1
    assert n_checked > 30


def test_levels_are_drawn_from_the_tree_alone():
    *_, guide, _, _, first, second = next(cases())
    node = lowest_common_ancestor(guide.tree, first, second)
    n_levels = n_separating_levels(guide, node)
    rng = np.random.default_rng(2)
    counts = np.bincount([draw_level(rng, guide, node) for _ in range(20_000)], minlength=n_levels)
    expected = 20_000 * 2.0 ** np.arange(n_levels) / (2.0**n_levels - 1.0)
    assert len(counts) == n_levels
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected)).all()
