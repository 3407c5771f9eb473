"""Merges of clusters that fit together, and splits along blocks of a guide tree: the two directions of one move."""

import math

import numpy as np

from pymc_nrm.families.base import log_marginal
from pymc_nrm.generic import kernel
from pymc_nrm.guide_trees.tree import lowest_common_ancestor
from pymc_nrm.interrupts import check_signals
from pymc_nrm.partitions.clusters import grow
from pymc_nrm.samplers.split_merge_tally import count_outcome
from pymc_nrm.samplers.tree_guided.block_gibbs import log_marginals, sum_rows
from pymc_nrm.samplers.tree_guided.guide_tables import draw_level
from pymc_nrm.samplers.tree_guided.tree_split_merge import (
    allocate,
    apply_merge,
    apply_split,
    side_log_weight,
    start_sides,
    union_log_weight,
)
from pymc_nrm.samplers.tree_guided.units import find_traces, item_of, make_units, sides_of_units
from pymc_nrm.special import copy_row


@kernel
def cluster_weights(weights, family, state):
    """Log of L = kappa(size, u) p(X) of every occupied slot, shape (capacity,)."""
    values = log_marginals(family, state)
    for k in range(state.size[0]):
        slot = state.active[k]
        values[slot] += weights.moment[state.counts[slot]]
    return values


@kernel
def affinity(weights, family, row, count, log_weight, other_row, other_count, other_log_weight, union):
    """``1 / (1 + d0) + 1e-6`` of two clusters, ``d0 = L(a) L(b) / L(a + b)``; the logs of L of both are given."""
    sum_rows(union, row, other_row)
    log_d = log_weight + other_log_weight - weights.moment[count + other_count] - log_marginal(family, union)
    return (1.0 / (1.0 + math.exp(log_d)) if log_d < 700.0 else 0.0) + 1e-6


@kernel
def affinities(weights, family, state, log_weights, row, count, log_weight, skip, other_skip, union, values):
    """Affinities of a cluster with all clusters but two slots, in the order of ``active``; their sum."""
    total = 0.0
    for k in range(state.size[0]):
        slot = state.active[k]
        values[k] = 0.0
        if slot != skip and slot != other_skip:
            values[k] = affinity(
                weights,
                family,
                row,
                count,
                log_weight,
                state.statistics[slot],
                state.counts[slot],
                log_weights[slot],
                union,
            )
        total += values[k]
    return total


@kernel
def choose_split(rng, state, guide, traces):
    """Cluster with probability ``s(c) = (1/K + |c|/n)/2``, and two different items of it; -1 if it has one item."""
    if rng.random() < 0.5:
        slot = state.active[int(rng.random() * state.size[0])]
    else:
        slot = state.labels[int(rng.random() * state.labels.shape[0])]
    count = state.counts[slot]
    if count < 2:
        return -1, -1
    first, second = int(rng.random() * count), int(rng.random() * (count - 1))
    second += second >= first
    return item_of(guide, traces, slot, first), item_of(guide, traces, slot, second)


@kernel
def choose_merge(rng, state, weights, family, guide, traces, log_weights):
    """A uniform cluster, a partner drawn by affinity, and an item of each; -1 if there is one cluster alone."""
    n_clusters = state.size[0]
    if n_clusters < 2:
        return -1, -1
    slot = state.active[int(rng.random() * n_clusters)]
    union, values = np.empty(state.statistics.shape[1]), np.empty(n_clusters)
    row, count = state.statistics[slot], state.counts[slot]
    total = affinities(weights, family, state, log_weights, row, count, log_weights[slot], slot, slot, union, values)
    threshold = rng.random() * total
    chosen = 0
    total = 0.0
    for k in range(n_clusters):
        if values[k] > 0.0:
            chosen = k
            total += values[k]
            if total > threshold:
                break
    partner = state.active[chosen]
    first = item_of(guide, traces, slot, int(rng.random() * count))
    return first, item_of(guide, traces, partner, int(rng.random() * state.counts[partner]))


@kernel
def informed_split_merge(rng, state, weights, family, data, guide, traces, log_weights, tally):
    """With probability 1/2 propose to merge two clusters chosen by affinity, else to split one along the guide tree.

    A merge takes a uniform cluster a and a partner b with probability w(b|a) proportional to their affinity, and an
    anchor in each; a split takes a cluster with probability s(c) and two anchors in it.  A level that separates the
    anchors is drawn from the tree alone, and units are allocated as in :func:`tree_split_merge`.  A split of A into a
    and b, from K to K + 1 clusters, has the Metropolis-Hastings ratio

        L(a) L(b) / L(A) * (w(b|a) + w(a|b)) / ((K + 1) |a| |b|) / (s(A) 2 / (|A| (|A| - 1)) q),

    w in the split state, and a merge its inverse.  Leaves the target given u invariant; not irreducible alone.

    Returns
    -------
    state : State
    outcome : int
        0 split rejected, 1 split accepted, 2 merge rejected, 3 merge accepted.
    log_ratio : float
        The log of the acceptance ratio; nan where no move was possible.
    """
    n = state.labels.shape[0]
    merging = rng.random() < 0.5
    if merging:
        first, second = choose_merge(rng, state, weights, family, guide, traces, log_weights)
    else:
        first, second = choose_split(rng, state, guide, traces)
    if first < 0:
        return state, 2 * merging, math.nan
    slot, other = state.labels[first], state.labels[second]
    level = draw_level(rng, guide, lowest_common_ancestor(guide.tree, first, second))
    single = level == 0
    units = make_units(state, guide, traces, level, first, second)
    placed = np.zeros(units.glued.shape[0], dtype=np.int64)
    tally[6] += 3.0 + 2.0 * placed.shape[0] + 3.0 * state.size[0]
    if merging and not sides_of_units(state, guide, units, other, placed):
        return state, 2, math.nan
    sides = start_sides(family, data, first, second, single)
    log_q = allocate(rng, sides, weights, family, data, guide, units, placed, single, merging)
    if log_q == -np.inf:
        return state, 2, math.nan
    union, scratch = np.empty(state.statistics.shape[1]), np.empty(state.statistics.shape[1])
    if merging:
        sum_rows(union, state.statistics[slot], state.statistics[other])
    else:
        copy_row(union, state.statistics[slot])
    rows, counts = sides.statistics, sides.counts
    log_a = side_log_weight(weights, family, sides, 0, single)
    log_b = side_log_weight(weights, family, sides, 1, single)
    pair = affinity(weights, family, rows[0], counts[0], log_a, rows[1], counts[1], log_b, scratch)
    values = np.empty(state.size[0])
    probability = 0.0
    for side, log_weight in ((0, log_a), (1, log_b)):
        rest = affinities(
            weights, family, state, log_weights, rows[side], counts[side], log_weight, slot, other, scratch, values
        )
        probability += pair / (rest + pair)
    n_merged = state.size[0] - merging
    total = float(counts[0] + counts[1])
    log_ratio = log_a + log_b - union_log_weight(weights, family, sides, union) - log_q
    log_ratio += math.log(probability / ((n_merged + 1.0) * counts[0] * counts[1]))
    log_ratio -= math.log((1.0 / n_merged + total / n) / (total * (total - 1.0)))
    if merging:
        log_ratio = -log_ratio
    if not math.log(rng.random()) < log_ratio:
        return state, 2 * merging, log_ratio
    if merging:
        apply_merge(state, family, union, slot, other)
    else:
        state = grow(state, family)
        apply_split(state, family, sides, guide, units, placed, slot)
    return state, 1 + 2 * merging, log_ratio


@kernel
def informed_split_merge_moves(rng, state, weights, family, data, guide, n_moves):
    """Several moves of :func:`informed_split_merge`; the state and a tally, shape (7,).

    The tally is that of :func:`count_outcome`, followed by the number of log marginals.
    """
    tally = np.zeros(7)
    traces = find_traces(state, guide)
    log_weights = cluster_weights(weights, family, state)
    for _ in range(n_moves):
        check_signals()
        state, outcome, log_ratio = informed_split_merge(
            rng, state, weights, family, data, guide, traces, log_weights, tally
        )
        count_outcome(tally, outcome, log_ratio)
        if outcome % 2 == 1:
            traces = find_traces(state, guide)
            log_weights = cluster_weights(weights, family, state)
    return state, tally
