"""Split-merge moves of clusters of nodes, by sequential allocation about two anchors.

The nodes of the two clusters that are not placed yet are left out of the network, while the others are placed one by
one in random order: a node has the weights of its pairs with all other clusters and with what is placed of the two.  A
merge keeps each node on its present side, and computes the probability q that a split makes these sides.  Both
directions leave the same nodes out, so that q is exact for every order.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import copy_row, sum_rows
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.moves.split_merge import accept, choose_side, draw_pair, empty_tally
from pymc_nrm.networks.families.networked import network_of, pairs_of
from pymc_nrm.networks.moves.block_state import (
    clear_tables,
    grow_blocks,
    new_found,
    new_rows,
    put_in,
    refresh_block,
    sum_neighbours,
    weigh_blocks,
)
from pymc_nrm.partitions.clusters import close_slot, open_slot


class Kept(NamedTuple):
    """What a rejected move restores: rows of two slots, and all tables."""

    counts: Any
    statistics: Any
    cache: Any
    sizes: Any
    sums: Any
    undirected: Any
    directed: Any


@kernel
def log_of_clusters(state, weights, family, first, second):
    """The part of the log target that depends on two clusters, or on one if both are the same."""
    clusters, total = state.clusters, 0.0
    for side in range(1 if first == second else 2):
        slot = second if side == 1 else first
        total += weights.moment[clusters.counts[slot]] + log_marginal(family, clusters.statistics[slot])
        for k in range(clusters.size[0]):
            other = clusters.active[k]
            if side == 1 and other == first:
                continue
            total += state.undirected[slot, other] + state.directed[slot, other]
            if other != slot:
                total += state.directed[other, slot]
    return total


@kernel
def merge_clusters(state, family, slot, other):
    """Move all nodes of the cluster ``other`` to the cluster in ``slot``."""
    clusters, sums = state.clusters, state.sums
    n_undirected = statistics_size(network_of(family).undirected)
    for node in range(clusters.labels.shape[0]):
        if clusters.labels[node] == other:
            clusters.labels[node] = slot
    for p in range(sums.shape[2]):
        sums[slot, slot, p] += sums[other, other, p] + sums[slot, other, p]
        if p >= n_undirected:
            sums[slot, slot, p] += sums[other, slot, p]
    for k in range(clusters.size[0]):
        third = clusters.active[k]
        if third != slot and third != other:
            for p in range(sums.shape[2]):
                sums[slot, third, p] += sums[other, third, p]
                sums[third, slot, p] += sums[third, other, p]
    sizes = state.sizes[slot] + state.sizes[other]
    sum_rows(clusters.statistics[slot], clusters.statistics[slot], clusters.statistics[other])
    clusters.counts[slot] += clusters.counts[other]
    refresh_cache(family, clusters.statistics[slot], clusters.cache[slot])
    clear_tables(state, other)
    close_slot(clusters, other)
    state.sizes[slot] = sizes
    for k in range(clusters.size[0]):
        third = clusters.active[k]
        refresh_block(state, family, slot, third)
        if third != slot:
            refresh_block(state, family, third, slot)


@kernel
def keep_clusters(state, first, second):
    """Copies of what a move of two clusters changes."""
    clusters = state.clusters
    counts, sizes = np.empty(2, dtype=np.int64), np.empty(2)
    statistics = np.empty((2, clusters.statistics.shape[1]))
    cache = np.empty((2, clusters.cache.shape[1]))
    for side in range(2):
        slot = second if side == 1 else first
        counts[side], sizes[side] = clusters.counts[slot], state.sizes[slot]
        copy_row(statistics[side], clusters.statistics[slot])
        copy_row(cache[side], clusters.cache[slot])
    return Kept(counts, statistics, cache, sizes, state.sums.copy(), state.undirected.copy(), state.directed.copy())


@kernel
def restore_clusters(state, kept, first, second):
    """Restore what :func:`keep_clusters` has copied, but for labels."""
    clusters, capacity = state.clusters, state.sums.shape[0]
    for side in range(2):
        slot = second if side == 1 else first
        clusters.counts[slot], state.sizes[slot] = kept.counts[side], kept.sizes[side]
        copy_row(clusters.statistics[slot], kept.statistics[side])
        copy_row(clusters.cache[slot], kept.cache[side])
    for r in range(capacity):
        copy_row(state.undirected[r], kept.undirected[r])
        copy_row(state.directed[r], kept.directed[r])
        for s in range(capacity):
            copy_row(state.sums[r, s], kept.sums[r, s])


@kernel
def empty_cluster(state, slot):
    """Take all nodes out of a slot that stays open, but for their labels."""
    clusters = state.clusters
    pristine = clusters.active[clusters.size[0]]
    clear_tables(state, slot)
    clusters.counts[slot] = 0
    copy_row(clusters.statistics[slot], clusters.statistics[pristine])
    copy_row(clusters.cache[slot], clusters.cache[pristine])


@kernel(inner_loop=True)
def allocate_nodes(rng, state, weights, family, data, anchors, slots, nodes, goals):
    """Put anchors into their slots and nodes into either, one by one; return the log probability of the result.

    A node with a goal, 0 or 1, is put into this slot.  Shapes: ``anchors``, ``slots`` (2,); others (n_nodes,).
    """
    rows, found = new_rows(state, family), new_found(2, state, family)
    clusters, pairs = state.clusters, pairs_of(data)
    log_q, values, n = 0.0, np.empty(2), nodes.shape[0]
    order = random_items(rng, n, n)
    for k in range(-2, n):
        check_signals()
        node = anchors[k + 2] if k < 0 else nodes[order[k]]
        sum_neighbours(
            clusters.labels, clusters.active, clusters.size[0], state.sizes, pairs, node, rows.out, rows.into
        )
        for side in range(2):
            slot = slots[side]
            values[side] = weights.join[clusters.counts[slot]]
            values[side] += log_predictive(family, clusters.cache[slot], data, node)
            values[side] += weigh_blocks(
                *(state, family, pairs.loops[node], slot, rows),
                *(found.undirected[side], found.out[side], found.into[side]),
            )
        if k < 0:
            side = k + 2
        else:
            side, log_probability = choose_side(rng, values[1] - values[0], goals[order[k]])
            log_q += log_probability
        put_in(
            *(state, family, data, node, slots[side], rows),
            *(found.undirected[side], found.out[side], found.into[side]),
        )
    return log_q


@kernel
def split_merge_of_blocks(rng, state, weights, family, data, tally):
    """Make one split-merge move with two uniformly drawn anchors, by Metropolis-Hastings; return the state.

    The move leaves the target given u invariant.  By itself it is irreducible, but mixes slowly.
    """
    state = grow_blocks(state, family)
    clusters = state.clusters
    labels = clusters.labels
    anchors, slots = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    anchors[0], anchors[1] = draw_pair(rng, labels.shape[0])
    slots[0], slots[1] = labels[anchors[0]], labels[anchors[1]]
    slot, other = slots[0], slots[1]
    merging = slot != other
    n_nodes = clusters.counts[slot] + (clusters.counts[other] if merging else 0) - 2
    nodes, goals, count = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64), 0
    for node in range(labels.shape[0]):
        if (labels[node] == slot or labels[node] == other) and node != anchors[0] and node != anchors[1]:
            nodes[count] = node
            goals[count] = labels[node] == other if merging else -1
            count += 1
    log_now, log_together = log_of_clusters(state, weights, family, slot, other), 0.0
    if not merging:
        log_together = log_now
        slots[1] = other = open_slot(clusters)
    kept = keep_clusters(state, slot, other)
    log_bound = 0.0
    if merging:
        merge_clusters(state, family, slot, other)
        log_together = log_of_clusters(state, weights, family, slot, slot)
        reopen(clusters, other)
        restore_clusters(state, kept, slot, other)
        # Since q is at most 1, many merges are rejected whatever the allocation would find.
        log_bound = log_together - log_now
        if math.log(rng.random()) >= log_bound:
            accept(rng, tally, True, math.nan)
            restore_labels(labels, slots, anchors, nodes, goals)
            return state
    for k in range(n_nodes):
        labels[nodes[k]] = -1
    labels[anchors[0]] = labels[anchors[1]] = -1
    empty_cluster(state, slot)
    empty_cluster(state, other)
    log_q = allocate_nodes(rng, state, weights, family, data, anchors, slots, nodes, goals)
    log_apart = log_now if merging else log_of_clusters(state, weights, family, slot, other)
    log_ratio = log_together - log_apart + log_q
    accepted = accept(rng, tally, merging, log_ratio if merging else -log_ratio, log_bound)
    if merging or not accepted:
        restore_clusters(state, kept, slot, other)
    if merging and accepted:
        merge_clusters(state, family, slot, other)
    if not merging and not accepted:
        for k in range(n_nodes):
            labels[nodes[k]] = slot
        labels[anchors[1]] = slot
        close_slot(clusters, other)
    return state


@kernel
def reopen(clusters, slot):
    """Occupy an empty slot again."""
    here, last = clusters.position[slot], clusters.size[0]
    behind = clusters.active[last]
    clusters.active[here], clusters.active[last] = behind, slot
    clusters.position[behind], clusters.position[slot] = here, last
    clusters.size[0] += 1


@kernel
def restore_labels(labels, slots, anchors, nodes, goals):
    """Labels of the nodes of two clusters before a merge."""
    for k in range(nodes.shape[0]):
        labels[nodes[k]] = slots[goals[k]]
    labels[anchors[1]] = slots[1]


@shared_kernel
def block_split_merge(rng, state, weights, family, data, n_moves):
    """Make split-merge moves; return the state and a :class:`~pymc_nrm.moves.split_merge.Tally`."""
    tally = empty_tally()
    for _ in range(n_moves):
        check_signals()
        state = split_merge_of_blocks(rng, state, weights, family, data, tally)
    return state, tally
