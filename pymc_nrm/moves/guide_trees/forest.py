"""The forest that incremental clustering changes: binary trees whose nodes keep their statistics."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.moves.guide_trees.potentials import log_dissimilarity, log_potential


class Forest(NamedTuple):
    """Binary trees over some of n items.

    Nodes 0..n - 1 are the items.  Internal node n + r owns row r of statistics and cache, and its number is reused once
    it is free.  A leaf has a row only while it is a root.  So n rows are always enough: m items in K trees make m - K
    internal nodes.
    """

    # left, right, parent, size: As in `Tree`; entries of unused nodes have no meaning. Int64 of shape (2n,).
    left: Any
    right: Any
    parent: Any
    size: Any
    # log_marginal, log_potential, log_dissimilarity: As in `Potentials`. Shape (2n,).
    log_marginal: Any
    log_potential: Any
    log_dissimilarity: Any
    # Row of each node; -1 for leaves below a root; int64 of shape (2n,).
    row: Any
    # statistics, cache: The last row is a workspace; shape (n + 1, ...).
    statistics: Any
    cache: Any
    # roots, position: The roots, in the first `n_roots` entries, and the position of each root among them; int64 of
    # shape (n,), (2n,).
    roots: Any
    position: Any
    # free, pending: Stacks of unused rows and of trees that wait to be inserted; int64 of shape (n,), (n + 1,).
    free: Any
    pending: Any
    # n_roots, n_free, n_pending, n_cuts: int64 of shape (1,).
    n_roots: Any
    n_free: Any
    n_pending: Any
    n_cuts: Any


@kernel
def empty_forest(n, weights, family, data):
    """Make a forest without trees, and compute the potentials of its n items."""
    statistics = np.zeros((n + 1, statistics_size(family)))
    cache = np.zeros((n + 1, cache_size(family)))
    log_p, log_phi = np.zeros(2 * n), np.zeros(2 * n)
    work = statistics[n]
    for i in range(n):
        check_signals()
        work[:] = 0.0
        add_item(family, work, data, i, 1.0)
        log_p[i] = log_marginal(family, work)
        log_phi[i] = weights.moment[1] + log_p[i]
    return Forest(
        np.full(2 * n, -1, dtype=np.int64),
        np.full(2 * n, -1, dtype=np.int64),
        np.full(2 * n, -1, dtype=np.int64),
        np.ones(2 * n, dtype=np.int64),
        log_p,
        log_phi,
        np.zeros(2 * n),
        np.full(2 * n, -1, dtype=np.int64),
        statistics,
        cache,
        np.zeros(n, dtype=np.int64),
        np.zeros(2 * n, dtype=np.int64),
        np.arange(n)[::-1].copy(),
        np.zeros(n + 1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.full(1, n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def take_row(forest):
    """Take an unused row."""
    forest.n_free[0] -= 1
    return forest.free[forest.n_free[0]]


@kernel
def give_row(forest, v):
    """Give back the row of a node, if it has one."""
    if forest.row[v] >= 0:
        forest.free[forest.n_free[0]] = forest.row[v]
        forest.n_free[0] += 1
        forest.row[v] = -1


@kernel
def add_root(forest, v):
    """List a node without a parent as the root of a new tree."""
    k = forest.n_roots[0]
    forest.roots[k] = v
    forest.position[v] = k
    forest.parent[v] = -1
    forest.n_roots[0] = k + 1


@kernel
def replace_child(forest, old, new):
    """Replace a node by another, below its parent or in the list of roots."""
    up = forest.parent[old]
    forest.parent[new] = up
    if up < 0:
        k = forest.position[old]
        forest.roots[k] = new
        forest.position[new] = k
    elif forest.left[up] == old:
        forest.left[up] = new
    else:
        forest.right[up] = new


@kernel
def attach(forest, v, x):
    """Join a node v of a tree with an unlisted tree x, and return their new parent.

    Only the shape of the tree changes; :func:`form_node` completes the new parent.
    """
    n = forest.roots.shape[0]
    if v < n:
        give_row(forest, v)
    r = take_row(forest)
    p = n + r
    forest.row[p] = r
    replace_child(forest, v, p)
    forest.left[p], forest.right[p] = v, x
    forest.parent[v] = forest.parent[x] = p
    return p


@kernel
def detach_smaller(forest, v):
    """Dissolve a node: its larger child, which is returned, takes its place, and the smaller waits to be inserted."""
    keep, off = forest.left[v], forest.right[v]
    if forest.size[keep] < forest.size[off]:
        keep, off = off, keep
    replace_child(forest, v, keep)
    give_row(forest, v)
    forest.parent[off] = -1
    forest.pending[forest.n_pending[0]] = off
    forest.n_pending[0] += 1
    forest.n_cuts[0] += 1
    return keep


@kernel
def add_node(row, forest, v, family, data):
    """Add the leaves of a node to a row of statistics."""
    if v < forest.roots.shape[0]:
        add_item(family, row, data, v, 1.0)
    else:
        source = forest.statistics[forest.row[v]]
        for k in range(row.shape[0]):
            row[k] += source[k]


@kernel
def fill_row(forest, r, a, b, family, data):
    """Compute the statistics and the cache of a node from its children a and b; b = -1 if a is a leaf by itself."""
    statistics = forest.statistics[r]
    statistics[:] = 0.0
    add_node(statistics, forest, a, family, data)
    if b >= 0:
        add_node(statistics, forest, b, family, data)
    refresh_cache(family, statistics, forest.cache[r])


@kernel
def form_node(forest, v, family, data):
    """Compute the row, the size and the log marginal of an internal node from its children."""
    a, b = forest.left[v], forest.right[v]
    fill_row(forest, forest.row[v], a, b, family, data)
    forest.size[v] = forest.size[a] + forest.size[b]
    forest.log_marginal[v] = log_marginal(family, forest.statistics[forest.row[v]])


@kernel
def absorb(forest, v, x, log_marginal_joint, family, data):
    """Add the leaves of x to the row, the size and the log marginal of an internal node that will be above it."""
    r = forest.row[v]
    statistics, cache = forest.statistics[r], forest.cache[r]
    if x < forest.roots.shape[0]:
        update_cache(family, statistics, cache, data, x, 1.0)
    else:
        add_node(statistics, forest, x, family, data)
        refresh_cache(family, statistics, cache)
    forest.size[v] += forest.size[x]
    forest.log_marginal[v] = log_marginal_joint


@kernel
def joint_log_marginal(forest, v, x, family, data):
    """Log marginal of the leaves of two disjoint nodes as one cluster.

    This takes one predictive density if x is a leaf.  If v is a leaf and a root, it keeps the row made for it here.
    """
    n = forest.roots.shape[0]
    work = forest.statistics[n]
    if x >= n:
        work[:] = 0.0
        add_node(work, forest, v, family, data)
        add_node(work, forest, x, family, data)
        return log_marginal(family, work)
    r = forest.row[v]
    if r < 0:
        r = n
        if forest.parent[v] < 0:
            r = forest.row[v] = take_row(forest)
        fill_row(forest, r, v, -1, family, data)
    return forest.log_marginal[v] + log_predictive(family, forest.cache[r], data, x)


@kernel
def pair_log_d(forest, v, x, log_marginal_joint, moment):
    """Log d of two nodes, given the log marginal of their union."""
    together = moment[forest.size[v] + forest.size[x]] + log_marginal_joint
    return log_dissimilarity(forest.log_potential[v] + forest.log_potential[x], together)


@kernel
def set_potential(forest, v, moment):
    """Compute log d and the log potential of an internal node from those of its children."""
    apart = forest.log_potential[forest.left[v]] + forest.log_potential[forest.right[v]]
    log_d = log_dissimilarity(apart, moment[forest.size[v]] + forest.log_marginal[v])
    forest.log_dissimilarity[v] = log_d
    forest.log_potential[v] = log_potential(apart, log_d)
    return log_d


@kernel
def post_order(forest):
    """All nodes of the forest, tree by tree and children before parents, shape (number of nodes,)."""
    n = forest.roots.shape[0]
    n_roots = forest.n_roots[0]
    nodes = np.empty(2 * n, dtype=np.int64)
    stack = np.empty(n + 1, dtype=np.int64)
    count = 2 * n
    for k in range(n_roots - 1, -1, -1):
        stack[0] = forest.roots[k]
        height = 1
        while height > 0:
            height -= 1
            v = stack[height]
            count -= 1
            nodes[count] = v
            if v >= n:
                stack[height], stack[height + 1] = forest.left[v], forest.right[v]
                height += 2
    return nodes[count:].copy()
