"""Incremental Bayesian hierarchical clustering (Lee & Choi 2014): items are inserted into a forest one by one."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import sum_rows
from pymc_nrm.moves.guide_trees.tree import log_dissimilarity, log_potential


class Forest(NamedTuple):
    """Binary trees over some of n items.

    Nodes 0..n - 1 are the items.  Internal node n + r owns row r of statistics and cache, and its number is reused once
    it is free.  A leaf has a row only while it is a root.  So n rows always suffice: m items in K trees make m - K
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
def empty_forest(n, family):
    """Make a forest without trees, with room for n items."""
    return Forest(
        np.full(2 * n, -1, dtype=np.int64),
        np.full(2 * n, -1, dtype=np.int64),
        np.full(2 * n, -1, dtype=np.int64),
        np.ones(2 * n, dtype=np.int64),
        np.zeros(2 * n),
        np.zeros(2 * n),
        np.zeros(2 * n),
        np.full(2 * n, -1, dtype=np.int64),
        np.zeros((n + 1, statistics_size(family))),
        np.zeros((n + 1, cache_size(family))),
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
def weigh_item(forest, x, moment, family, data):
    """Compute the log marginal and the log potential of a single item."""
    work = forest.statistics[forest.roots.shape[0]]
    work[:] = 0.0
    add_item(family, work, data, x, 1.0)
    forest.log_marginal[x] = log_marginal(family, work)
    forest.log_potential[x] = moment[1] + forest.log_marginal[x]


@kernel
def take_row(forest):
    """Take an unused row."""
    forest.n_free[0] -= 1
    return forest.free[forest.n_free[0]]


@kernel
def give_row(forest, v):
    """Release the row of a node, if it has one."""
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
    """Dissolve a node: its larger child, which is returned, replaces it, and the smaller waits for insertion."""
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
        sum_rows(row, row, forest.statistics[forest.row[v]])


@kernel
def fill_row(forest, r, a, b, family, data):
    """Compute the statistics and the cache of a node from its children a and b; b = -1 if a is a single leaf."""
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
    """Compute log d and the log potential of an internal node from the log potentials of its children."""
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


@kernel
def inner_merges(forest, n):
    """Merges inside the trees, children first and numbered from n, with their log d, and the numbers of the roots."""
    n_leaves = forest.roots.shape[0]
    nodes = post_order(forest)
    name = np.arange(2 * n_leaves)
    merges = np.empty(((nodes.shape[0] - forest.n_roots[0]) // 2, 2), dtype=np.int64)
    log_d = np.empty(merges.shape[0])
    count = 0
    for v in nodes:
        if v >= n_leaves:
            merges[count, 0], merges[count, 1] = name[forest.left[v]], name[forest.right[v]]
            log_d[count] = forest.log_dissimilarity[v]
            name[v] = n + count
            count += 1
    tops = np.empty(forest.n_roots[0], dtype=np.int64)
    for k in range(tops.shape[0]):
        tops[k] = name[forest.roots[k]]
    return merges, log_d, tops


# A tree that is cut off is reinserted and may cause further cuts.  After this many cuts, such trees stay roots.
MOST_REINSERTIONS = 16

# Within a cluster the published rule builds a chain with the outermost item at its top, so time grows with the square
# of cluster sizes.  Below this depth, items prefer a child with less than a quarter of the leaves:
#
#     published     balanced
#        .             .
#       . a          .   .
#      . b          . .  . .
#     c   d         a b  c d
BALANCE_DEPTH = 64
LEAST_SHARE = 0.25


@kernel
def _nearest_root(forest, x, moment, family, data):
    """The root with the smallest d to a tree, this log d, and the log marginal of both as one cluster."""
    best, best_log_d, best_joint = -1, math.inf, 0.0
    for k in range(forest.n_roots[0]):
        v = forest.roots[k]
        joint = joint_log_marginal(forest, v, x, family, data)
        log_d = pair_log_d(forest, v, x, joint, moment)
        if log_d < best_log_d:
            best, best_log_d, best_joint = v, log_d, joint
    return best, best_log_d, best_joint


@kernel
def descend(forest, v, x, joint, moment, family, data, balance_depth):
    """Insert x below or beside node v and return the new node; ancestors are updated except for potentials.

    Of the three pairs among x and the children l and r of v, the pair with the smallest d is joined first.  At great
    depth, x joins a child that is much smaller than the other whenever their d <= 1::

        d(l, r) is smallest: ((l, r), x)
        d(l, x) is smallest: (l and x, r), and x descends into l
    """
    n = forest.roots.shape[0]
    depth = 0
    while v >= n:
        a, b = forest.left[v], forest.right[v]
        joint_a = joint_log_marginal(forest, a, x, family, data)
        joint_b = joint_log_marginal(forest, b, x, family, data)
        log_d_a = pair_log_d(forest, a, x, joint_a, moment)
        log_d_b = pair_log_d(forest, b, x, joint_b, moment)
        to_left = log_d_a <= log_d_b
        smaller_is_left = forest.size[a] < forest.size[b]
        smaller, log_d_smaller = (a, log_d_a) if smaller_is_left else (b, log_d_b)
        uneven = forest.size[smaller] < LEAST_SHARE * forest.size[v]
        if depth >= balance_depth and uneven and log_d_smaller <= 0.0:
            to_left = smaller_is_left
        elif forest.log_dissimilarity[v] <= min(log_d_a, log_d_b):
            break
        absorb(forest, v, x, joint, family, data)
        v, joint = (a, joint_a) if to_left else (b, joint_b)
        depth += 1
    return attach(forest, v, x)


@kernel
def _settle(forest, v, moment, family, data):
    """Complete a new node, update potentials up to the root, and dissolve every node with d > 1 on the way."""
    new, changed = v, False
    while v >= 0:
        if changed or v == new:
            form_node(forest, v, family, data)
        if set_potential(forest, v, moment) > 0.0:
            v = detach_smaller(forest, v)
            changed = True
        v = forest.parent[v]


@shared_kernel
def insert_items(forest, weights, family, data, items, balance_depth):
    """Insert the trees that wait in the forest, then the new items in order.

    Afterwards no internal node of the forest has d > 1, and every root has a row.
    """
    n_insertions = MOST_REINSERTIONS * forest.n_pending[0]
    for k in range(-1, items.shape[0]):
        if k >= 0:
            weigh_item(forest, items[k], weights.moment, family, data)
            forest.pending[0] = items[k]
            forest.n_pending[0] = 1
            n_insertions = 1 + MOST_REINSERTIONS
        while forest.n_pending[0] > 0:
            check_signals()
            forest.n_pending[0] -= 1
            x = forest.pending[forest.n_pending[0]]
            nearest, log_d, joint = -1, 0.0, 0.0
            if n_insertions > 0:
                n_insertions -= 1
                nearest, log_d, joint = _nearest_root(forest, x, weights.moment, family, data)
            if nearest < 0 or log_d > 0.0:
                add_root(forest, x)
            else:
                v = descend(forest, nearest, x, joint, weights.moment, family, data, balance_depth)
                _settle(forest, v, weights.moment, family, data)
    for k in range(forest.n_roots[0]):
        v = forest.roots[k]
        if forest.row[v] < 0:
            forest.row[v] = take_row(forest)
            fill_row(forest, forest.row[v], v, -1, family, data)


@shared_kernel
def regrow_forest(forest, larger, weights, family, data):
    """Copy a forest into an empty one with room for more items, and recompute everything for new data and a new u.

    Nodes with d > 1 under the new u are dissolved, and their smaller children wait for :func:`insert_items`.
    """
    n = larger.roots.shape[0]
    for x in range(forest.roots.shape[0]):
        weigh_item(larger, x, weights.moment, family, data)
    merges, _, tops = inner_merges(forest, n)
    n_rows = merges.shape[0]
    larger.n_free[0] = n - n_rows
    for k in range(n_rows):
        p, a, b = n + k, merges[k, 0], merges[k, 1]
        larger.row[p] = k
        larger.left[p], larger.right[p] = a, b
        larger.parent[a] = larger.parent[b] = p
    for top in tops:
        add_root(larger, top)
    for p in range(n, n + n_rows):
        check_signals()
        form_node(larger, p, family, data)
        if set_potential(larger, p, weights.moment) > 0.0:
            detach_smaller(larger, p)


def grow_forest(rng, weights, family, data, n, balance_depth=BALANCE_DEPTH, items=None):
    """Insert n items in random order, or ``items`` in their order, into a new forest: one incremental pass."""
    # Allocation alone is not worth compiling where Python makes the forest.
    forest = empty_forest.__wrapped__(n, family)
    items = rng.permutation(n) if items is None else items
    insert_items(forest, weights, family, data, items, balance_depth)
    return forest


def extend_forest(rng, forest, weights, family, data, n, balance_depth=BALANCE_DEPTH):
    """Insert further items, up to n in all, in random order into a forest that is recomputed under a new u."""
    old, larger = len(forest.roots), empty_forest.__wrapped__(n, family)
    regrow_forest(forest, larger, weights, family, data)
    insert_items(larger, weights, family, data, old + rng.permutation(n - old), balance_depth)
    return larger
