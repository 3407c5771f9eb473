"""Clusters of nodes with the sums of statistics of their blocks, which kernels change in place.

The log target is, given u, the sum over clusters of the weight of their size and the log marginal of their attributes,
and over blocks of the log marginal of their pairs: of undirected networks each pair of clusters once, of directed ones
both orders.  All nodes with a label from 0 are in the network; nodes with label -1 are left out of it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.networks.families.networked import network_of, pairs_of
from pymc_nrm.partitions.clusters import build_state, close_slot, copied_state


class BlockState(NamedTuple):
    """Clusters in slots, and tables of blocks, whose rows and columns are 0 for empty slots."""

    # The `State` of the attributes.
    clusters: Any
    # Number of items of each cluster, float64 of shape (capacity,).
    sizes: Any
    # Statistics of pairs from a slot to another, (capacity, capacity, size); undirected ones are symmetric.
    sums: Any
    # Log marginals of the undirected networks, symmetric, and of the directed networks; (capacity, capacity).
    undirected: Any
    directed: Any
    # Log marginals of the block of slots r and s with one item more in r, whose pairs with s are all default:
    # undirected, directed from r to s, and from s to r; NaN where not computed.  Shape (3, capacity, capacity).
    one_more: Any

    @property
    def labels(self):
        return self.clusters.labels

    @property
    def size(self):
        return self.clusters.size


class Rows(NamedTuple):
    """Rows of a node in each slot, and memory for the log marginals of blocks with it."""

    # Sums of its pairs with each cluster, as seen from the node and from the others; (capacity, size).
    out: Any
    into: Any
    # Whether it is one item and all its pairs with a cluster are default, (capacity,).
    is_default: Any
    # Sums of a block, undirected and directed.
    first: Any
    second: Any


class JoinedMarginals(NamedTuple):
    """Log marginals of the blocks of clusters with the node; row k for the cluster in slot k, or of two clusters."""

    # Undirected; directed from the cluster; directed to the cluster.
    undirected: Any
    out: Any
    into: Any


@kernel
def new_rows(state, family):
    """Memory for the rows of a node."""
    capacity, size = state.sums.shape[0], state.sums.shape[2]
    n_undirected = statistics_size(network_of(family).undirected)
    out, into = np.zeros((capacity, size)), np.zeros((capacity, size))
    return Rows(out, into, np.zeros(capacity, dtype=np.bool_), np.zeros(n_undirected), np.zeros(size - n_undirected))


@kernel
def new_marginals(n, state, family):
    """Memory for the log marginals of n clusters with a node."""
    capacity = state.sums.shape[0]
    n_undirected = statistics_size(network_of(family).undirected)
    n_columns = capacity if n_undirected > 0 else 1
    n_directed = capacity if n_undirected < state.sums.shape[2] else 1
    return JoinedMarginals(np.zeros((n, n_columns)), np.zeros((n, n_directed)), np.zeros((n, n_directed)))


@kernel
def with_tables(clusters, size):
    """A state with empty tables."""
    capacity = clusters.counts.shape[0]
    sums, one_more = np.zeros((capacity, capacity, size)), np.full((3, capacity, capacity), np.nan)
    logs, others = np.zeros((capacity, capacity)), np.zeros((capacity, capacity))
    return BlockState(clusters, np.zeros(capacity), sums, logs, others, one_more)


@shared_kernel
def build_blocks(labels, family, data):
    """State for canonical labels, with all statistics summed from the data."""
    pairs = pairs_of(data)
    state = with_tables(build_state(labels, family, data), pairs.default.shape[0])
    _sum_pairs(state, pairs)
    for k in range(state.clusters.size[0]):
        for m in range(state.clusters.size[0]):
            refresh_block(state, family, state.clusters.active[k], state.clusters.active[m])
    return state


@kernel(inner_loop=True)
def _sum_pairs(state, pairs):
    """Add all pairs to the tables."""
    labels, sums, sizes, n_undirected = state.clusters.labels, state.sums, state.sizes, pairs.n_undirected
    size, capacity = sums.shape[2], sums.shape[0]
    squares = np.zeros(capacity)
    for i in range(labels.shape[0]):
        if i % 64 == 0:
            check_signals()
        r = labels[i]
        sizes[r] += pairs.sizes[i]
        squares[r] += pairs.sizes[i] * pairs.sizes[i]
        for p in range(size):
            sums[r, r, p] += pairs.loops[i, p]
        for entry in range(pairs.start[i], pairs.start[i + 1]):
            j = pairs.other[entry]
            s, row = labels[j], pairs.out[entry]
            # Pairs without direction are in the lists of both nodes.
            for p in range(0 if r != s or i < j else n_undirected, size):
                sums[r, s, p] += pairs.rows[row, p]
    for r in range(capacity):
        for s in range(capacity):
            n_pairs = sizes[r] * sizes[s] if r != s else sizes[r] * sizes[r] - squares[r]
            for p in range(size):
                share = 0.5 if r == s and p < n_undirected else 1.0
                sums[r, s, p] += share * n_pairs * pairs.default[p]


@kernel
def refresh_block(state, family, r, s):
    """Compute the log marginals of the block from slot r to slot s, in one direction."""
    network = network_of(family)
    n_undirected = statistics_size(network.undirected)
    state.undirected[r, s] = log_marginal(network.undirected, state.sums[r, s, :n_undirected])
    state.directed[r, s] = log_marginal(network.directed, state.sums[r, s, n_undirected:])


@kernel
def grow_blocks(state, family):
    """Return the state if it has at least two empty slots, else a copy with over twice the capacity."""
    clusters = state.clusters
    capacity = clusters.counts.shape[0]
    if clusters.size[0] + 2 <= capacity:
        return state
    larger = with_tables(copied_state(clusters, clusters.labels, 2 * capacity + 2, family), state.sums.shape[2])
    for r in range(capacity):
        larger.sizes[r] = state.sizes[r]
        copy_row(larger.undirected[r], state.undirected[r, :])
        copy_row(larger.directed[r], state.directed[r, :])
        for s in range(capacity):
            copy_row(larger.sums[r, s], state.sums[r, s])
    return larger


@kernel(inner_loop=True)
def start_rows(state, pairs, n_items, rows):
    """Write the sums of the pairs of some items with each cluster, and with the next one, as if all were default."""
    out, into = rows.out, rows.into
    for k in range(state.clusters.size[0] + 1):
        slot = state.clusters.active[k]
        n_pairs = n_items * state.sizes[slot]
        for p in range(out.shape[1]):
            out[slot, p] = n_pairs * pairs.default[p]
            into[slot, p] = out[slot, p]
        rows.is_default[slot] = n_items == 1.0


@kernel(inner_loop=True)
def add_neighbours(state, pairs, node, rows):
    """Add what the pairs of a node with its neighbours in clusters differ from the default."""
    out, into, n_undirected = rows.out, rows.into, pairs.n_undirected
    labels, size = state.clusters.labels, out.shape[1]
    for entry in range(pairs.start[node], pairs.start[node + 1]):
        slot = labels[pairs.other[entry]]
        if slot >= 0:
            row, other_row, rows.is_default[slot] = pairs.out[entry], pairs.into[entry], False
            for p in range(size):
                out[slot, p] += pairs.rows[row, p]
            for p in range(n_undirected, size):
                into[slot, p] += pairs.rows[other_row, p]


@kernel(inner_loop=True)
def weigh_blocks(state, family, loop, slot, rows, undirected, out, into):
    """Log density of the pairs of a node with all clusters, if it is in a slot, given all other pairs.

    Writes the log marginals of the blocks of the slot with the node.  Shapes: ``loop`` (size,), the last (capacity,).
    """
    network, sums, one_more = network_of(family), state.sums, state.one_more
    active, n_clusters = state.clusters.active, state.clusters.size[0]
    first, second = rows.first, rows.second
    n_undirected, n_directed, total = first.shape[0], second.shape[0], 0.0
    for k in range(n_clusters):
        other = active[k]
        if other == slot:
            continue
        is_default = rows.is_default[other]
        if n_undirected > 0:
            undirected[other] = one_more[0, slot, other]
            if not is_default or math.isnan(undirected[other]):
                for p in range(n_undirected):
                    first[p] = sums[slot, other, p] + rows.out[other, p]
                undirected[other] = log_marginal(network.undirected, first)
                if is_default:
                    one_more[0, slot, other] = undirected[other]
            total += undirected[other] - state.undirected[slot, other]
        if n_directed > 0:
            out[other], into[other] = one_more[1, slot, other], one_more[2, slot, other]
            if not is_default or math.isnan(out[other]):
                for p in range(n_directed):
                    second[p] = sums[slot, other, n_undirected + p] + rows.out[other, n_undirected + p]
                out[other] = log_marginal(network.directed, second)
                for p in range(n_directed):
                    second[p] = sums[other, slot, n_undirected + p] + rows.into[other, n_undirected + p]
                into[other] = log_marginal(network.directed, second)
                if is_default:
                    one_more[1, slot, other], one_more[2, slot, other] = out[other], into[other]
            total += out[other] - state.directed[slot, other] + into[other] - state.directed[other, slot]
    if n_undirected > 0:
        for p in range(n_undirected):
            first[p] = sums[slot, slot, p] + rows.out[slot, p] + loop[p]
        undirected[slot] = log_marginal(network.undirected, first)
        total += undirected[slot] - state.undirected[slot, slot]
    if n_directed > 0:
        for p in range(n_directed):
            q = n_undirected + p
            second[p] = sums[slot, slot, q] + rows.out[slot, q] + rows.into[slot, q] + loop[q]
        out[slot] = log_marginal(network.directed, second)
        total += out[slot] - state.directed[slot, slot]
    return total


@kernel
def forget_one_more(state, slot):
    """Mark what :func:`weigh_blocks` has kept for a slot, which changes, as not computed."""
    for k in range(3):
        for other in range(state.one_more.shape[1]):
            state.one_more[k, slot, other] = state.one_more[k, other, slot] = np.nan


@kernel(inner_loop=True)
def _add_rows(state, n_undirected, loop, slot, rows, sign):
    """Add or subtract the pairs of a node, with all clusters, to the sums of the blocks of its slot."""
    sums, active = state.sums, state.clusters.active
    forget_one_more(state, slot)
    for k in range(state.clusters.size[0]):
        other = active[k]
        for p in range(sums.shape[2]):
            out, into = sign * rows.out[other, p], sign * rows.into[other, p]
            if other == slot:
                sums[slot, slot, p] += sign * loop[p] + out
                if p >= n_undirected:
                    sums[slot, slot, p] += into
            else:
                sums[slot, other, p] += out
                sums[other, slot, p] += out if p < n_undirected else into


@kernel
def put_pairs(state, n_undirected, loop, slot, rows, undirected, out, into):
    """Add the pairs of nodes that join a slot, with the log marginals that :func:`weigh_blocks` has written."""
    _add_rows(state, n_undirected, loop, slot, rows, 1.0)
    for k in range(state.clusters.size[0]):
        other = state.clusters.active[k]
        if rows.first.shape[0] > 0:
            state.undirected[slot, other] = undirected[other]
            state.undirected[other, slot] = undirected[other]
        if rows.second.shape[0] > 0:
            state.directed[slot, other] = out[other]
            if other != slot:
                state.directed[other, slot] = into[other]


@kernel
def take_pairs(state, family, n_undirected, loop, slot, rows):
    """Subtract the pairs of nodes that leave a slot in which others stay, and compute its log marginals again."""
    _add_rows(state, n_undirected, loop, slot, rows, -1.0)
    for k in range(state.clusters.size[0]):
        other = state.clusters.active[k]
        refresh_block(state, family, slot, other)
        if other != slot:
            state.undirected[other, slot] = state.undirected[slot, other]
            if rows.second.shape[0] > 0:
                refresh_block(state, family, other, slot)


@kernel
def put_in(state, family, data, node, slot, rows, undirected, out, into):
    """Put a node into an occupied or open slot, with the log marginals that :func:`weigh_blocks` has written."""
    pairs, clusters = pairs_of(data), state.clusters
    put_pairs(state, pairs.n_undirected, pairs.loops[node], slot, rows, undirected, out, into)
    update_cache(family, clusters.statistics[slot], clusters.cache[slot], data, node, 1.0)
    clusters.counts[slot] += 1
    state.sizes[slot] += pairs.sizes[node]
    clusters.labels[node] = slot


@kernel
def take_out(state, family, data, node, rows):
    """Take a node out of its cluster, which is closed if it is empty, and out of the network; fill its rows."""
    pairs, clusters = pairs_of(data), state.clusters
    slot = clusters.labels[node]
    clusters.labels[node] = -1
    if slot >= 0:
        state.sizes[slot] -= pairs.sizes[node]
        clusters.counts[slot] -= 1
        if clusters.counts[slot] == 0:
            clear_tables(state, slot)
            close_slot(clusters, slot)
    start_rows(state, pairs, pairs.sizes[node], rows)
    add_neighbours(state, pairs, node, rows)
    if slot >= 0 and clusters.counts[slot] > 0:
        update_cache(family, clusters.statistics[slot], clusters.cache[slot], data, node, -1.0)
        take_pairs(state, family, pairs.n_undirected, pairs.loops[node], slot, rows)
    return slot


@kernel
def clear_tables(state, slot):
    """Set the size of a slot and its blocks to 0."""
    state.sizes[slot] = 0.0
    forget_one_more(state, slot)
    for other in range(state.sums.shape[0]):
        for p in range(state.sums.shape[2]):
            state.sums[slot, other, p] = state.sums[other, slot, p] = 0.0
        state.undirected[slot, other] = state.undirected[other, slot] = 0.0
        state.directed[slot, other] = state.directed[other, slot] = 0.0


@shared_kernel
def log_block_target(state, weights, family, data):
    """Log target given u, up to terms in n and u."""
    clusters, total = state.clusters, 0.0
    for k in range(clusters.size[0]):
        slot = clusters.active[k]
        total += weights.moment[clusters.counts[slot]] + log_marginal(family, clusters.statistics[slot])
        for m in range(clusters.size[0]):
            other = clusters.active[m]
            total += state.directed[slot, other]
            if m <= k:
                total += state.undirected[slot, other]
    return total
