"""Informed anchors of split-merge moves: merges prefer clusters that fit together; one move has both directions."""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_index, sum_rows
from pymc_nrm.moves.sides import draw_pair, log_weight
from pymc_nrm.moves.tree_guided.units import item_of


@kernel
def cluster_weights(weights, family, state):
    """Log of L = kappa(size, u) p(X) of the cluster in each occupied slot, shape (capacity,)."""
    values = np.zeros(state.counts.shape[0])
    for k in range(state.size[0]):
        slot = state.active[k]
        values[slot] = log_weight(weights, family, state.counts[slot], state.statistics[slot])
    return values


@kernel
def affinity(weights, family, row, count, log_l, other_row, other_count, other_log_l, union):
    """Affinity ``1 / (1 + d0) + 1e-6`` of two clusters with ``d0 = L(a) L(b) / L(a + b)``, from log L of both."""
    sum_rows(union, row, other_row)
    log_d = log_l + other_log_l - log_weight(weights, family, count + other_count, union)
    return (1.0 / (1.0 + math.exp(log_d)) if log_d < 700.0 else 0.0) + 1e-6


@kernel
def affinities(weights, family, state, log_weights, row, count, log_l, skip, other_skip, values):
    """Write the affinities of a cluster with all others, in the order of ``active``, and return their sum.

    The affinities with the clusters in the slots ``skip`` and ``other_skip`` are 0.
    """
    union = np.empty(row.shape[0])
    total = 0.0
    for k in range(state.size[0]):
        slot = state.active[k]
        values[k] = 0.0
        if slot != skip and slot != other_skip:
            other_row, other_count = state.statistics[slot], state.counts[slot]
            values[k] = affinity(weights, family, row, count, log_l, other_row, other_count, log_weights[slot], union)
        total += values[k]
    return total


@kernel
def draw_informed_anchors(rng, state, weights, family, guide, traces, log_weights):
    """Draw anchors, with probability 1/2 for a merge of two clusters chosen by affinity, else for a split of one.

    A merge draws a cluster a uniformly, a partner b with probability w(b|a) proportional to their affinity, and an item
    of each uniformly.  A split draws a cluster c with probability ``s(c) = (1/K + |c|/n)/2``, where K is the number of
    clusters, and two different items of it uniformly. They are -1 if there is only one cluster to merge, or the cluster
    to split has only one item.
    """
    n_clusters = state.size[0]
    merging = rng.random() < 0.5
    if merging:
        if n_clusters < 2:
            return merging, -1, -1
        slot = state.active[int(rng.random() * n_clusters)]
        row, count, log_l = state.statistics[slot], state.counts[slot], log_weights[slot]
        values = np.empty(n_clusters)
        affinities(weights, family, state, log_weights, row, count, log_l, slot, slot, values)
        other = state.active[draw_index(rng, values)]
        first, second = int(rng.random() * count), int(rng.random() * state.counts[other])
        return merging, item_of(guide, traces, slot, first), item_of(guide, traces, other, second)
    if rng.random() < 0.5:
        slot = state.active[int(rng.random() * n_clusters)]
    else:
        slot = state.labels[int(rng.random() * state.labels.shape[0])]
    if state.counts[slot] < 2:
        return merging, -1, -1
    first, second = draw_pair(rng, state.counts[slot])
    return merging, item_of(guide, traces, slot, first), item_of(guide, traces, slot, second)


@kernel
def log_anchor_ratio(weights, family, state, log_weights, sides, slot, other):
    """Log ratio of the probabilities of drawing the anchors to merge two sides a and b, and to split their union A.

    Let K be the number of clusters of the state in which A is whole, and w belong to the state in which it is split.
    The ratio is

        (w(b|a) + w(a|b)) / ((K + 1) |a| |b|) / (s(A) 2 / (|A| (|A| - 1))).

    ``slot`` and ``other`` are the present slots of the two anchors, which are equal if A is whole.
    """
    counts, rows = sides.counts, sides.statistics
    values, union = np.empty(state.size[0]), np.empty(rows.shape[1])
    log_a = log_weight(weights, family, counts[0], rows[0])
    log_b = log_weight(weights, family, counts[1], rows[1])
    pair = affinity(weights, family, rows[0], counts[0], log_a, rows[1], counts[1], log_b, union)
    probability = 0.0
    for side, log_l in ((0, log_a), (1, log_b)):
        rest = affinities(weights, family, state, log_weights, rows[side], counts[side], log_l, slot, other, values)
        probability += pair / (rest + pair)
    n_merged = state.size[0] - (slot != other)
    total = float(counts[0] + counts[1])
    log_ratio = math.log(probability / ((n_merged + 1.0) * counts[0] * counts[1]))
    return log_ratio - math.log((1.0 / n_merged + total / state.labels.shape[0]) / (total * (total - 1.0)))
