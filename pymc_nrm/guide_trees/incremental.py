"""Incremental Bayesian hierarchical clustering (Lee & Choi 2014): items are inserted one after another."""

import math

import numpy as np

from pymc_nrm.guide_trees.forest import (
    absorb,
    add_root,
    attach,
    detach_smaller,
    empty_forest,
    form_node,
    joint_log_marginal,
    pair_log_d,
    post_order,
    set_potential,
)
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals

# A tree that was cut off is reinserted and may cause further cuts.  After this many, trees that are cut off stay roots.
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
    """Insert x below or beside node v and return the new node; the nodes above it are updated except for potentials.

    Of the three pairs among x and the children l and r of v, the one with the smallest d is joined first.  At great
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


@kernel
def insert_items(forest, weights, family, data, items, balance_depth):
    """Insert the trees that wait in the forest, then new items in the given order.

    Afterwards no internal node of the forest has d > 1.
    """
    n_insertions = MOST_REINSERTIONS * forest.n_pending[0]
    for k in range(-1, items.shape[0]):
        if k >= 0:
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


@kernel
def regrow_forest(forest, weights, family, data, n):
    """Copy a forest into one with room for n items, and recompute everything for these data and this u.

    Nodes with d > 1 under the new u are dissolved, and their smaller children wait for :func:`insert_items`.
    """
    larger = empty_forest(n, weights, family, data)
    old = forest.roots.shape[0]
    n_rows = 0
    nodes = post_order(forest)
    # Number internal nodes n, n + 1, ... in order, children before parents.
    name = np.arange(2 * old)
    for v in nodes:
        if v >= old:
            name[v] = n + n_rows
            n_rows += 1
    larger.n_free[0] = n - n_rows
    for k in range(n - n_rows):
        larger.free[k] = n - 1 - k
    for v in nodes:
        if v >= old:
            p, a, b = name[v], name[forest.left[v]], name[forest.right[v]]
            larger.row[p] = p - n
            larger.left[p], larger.right[p] = a, b
            larger.parent[a] = larger.parent[b] = p
    for k in range(forest.n_roots[0]):
        add_root(larger, name[forest.roots[k]])
    for p in range(n, n + n_rows):
        check_signals()
        form_node(larger, p, family, data)
        if set_potential(larger, p, weights.moment) > 0.0:
            detach_smaller(larger, p)
    return larger


def grow_forest(rng, weights, family, data, n, balance_depth=BALANCE_DEPTH):
    """Insert n items in random order into a new forest: one pass of incremental clustering.

    Only the order is random.  Memory is n + 1 rows of statistics and cache, plus about 150 n bytes.
    """
    forest = empty_forest(n, weights, family, data)
    insert_items(forest, weights, family, data, rng.permutation(n), balance_depth)
    return forest


def extend_forest(rng, forest, weights, family, data, n, balance_depth=BALANCE_DEPTH):
    """Insert further items, up to n in all, in random order into a forest that is recomputed under a new u."""
    old = len(forest.roots)
    forest = regrow_forest(forest, weights, family, data, n)
    insert_items(forest, weights, family, data, old + rng.permutation(n - old), balance_depth)
    return forest
