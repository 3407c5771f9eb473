"""The published global move made exact: the tree of a cluster is a restricted guide tree, which has no memory."""

import math

import numpy as np

from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.moves.guide_trees.incremental import add_root, empty_forest, give_row, weigh_item
from pymc_nrm.moves.guide_trees.tree import leaves, tops_of_cut
from pymc_nrm.moves.split_merge import accept, empty_tally
from pymc_nrm.published.lee_choi_moves import (
    draw_nested_subtree,
    draw_subtree,
    draw_trees,
    forest_labels,
    insert_at_random,
    join_trees,
    least_item,
    log_merge_of_last,
    log_weight_of_last,
    nodes_below,
    remove_root,
    take_apart,
)


@kernel
def plant_restricted(forest, tree, chosen, moment, family, data):
    """Add the guide tree, restricted to the chosen items, to a forest that lacks them; return its node of every node.

    All other leaves, and then all nodes with a single child, are dropped::

             .                          .
           .   .       restricted     .   .
          .     .      to a, b, d    .     d
         . .   . .                  a b
         a b   c d

    Shapes: ``chosen`` (n,); returns (2n - 1,).
    """
    n = chosen.shape[0]
    name = np.full(2 * n - 1, -1, dtype=np.int64)
    for v in range(2 * n - 1):
        if v < n:
            if chosen[v]:
                name[v] = v
                add_root(forest, v)
            continue
        a, b = name[tree.left[v]], name[tree.right[v]]
        name[v] = max(a, b)
        if min(a, b) >= 0:
            check_signals()
            remove_root(forest, b)
            name[v] = join_trees(forest, a, b, moment, family, data)
    return name


@kernel
def fell(forest, root):
    """Remove a tree with all its nodes."""
    for v in nodes_below(forest.left, forest.right, root, forest.roots.shape[0], False):
        give_row(forest, v)
    remove_root(forest, root)


@kernel
def find_split(tree, side):
    """The node of the guide tree whose split can give these clusters, or -1 if there is none; there is at most one.

    ``side`` has the cluster of each item, -1 for items that do not matter.  In the restricted tree each child of the
    node must lie in a single cluster, and so must each sibling on the path to the root.
    """
    n = side.shape[0]
    pure = np.empty(2 * n - 1, dtype=np.int64)
    for v in range(2 * n - 1):
        if v < n:
            pure[v] = side[v]
        else:
            a, b = pure[tree.left[v]], pure[tree.right[v]]
            pure[v] = max(a, b) if a == b or min(a, b) == -1 else -2
    v = 2 * n - 2
    while True:
        a, b = tree.left[v], tree.right[v]
        if pure[a] >= 0 and pure[b] >= 0:
            return v
        if pure[a] == -2 and pure[b] == -2:
            return -1
        # Descend into the child with items of several clusters.
        v = a if pure[a] == -2 else b


@kernel
def _tree_of(forest, begin, x, side):
    """Position after ``begin`` of the tree with items of the cluster of x; the end of the list if there is none."""
    k = begin
    while k < forest.n_roots[0] and side[least_item(forest, forest.roots[k])] != side[least_item(forest, x)]:
        k += 1
    return k - begin


@kernel
def canonical_split_merge(rng, forest, tree, moment, family, data, tally):
    """The global move of Lee & Choi (2015) with canonical trees, by Metropolis-Hastings on partitions.

    A cluster is picked uniformly, and every other one is chosen for a merge with it with probability 1 / (1 + d).  If
    none is chosen, the cluster is split: an internal node of its tree is drawn, everything above it is taken apart, and
    the parts are inserted at random from the bottom up.  Each outcome of a split has a single path, so its probability
    is the product along the path.  The probability of a merge is the sum over the clusters that may have been picked.
    A merge is possible only if a split of the union can undo it.  Both directions plant the union and take it apart, a
    merge into the clusters that there are.  The move leaves the target given u invariant; by itself it is not
    irreducible.
    """
    n = forest.roots.shape[0]
    c = forest.roots[int(rng.random() * forest.n_roots[0])]
    trees, _ = draw_trees(rng, forest, c, moment, family, data)
    merging = trees.shape[0] > 1
    side = np.full(n, -1, dtype=np.int64)
    for k in range(trees.shape[0]):
        for v in nodes_below(forest.left, forest.right, trees[k], n, True):
            if v < n:
                side[v] = k
    guide_node = find_split(tree, side) if merging else 0
    if guide_node < 0 or (c < n and not merging):
        accept(rng, tally, merging, math.nan)
        return
    for root in trees:
        fell(forest, root)
    begin = forest.n_roots[0]
    name = plant_restricted(forest, tree, side >= 0, moment, family, data)
    log_ratio = -log_weight_of_last(forest, begin, moment) - log_merge_of_last(forest, begin, moment, family, data)
    nodes = nodes_below(forest.left, forest.right, forest.roots[begin], n, False)
    goal = name[guide_node] if merging else -1
    node, log_p = draw_subtree(rng, forest.log_dissimilarity, nodes, n, goal)
    log_ratio -= log_p
    _, parts = take_apart(forest, node)
    for part in parts[1:]:
        check_signals()
        goal = _tree_of(forest, begin, part, side) if merging else -1
        _, log_p = insert_at_random(rng, forest, begin, part, goal, False, moment, family, data)
        log_ratio -= log_p
    log_ratio += log_weight_of_last(forest, begin, moment) + log_merge_of_last(forest, begin, moment, family, data)
    if accept(rng, tally, merging, -log_ratio if merging else log_ratio) == merging:
        while forest.n_roots[0] > begin:
            fell(forest, forest.roots[begin])
        plant_restricted(forest, tree, side >= 0, moment, family, data)


@kernel
def canonical_moves(rng, labels, weights, family, data, tree, n_moves):
    """Make moves of :func:`canonical_split_merge`; return labels in any order and what became of the moves."""
    tally = empty_tally()
    forest = empty_forest(labels.shape[0], family)
    for i in range(labels.shape[0]):
        weigh_item(forest, i, weights.moment, family, data)
    for cluster in range(labels.max() + 1):
        plant_restricted(forest, tree, labels == cluster, weights.moment, family, data)
    for _ in range(n_moves):
        check_signals()
        canonical_split_merge(rng, forest, tree, weights.moment, family, data, tally)
    return forest_labels(forest), tally


@kernel
def canonical_items(rng, tree, n_levels):
    """Items for Gibbs updates, drawn from a guide tree without regard to the partition.

    The largest subtrees with d <= 1 play the role of the clusters.  From each, a subtree is drawn, then a subtree of
    that, and so on ``n_levels`` times; the result is the items of the last subtrees.
    """
    n = tree.order.shape[0]
    items, count = np.empty(n, dtype=np.int64), 0
    for top in np.unique(tops_of_cut(tree, 0.0))[::-1]:
        v = draw_nested_subtree(rng, tree.left, tree.right, tree.log_dissimilarity, top, n, n_levels)
        for item in leaves(tree, v):
            items[count] = item
            count += 1
    return items[:count]
