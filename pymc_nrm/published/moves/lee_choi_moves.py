"""Moves of the published tree-guided sampler (Lee & Choi 2015), whose trees depend on the history of the partition.

The state is a forest: every cluster is a binary tree, and every tree is listed among the roots.
"""

import math

import numpy as np

from pymc_nrm.families.base import add_item
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import copy_row, draw_categorical, draw_index, log_sum_exp, softplus
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.moves.guide_trees.incremental import (
    add_root,
    attach,
    descend,
    empty_forest,
    form_node,
    give_row,
    joint_log_marginal,
    pair_log_d,
    post_order,
    replace_child,
    set_potential,
    weigh_item,
)
from pymc_nrm.moves.split_merge import accept, empty_tally


@kernel
def nodes_below(left, right, v, n_leaves, with_leaves):
    """Nodes below v, and v itself; nodes less than ``n_leaves`` are leaves."""
    nodes = np.empty(2 * n_leaves, dtype=np.int64)
    # The nodes found so far are also the queue.
    nodes[0] = v
    count, done = 1, 0
    while done < count:
        v = nodes[done]
        done += 1
        if v >= n_leaves:
            for child in (left[v], right[v]):
                if with_leaves or child >= n_leaves:
                    nodes[count] = child
                    count += 1
    return nodes[:count]


@kernel
def draw_subtree(rng, log_d, nodes, n_leaves, goal):
    """Draw one of the nodes, or take ``goal`` if it is at least 0; return it and the log of its probability.

    This is SampleSub of Lee & Choi (2015): probabilities are proportional to ``d(v) + epsilon``, where epsilon is the
    largest d among the nodes, and leaves have d = 0.
    """
    highest = -np.inf
    for v in nodes:
        if v >= n_leaves:
            highest = max(highest, log_d[v])
    values = np.ones(nodes.shape[0])
    for k in range(nodes.shape[0]):
        v = nodes[k]
        if v >= n_leaves:
            values[k] += 1.0 if log_d[v] >= highest else math.exp(log_d[v] - highest)
    chosen = draw_index(rng, values) if goal < 0 else np.flatnonzero(nodes == goal)[0]
    return nodes[chosen], math.log(values[chosen] / values.sum())


@kernel
def draw_nested_subtree(rng, left, right, log_d, v, n_leaves, n_levels):
    """Draw a subtree of the tree below v, then a subtree of it, and so on ``n_levels`` times; return the last."""
    for _ in range(n_levels):
        if v < n_leaves:
            break
        v, _ = draw_subtree(rng, log_d, nodes_below(left, right, v, n_leaves, True), n_leaves, -1)
    return v


@kernel
def tree_log_d(forest, a, b, moment, family, data):
    """Log d between two trees."""
    if a < forest.roots.shape[0] <= b:
        a, b = b, a
    return pair_log_d(forest, a, b, joint_log_marginal(forest, a, b, family, data), moment)


@kernel
def log_cluster_weight(forest, v, moment):
    """Log of kappa(size, u) p(X), with the leaves of a node as one cluster."""
    return moment[forest.size[v]] + forest.log_marginal[v]


@kernel
def remove_root(forest, v):
    """Remove a tree from the list of roots."""
    last = forest.n_roots[0] - 1
    moved, k = forest.roots[last], forest.position[v]
    forest.roots[k] = moved
    forest.position[moved] = k
    forest.n_roots[0] = last
    if v < forest.roots.shape[0]:
        give_row(forest, v)


@kernel
def join_trees(forest, v, x, moment, family, data):
    """Put a listed tree v and an unlisted tree x below a new root, which replaces v in the list and is returned."""
    p = attach(forest, v, x)
    form_node(forest, p, family, data)
    set_potential(forest, p, moment)
    return p


@kernel
def separate(forest, p):
    """Undo :func:`join_trees`: the left child replaces root p in the list; return both children."""
    v, x = forest.left[p], forest.right[p]
    replace_child(forest, p, v)
    give_row(forest, p)
    forest.parent[x] = -1
    return v, x


@kernel
def insert(forest, v, x, moment, family, data):
    """SeqInsert: insert an unlisted tree x into the tree of root v, and return the new root.

    Of the three pairs among x and the children l and r of a node, the pair with the smallest d is joined.  If it is
    (l, r), x is inserted beside the node; otherwise x descends into the nearer child.
    """
    n = forest.roots.shape[0]
    joint = joint_log_marginal(forest, v, x, family, data) if v >= n else 0.0
    # No tree reaches this depth, so nothing is balanced.
    v = descend(forest, v, x, joint, moment, family, data, 2 * n)
    form_node(forest, v, family, data)
    set_potential(forest, v, moment)
    while forest.parent[v] >= 0:
        v = forest.parent[v]
        set_potential(forest, v, moment)
    return v


@kernel
def detach(forest, x, moment, family, data):
    """Remove a node that is not a root from its tree: the exact inverse of :func:`insert`."""
    p = forest.parent[x]
    v = forest.right[p] if forest.left[p] == x else forest.left[p]
    replace_child(forest, p, v)
    give_row(forest, p)
    forest.parent[x] = -1
    v = forest.parent[v]
    while v >= 0:
        form_node(forest, v, family, data)
        set_potential(forest, v, moment)
        v = forest.parent[v]


@shared_kernel
def plant_forest(rng, labels, weights, family, data):
    """Grow the forest of the clusters of canonical labels by inserting the items in random order."""
    n = labels.shape[0]
    forest = empty_forest(n, family)
    root = np.full(n, -1, dtype=np.int64)
    for i in random_items(rng, n, n):
        check_signals()
        weigh_item(forest, i, weights.moment, family, data)
        if root[labels[i]] < 0:
            add_root(forest, i)
            root[labels[i]] = i
        else:
            root[labels[i]] = insert(forest, root[labels[i]], i, weights.moment, family, data)
    return forest


@shared_kernel
def refresh_forest(forest, weights, family, data):
    """Recompute sums and potentials for another u, other hyperparameters or other data; trees keep their shape."""
    for v in post_order(forest):
        check_signals()
        if v < forest.roots.shape[0]:
            give_row(forest, v)
            weigh_item(forest, v, weights.moment, family, data)
        else:
            form_node(forest, v, family, data)
            set_potential(forest, v, weights.moment)


@kernel
def forest_labels(forest):
    """Labels of the items, shape (n,): the position of their tree among the roots."""
    n = forest.roots.shape[0]
    top = np.empty(2 * n, dtype=np.int64)
    for v in post_order(forest)[::-1]:
        top[v] = forest.position[v] if forest.parent[v] < 0 else top[forest.parent[v]]
    return top[:n].copy()


@kernel
def least_item(forest, v):
    """The smallest item of a tree."""
    return nodes_below(forest.left, forest.right, v, forest.roots.shape[0], True).min()


@kernel
def insert_at_random(rng, forest, begin, x, goal, deep, moment, family, data):
    """StocInsert of a tree x into the roots from position ``begin`` on; return whether it joined one and the log
    probability.

    It joins a tree s with probability proportional to 1 / d(s, x), and stays alone with probability proportional to 1;
    a ``goal`` of at least 0 prescribes the outcome.  It is inserted into the tree that it joins if ``deep``, else
    beside it.
    """
    n_trees = forest.n_roots[0] - begin
    values = np.zeros(n_trees + 1)
    for k in range(n_trees):
        values[k] = -tree_log_d(forest, forest.roots[begin + k], x, moment, family, data)
    chosen = goal if goal >= 0 else draw_categorical(rng, values)
    if chosen == n_trees:
        add_root(forest, x)
    elif deep:
        insert(forest, forest.roots[begin + chosen], x, moment, family, data)
    else:
        join_trees(forest, forest.roots[begin + chosen], x, moment, family, data)
    return chosen < n_trees, values[chosen] - log_sum_exp(values)


@kernel
def log_merge_of_last(forest, begin, moment, family, data):
    """Log of the sum, over the roots from ``begin`` on, of the probability that a merge picks one and all the others.

    Each pick has probability 1 over the number of trees, times 1 / (1 + d) for each tree to be merged and d / (1 + d)
    for each other tree.
    """
    n_roots = forest.n_roots[0]
    values = np.full(n_roots - begin, -math.log(n_roots))
    for j in range(begin, n_roots):
        check_signals()
        for k in range(n_roots):
            if k != j:
                log_d = tree_log_d(forest, forest.roots[j], forest.roots[k], moment, family, data)
                values[j - begin] -= softplus(log_d) if k >= begin else softplus(-log_d)
    return log_sum_exp(values)


@kernel
def take_apart(forest, v):
    """Remove an internal node and all nodes above it.

    Its children become the last two roots.  Returns the first child, and the parts that follow it: the second child
    and, from the bottom up, the branches off the path, which are unlisted.
    """
    first, parts, n_parts = forest.left[v], np.empty(forest.roots.shape[0], dtype=np.int64), 1
    parts[0] = forest.right[v]
    while forest.parent[v] >= 0:
        p = forest.parent[v]
        parts[n_parts] = forest.right[p] if forest.left[p] == v else forest.left[p]
        forest.parent[parts[n_parts]] = -1
        n_parts += 1
        give_row(forest, v)
        v = p
    remove_root(forest, v)
    give_row(forest, v)
    add_root(forest, first)
    add_root(forest, parts[0])
    return first, parts[:n_parts]


@kernel
def log_weight_of_last(forest, begin, moment):
    """Log of the product of the weights of the clusters from position ``begin`` on."""
    total = 0.0
    for k in range(begin, forest.n_roots[0]):
        total += log_cluster_weight(forest, forest.roots[k], moment)
    return total


@kernel
def split_last(rng, forest, log_q, moment, family, data, tally):
    """Propose to split the last root; return whether it was accepted.

    A subtree is drawn among the internal nodes.  Everything above it is taken apart.  Its children are the first two
    trees, and the branches off the path are inserted at random, from the bottom up.
    """
    n = forest.roots.shape[0]
    begin = forest.n_roots[0] - 1
    c = forest.roots[begin]
    log_ratio = -log_cluster_weight(forest, c, moment)
    nodes = nodes_below(forest.left, forest.right, c, n, False)
    v, log_p = draw_subtree(rng, forest.log_dissimilarity, nodes, n, -1)
    log_q += log_p
    first, parts = take_apart(forest, v)
    joined = np.zeros(parts.shape[0], dtype=np.bool_)
    for k in range(1, parts.shape[0]):
        check_signals()
        joined[k], log_p = insert_at_random(rng, forest, begin, parts[k], -1, True, moment, family, data)
        log_q += log_p
    log_ratio += log_weight_of_last(forest, begin, moment)
    log_ratio += log_merge_of_last(forest, begin, moment, family, data) - log_q
    if accept(rng, tally, False, log_ratio):
        return True
    for k in range(parts.shape[0] - 1, -1, -1):
        if joined[k]:
            detach(forest, parts[k], moment, family, data)
        else:
            remove_root(forest, parts[k])
    for part in parts:
        first = join_trees(forest, first, part, moment, family, data)
    return False


@kernel
def merge_into_last(rng, forest, trees, log_q, moment, family, data, tally):
    """Propose to merge trees one after another with the last root; return whether it was accepted."""
    n = forest.roots.shape[0]
    log_ratio = -log_q
    values = np.zeros(trees.shape[0])
    for k in range(trees.shape[0]):
        check_signals()
        log_ratio -= log_cluster_weight(forest, trees[k], moment)
        # The reverse split starts from the first two trees; every further tree stays alone.
        if k > 1:
            for j in range(k):
                values[j] = -tree_log_d(forest, trees[j], trees[k], moment, family, data)
            log_ratio -= softplus(log_sum_exp(values[:k]))
    merged, first = trees[0], -1
    for x in trees[1:]:
        remove_root(forest, x)
        merged = join_trees(forest, merged, x, moment, family, data)
        first = merged if first < 0 else first
    log_ratio += log_cluster_weight(forest, merged, moment) - math.log(forest.n_roots[0])
    for k in range(forest.n_roots[0]):
        if forest.roots[k] != merged:
            log_ratio -= softplus(-tree_log_d(forest, merged, forest.roots[k], moment, family, data))
    nodes = nodes_below(forest.left, forest.right, merged, n, False)
    log_ratio += draw_subtree(rng, forest.log_dissimilarity, nodes, n, first)[1]
    if accept(rng, tally, True, log_ratio):
        return True
    for _ in range(trees.shape[0] - 1):
        merged, x = separate(forest, merged)
        add_root(forest, x)
    return False


@kernel
def draw_trees(rng, forest, c, moment, family, data):
    """Choose each tree other than c with probability 1 / (1 + d).

    Returns the chosen trees and c, ordered by their smallest items, and the log probability of the choice.
    """
    n_roots = forest.n_roots[0]
    trees, least = np.empty(n_roots, dtype=np.int64), np.empty(n_roots, dtype=np.int64)
    trees[0], least[0] = c, -1
    log_q, n_trees = 0.0, 1
    for root in forest.roots[:n_roots]:
        if root == c:
            continue
        log_d = tree_log_d(forest, c, root, moment, family, data)
        if math.log(rng.random()) < -softplus(log_d):
            trees[n_trees], least[n_trees] = root, least_item(forest, root)
            n_trees += 1
            log_q -= softplus(log_d)
        else:
            log_q -= softplus(-log_d)
    return trees[np.argsort(least[:n_trees])], log_q


@kernel
def global_move(rng, forest, weights, family, data, tally):
    """Pick a tree uniformly and merge every other one with it with probability 1 / (1 + d); if none, split it.

    The split of a single item is rejected.  Does not leave the target invariant. Returns whether the move was accepted.
    """
    moment = weights.moment
    last = forest.n_roots[0] - 1
    c = forest.roots[int(rng.random() * (last + 1))]
    moved, k = forest.roots[last], forest.position[c]
    forest.roots[k], forest.roots[last] = moved, c
    forest.position[moved], forest.position[c] = k, last
    trees, log_q = draw_trees(rng, forest, c, moment, family, data)
    log_q -= math.log(last + 1.0)
    if trees.shape[0] > 1:
        return merge_into_last(rng, forest, trees, log_q, moment, family, data, tally)
    if c < forest.roots.shape[0]:
        return accept(rng, tally, False, math.nan)
    return split_last(rng, forest, log_q, moment, family, data, tally)


@kernel
def local_items(rng, forest, n_levels):
    """For every tree, draw a subtree, a subtree of it, and so on ``n_levels`` times; return the items of the last."""
    n = forest.roots.shape[0]
    left, right, log_d = forest.left, forest.right, forest.log_dissimilarity
    items, count = np.empty(n, dtype=np.int64), 0
    for root in forest.roots[: forest.n_roots[0]]:
        v = draw_nested_subtree(rng, left, right, log_d, root, n, n_levels)
        for node in nodes_below(left, right, v, n, True):
            if node < n:
                items[count] = node
                count += 1
    return items[:count]


@kernel
def move_item(rng, forest, item, weights, family, data):
    """Gibbs update of an item's cluster: remove it from its tree and insert it into another; return if it moved."""
    moment = weights.moment
    root = item
    while forest.parent[root] >= 0:
        root = forest.parent[root]
    n_roots = forest.n_roots[0]
    values = np.empty(n_roots + 1)
    for k in range(n_roots):
        v = forest.roots[k]
        if v != root:
            joint = joint_log_marginal(forest, v, item, family, data)
            values[k] = weights.join[forest.size[v]] + joint - forest.log_marginal[v]
        elif root == item:
            values[k] = -np.inf
        else:
            work = forest.statistics[forest.roots.shape[0]]
            copy_row(work, forest.statistics[forest.row[root]])
            add_item(family, work, data, item, -1.0)
            values[k] = weights.join[forest.size[v] - 1] + forest.log_marginal[v] - log_marginal(family, work)
    values[n_roots] = weights.join[0] + forest.log_marginal[item]
    chosen = draw_categorical(rng, values)
    alone = chosen == n_roots
    target = item if alone else forest.roots[chosen]
    if target == root:
        return False
    if root == item:
        remove_root(forest, item)
    else:
        detach(forest, item, moment, family, data)
    if alone:
        add_root(forest, item)
    else:
        insert(forest, target, item, moment, family, data)
    return True


@shared_kernel
def published_cycle(rng, forest, weights, family, data, n_global, n_levels):
    """Make global moves, then local moves, on a forest whose sums and potentials are up to date. Returns the outcomes
    of the global moves, and the number of items that changed their cluster in local moves.
    """
    tally = empty_tally()
    for _ in range(n_global):
        check_signals()
        global_move(rng, forest, weights, family, data, tally)
    n_moved = 0
    for item in local_items(rng, forest, n_levels):
        check_signals()
        n_moved += move_item(rng, forest, item, weights, family, data)
    return tally, n_moved
