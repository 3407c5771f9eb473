"""The published global move made exact: the tree of a cluster is a restricted guide tree, which has no memory."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.special import copy_row, draw_categorical, log_sum_exp, softplus, sum_rows
from pymc_nrm.moves.guide_trees.potentials import log_dissimilarity, log_potential
from pymc_nrm.moves.sides import apply_merge, fill_slot, log_weight
from pymc_nrm.moves.tally import accept, empty_tally
from pymc_nrm.partitions.clusters import grow, open_slot
from pymc_nrm.published.lee_choi.published_moves import (
    draw_subtree,
    log_probability_of_subtree,
    nodes_below,
)


class Restriction(NamedTuple):
    """A guide tree restricted to m items: all other leaves, and then all nodes with a single child, are dropped.

    Nodes 0, ..., m - 1 are the items and m, ..., 2m - 2 the internal nodes, children before parents::

             .                          .
           .   .       restricted     .   .
          .     .      to a, b, d    .     d
         . .   . .                  a b
         a b   c d
    """

    # Int64 of shape (m,).
    items: Any
    # left, right, parent: -1 if there is none; int64 of shape (2m - 1,).
    left: Any
    right: Any
    parent: Any
    # Int64 of shape (2m - 1,).
    size: Any
    # Statistics of the internal nodes; shape (m - 1, ...).
    statistics: Any
    # log_potential, log_dissimilarity: As in `Potentials`. Shape (2m - 1,).
    log_potential: Any
    log_dissimilarity: Any


@kernel
def add_restricted(row, restriction, v, family, data):
    """Add the items of a node to a row of statistics."""
    m = restriction.items.shape[0]
    if v < m:
        add_item(family, row, data, restriction.items[v], 1.0)
    else:
        sum_rows(row, row, restriction.statistics[v - m])


@kernel
def restrict(tree, labels, marked, m, weights, family, data, n_statistics):
    """Restrict a tree to the m items of the marked clusters; ``marked`` holds a boolean for every label."""
    n = tree.order.shape[0]
    items = np.empty(m, dtype=np.int64)
    left = np.full(2 * m - 1, -1, dtype=np.int64)
    right, parent = left.copy(), left.copy()
    size = np.ones(2 * m - 1, dtype=np.int64)
    statistics = np.zeros((m - 1, n_statistics))
    log_phi, log_d = np.zeros(2 * m - 1), np.zeros(2 * m - 1)
    restriction = Restriction(items, left, right, parent, size, statistics, log_phi, log_d)
    # The node of the restriction that each node of the tree becomes.
    name = np.full(2 * n - 1, -1, dtype=np.int64)
    work = np.empty(n_statistics)
    count, v = 0, m
    for node in range(2 * n - 1):
        check_signals()
        if node < n:
            if marked[labels[node]]:
                name[node] = count
                items[count] = node
                work[:] = 0.0
                add_item(family, work, data, node, 1.0)
                log_phi[count] = log_weight(weights, family, 1, work)
                count += 1
            continue
        a, b = name[tree.left[node]], name[tree.right[node]]
        name[node] = max(a, b)
        if min(a, b) < 0:
            continue
        name[node] = v
        left[v], right[v] = a, b
        parent[a] = parent[b] = v
        size[v] = size[a] + size[b]
        row = statistics[v - m]
        add_restricted(row, restriction, a, family, data)
        add_restricted(row, restriction, b, family, data)
        log_d[v] = log_dissimilarity(log_phi[a] + log_phi[b], log_weight(weights, family, size[v], row))
        log_phi[v] = log_potential(log_phi[a] + log_phi[b], log_d[v])
        v += 1
    return restriction


class TreeClusters(NamedTuple):
    """Clusters with their canonical trees."""

    # Int64 of shape (capacity,).
    counts: Any
    # Shape (capacity, ...).
    statistics: Any
    # log_weight, log_potential: Log of kappa(size, u) p(X), and the log potential of the tree; shape (capacity,).
    log_weight: Any
    log_potential: Any
    # Number of clusters; int64 of shape (1,).
    size: Any


@kernel
def empty_clusters(capacity, n_statistics):
    """Make room for clusters, of which there are none yet."""
    return TreeClusters(
        np.zeros(capacity, dtype=np.int64),
        np.zeros((capacity, n_statistics)),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def put_node(clusters, k, restriction, v, weights, family, data):
    """Add the items of a node to a cluster that is empty or lies entirely below its sibling.

    The canonical tree of the union joins the trees of the two, so nothing else has to be computed.
    """
    apart = clusters.log_potential[k] + restriction.log_potential[v]
    clusters.counts[k] += restriction.size[v]
    add_restricted(clusters.statistics[k], restriction, v, family, data)
    clusters.log_weight[k] = log_weight(weights, family, clusters.counts[k], clusters.statistics[k])
    clusters.log_potential[k] = apart
    if clusters.counts[k] > restriction.size[v]:
        clusters.log_potential[k] = log_potential(apart, log_dissimilarity(apart, clusters.log_weight[k]))
    clusters.size[0] = max(clusters.size[0], k + 1)


@kernel
def path_parts(restriction, node):
    """The children of a node, then the siblings along the path from it to the root."""
    parts, count = np.empty(restriction.items.shape[0], dtype=np.int64), 2
    parts[0], parts[1] = restriction.left[node], restriction.right[node]
    while restriction.parent[node] >= 0:
        up = restriction.parent[node]
        parts[count] = restriction.right[up] if restriction.left[up] == node else restriction.left[up]
        count += 1
        node = up
    return parts[:count]


@kernel
def place_parts(rng, restriction, parts, placed, forced, weights, family, data):
    """StocInsert along a path: the first two parts start clusters; every further part joins one or starts one.

    A part x joins cluster s with probability proportional to 1 / d(s, x), and starts a cluster with probability
    proportional to 1.  ``placed`` receives the cluster of each part, or prescribes it if ``forced``.
    """
    n_parts, n_statistics = parts.shape[0], restriction.statistics.shape[1]
    n_clusters = placed.max() + 1 if forced else n_parts
    clusters = empty_clusters(n_clusters, n_statistics)
    row, union = np.empty(n_statistics), np.empty(n_statistics)
    values = np.empty(n_clusters + 1)
    log_q = 0.0
    for k in range(n_parts):
        check_signals()
        v = parts[k]
        count = clusters.size[0]
        if k < 2:
            placed[k] = k
        else:
            row[:] = 0.0
            add_restricted(row, restriction, v, family, data)
            for s in range(count):
                sum_rows(union, clusters.statistics[s], row)
                together = log_weight(weights, family, clusters.counts[s] + restriction.size[v], union)
                apart = clusters.log_potential[s] + restriction.log_potential[v]
                values[s] = -log_dissimilarity(apart, together)
            values[count] = 0.0
            if not forced:
                placed[k] = draw_categorical(rng, values[: count + 1])
            log_q += values[placed[k]] - log_sum_exp(values[: count + 1])
        put_node(clusters, placed[k], restriction, v, weights, family, data)
    return clusters, log_q


@kernel
def find_split(restriction, labels):
    """The internal node whose split can give these labels, or -1 if there is none; there is at most one.

    Each of its children must lie in a single cluster, and so must each sibling on the path to the root.
    """
    m = restriction.items.shape[0]
    pure = np.empty(2 * m - 1, dtype=np.int64)
    for v in range(2 * m - 1):
        if v < m:
            pure[v] = labels[restriction.items[v]]
        else:
            a, b = pure[restriction.left[v]], pure[restriction.right[v]]
            pure[v] = a if a == b else -1
    v = 2 * m - 2
    while True:
        a, b = restriction.left[v], restriction.right[v]
        if pure[a] >= 0 and pure[b] >= 0:
            return v
        if pure[a] < 0 and pure[b] < 0:
            return -1
        v = b if pure[a] >= 0 else a


@kernel
def slots_of_parts(restriction, parts, labels, placed):
    """Write the cluster of each part, numbered in order of appearance; return the slot of each cluster."""
    slots, count = np.empty(parts.shape[0], dtype=np.int64), 0
    for k in range(parts.shape[0]):
        v = parts[k]
        while v >= restriction.items.shape[0]:
            v = restriction.left[v]
        slot = labels[restriction.items[v]]
        s = 0
        while s < count and slots[s] != slot:
            s += 1
        slots[s] = slot
        count = max(count, s + 1)
        placed[k] = s
    return slots[:count]


@kernel
def log_d_of_other(weights, family, clusters, s, row, count, log_phi, union):
    """Log d of one of the clusters and another one."""
    sum_rows(union, clusters.statistics[s], row)
    together = log_weight(weights, family, clusters.counts[s] + count, union)
    return log_dissimilarity(clusters.log_potential[s] + log_phi, together)


@kernel
def log_picks(weights, family, state, log_phi, merging, clusters):
    """Log of the sum, over the clusters, of the probability that one is picked and a merge takes exactly the others.

    Slots marked by ``merging`` are skipped, since the clusters consist of their items.
    """
    n_clusters = clusters.size[0]
    union = np.empty(state.statistics.shape[1])
    values = np.zeros(n_clusters)
    n_others = 0
    for k in range(state.size[0]):
        slot = state.active[k]
        if merging[slot]:
            continue
        n_others += 1
        for s in range(n_clusters):
            row, count = state.statistics[slot], state.counts[slot]
            values[s] -= softplus(-log_d_of_other(weights, family, clusters, s, row, count, log_phi[slot], union))
    for s in range(n_clusters):
        for t in range(s):
            row, count = clusters.statistics[t], clusters.counts[t]
            log_d = log_d_of_other(weights, family, clusters, s, row, count, clusters.log_potential[t], union)
            values[s] -= softplus(log_d)
            values[t] -= softplus(log_d)
    return log_sum_exp(values[:n_clusters]) - math.log(n_others + n_clusters)


@kernel
def tree_potentials_of_clusters(weights, family, data, state, tree, log_phi):
    """Write the log potential of every cluster's canonical tree at its slot."""
    marked = np.zeros(state.counts.shape[0], dtype=np.bool_)
    for k in range(state.size[0]):
        check_signals()
        slot, m = state.active[k], state.counts[state.active[k]]
        marked[slot] = True
        restriction = restrict(tree, state.labels, marked, m, weights, family, data, state.statistics.shape[1])
        marked[slot] = False
        log_phi[slot] = restriction.log_potential[2 * m - 2]


@kernel
def draw_merge(rng, state, weights, family, log_phi, merging):
    """Mark a uniform cluster, whose slot is returned, and each other one with probability 1 / (1 + d)."""
    picked = state.active[int(rng.random() * state.size[0])]
    union = np.empty(state.statistics.shape[1])
    for k in range(state.size[0]):
        check_signals()
        slot = state.active[k]
        merging[slot] = slot == picked
        if slot != picked:
            sum_rows(union, state.statistics[picked], state.statistics[slot])
            together = log_weight(weights, family, state.counts[picked] + state.counts[slot], union)
            log_d = log_dissimilarity(log_phi[picked] + log_phi[slot], together)
            merging[slot] = math.log(rng.random()) < -softplus(log_d)
    return picked


@kernel
def apply_clusters(state, family, restriction, parts, placed, clusters, log_phi, slot):
    """Replace the cluster in a slot by others; return the state and the potentials at its slots."""
    for s in range(clusters.size[0]):
        target = slot
        if s > 0:
            state = grow(state, family)
            target = open_slot(state)
            if log_phi.shape[0] < state.counts.shape[0]:
                larger = np.zeros(state.counts.shape[0])
                copy_row(larger[: log_phi.shape[0]], log_phi)
                log_phi = larger
        fill_slot(state, family, target, clusters.counts[s], clusters.statistics[s])
        log_phi[target] = clusters.log_potential[s]
        m = restriction.items.shape[0]
        for k in range(parts.shape[0]):
            if placed[k] == s:
                for v in nodes_below(restriction.left, restriction.right, parts[k], m, True):
                    if v < m:
                        state.labels[restriction.items[v]] = target
    return state, log_phi


@kernel
def canonical_split_merge(rng, state, weights, family, data, tree, log_phi, tally):
    """The global move of Lee & Choi (2015) with canonical trees, by Metropolis-Hastings on partitions.

    A cluster is picked uniformly, and every other one is chosen for a merge with it with probability 1 / (1 + d).  If
    none is chosen, the cluster is split: an internal node of its tree is drawn, everything above it is taken apart, and
    the parts are inserted at random from the bottom up.  Each outcome of a split has a single path, so its probability
    is the product along the path.  The probability of a merge is the sum over the clusters that may have been picked.
    A merge is possible only if a split of the union can undo it.  The move leaves the target given u invariant; by
    itself it is not irreducible.
    """
    merging = np.zeros(state.counts.shape[0], dtype=np.bool_)
    slot = draw_merge(rng, state, weights, family, log_phi, merging)
    m = 0
    for k in range(state.size[0]):
        if merging[state.active[k]]:
            m += state.counts[state.active[k]]
    is_merge = m > state.counts[slot]
    if m == 1:
        accept(rng, tally, False, math.nan)
        return state, log_phi
    restriction = restrict(tree, state.labels, merging, m, weights, family, data, state.statistics.shape[1])
    nodes = np.arange(m, 2 * m - 1)
    if is_merge:
        node = find_split(restriction, state.labels)
        if node < 0:
            accept(rng, tally, True, math.nan)
            return state, log_phi
        log_split = log_probability_of_subtree(restriction.log_dissimilarity, nodes, m, node)
    else:
        node, log_split = draw_subtree(rng, restriction.log_dissimilarity, nodes, m)
    parts = path_parts(restriction, node)
    placed = np.zeros(parts.shape[0], dtype=np.int64)
    slots = parts
    if is_merge:
        slots = slots_of_parts(restriction, parts, state.labels, placed)
    clusters, log_q = place_parts(rng, restriction, parts, placed, is_merge, weights, family, data)
    whole = empty_clusters(1, state.statistics.shape[1])
    put_node(whole, 0, restriction, 2 * m - 2, weights, family, data)
    log_split += log_q + log_picks(weights, family, state, log_phi, merging, whole)
    log_ratio = log_picks(weights, family, state, log_phi, merging, clusters) - log_split - whole.log_weight[0]
    for s in range(clusters.size[0]):
        log_ratio += clusters.log_weight[s]
    if not accept(rng, tally, is_merge, -log_ratio if is_merge else log_ratio):
        return state, log_phi
    if is_merge:
        for other in slots[1:]:
            apply_merge(state, family, slots[0], other)
        log_phi[slots[0]] = whole.log_potential[0]
    else:
        state, log_phi = apply_clusters(state, family, restriction, parts, placed, clusters, log_phi, slot)
    return state, log_phi


@kernel
def canonical_moves(rng, state, weights, family, data, tree, n_moves):
    """Several moves of :func:`canonical_split_merge`; the state and the :class:`~pymc_nrm.moves.tally.Tally`."""
    tally = empty_tally()
    log_phi = np.zeros(state.counts.shape[0])
    tree_potentials_of_clusters(weights, family, data, state, tree, log_phi)
    for _ in range(n_moves):
        check_signals()
        state, log_phi = canonical_split_merge(rng, state, weights, family, data, tree, log_phi, tally)
    return state, tally


@kernel
def canonical_items(rng, tree, n_levels):
    """Items for Gibbs updates, drawn from a guide tree without regard to the partition.

    The largest subtrees with d <= 1 play the role of the clusters.  From each, a subtree is drawn, then a subtree of
    that, and so on ``n_levels`` times; the result is the items of the last subtrees.
    """
    n = tree.order.shape[0]
    items, count = np.empty(n, dtype=np.int64), 0
    inside = np.zeros(2 * n - 1, dtype=np.bool_)
    for top in range(2 * n - 2, -1, -1):
        if tree.parent[top] >= 0 and inside[tree.parent[top]]:
            inside[top] = True
            continue
        inside[top] = top < n or tree.log_dissimilarity[top] <= 0.0
        if not inside[top]:
            continue
        v = top
        for _ in range(n_levels):
            if v < n:
                break
            nodes = nodes_below(tree.left, tree.right, v, n, True)
            v, _ = draw_subtree(rng, tree.log_dissimilarity, nodes, n)
        for p in range(tree.first[v], tree.first[v] + tree.size[v]):
            items[count] = tree.order[p]
            count += 1
    return items[:count]
