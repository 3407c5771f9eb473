"""The published tree-guided sampler, which does not leave the posterior invariant, and an exact form of it."""

import math
import warnings
from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.pymc_internals import dataclass_state
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel, precompile
from pymc_nrm.moves.gibbs import gibbs_sweep, weights_of_two
from pymc_nrm.moves.guide_trees.guide_tree import guide_tree
from pymc_nrm.moves.guide_trees.incremental import add_root, empty_forest, give_row, grow_forest, weigh_item
from pymc_nrm.moves.guide_trees.tree import cut_tree, leaves, tops_of_cut
from pymc_nrm.moves.split_merge import SPLIT_MERGE_STATS, accept, empty_tally, split_merge_statistics
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.published.moves.lee_choi_moves import (
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
    plant_forest,
    published_cycle,
    refresh_forest,
    remove_root,
    take_apart,
)
from pymc_nrm.steps.base import PartitionStep
from pymc_nrm.steps.step import StepState

_WARNING = (
    "PublishedTreeGuided does not leave the posterior invariant: on 4 and 5 items its draws have a total\n"
    "variation distance of 0.14 to 0.31 from it, more with more items. Use it to reproduce Lee & Choi\n"
    "(2015) or as a fast search; to sample from the posterior, use TreeGuided or canonical=True"
)


@dataclass_state
class PublishedTreeGuidedState(StepState):
    """State needed to resume a chain: options, and the trees of clusters or the guide tree."""

    forest: Any = None
    tree: Any = None
    n_steps: int = 0
    n_tune: int = 0
    tuning: bool = True


class PublishedTreeGuided(PartitionStep):
    """The tree-guided sampler of Lee & Choi (2015), which does **not** leave the posterior invariant.

    With 4 and 5 items, the total variation distance between its draws and the posterior is 0.14 to 0.31, and it grows
    with the number of items.  The sampler favours a few large clusters, so its log joint density is often higher than
    in posterior draws.  It is included to reproduce published results, and as a fast search; the constructor warns
    about the bias.  :class:`TreeGuided` is exact, and so is this step with ``canonical=True``.

    Every cluster has a binary tree, which incremental Bayesian hierarchical clustering builds and the moves change.  A
    draw makes ``n_global`` global moves, each of which merges several clusters or splits one along its tree.  Then, for
    every cluster, it makes Gibbs updates of the items below a node.  The node is found by drawing a subtree of a
    subtree ``n_levels`` times.

    Parameters
    ----------
    vars : list of Partition
    n_global : int
        Number of global moves per draw, G in the paper.
    n_levels : int
        How many times a subtree is drawn from the previous one to find the items of the local moves, D in the paper.
        More levels give fewer items; 0 levels give all items.
    canonical : bool
        Whether to use the exact form of the moves, which raises no warning.  The tree of a cluster is then a guide tree
        over all items, restricted to the cluster.  The probability of a merge is the sum over the clusters that may
        have been picked first.  Local moves take items below nodes drawn from the guide tree, whatever the partition.
    %(step_options)s

    Raises
    ------
    ValueError
        If a number of moves is negative, or the step does not support how the model uses the labels.

    Warns
    -----
    UserWarning
        Unless ``canonical``.

    Notes
    -----
    The published sampler has three errors, each of which alone biases it.  The items of local moves are drawn with
    probabilities that depend on the partition and its trees.  A merge does not rebuild the tree that the split took
    apart, so the reverse probability belongs to another move.  A merge counts only the actual pick, while the reverse
    of a split counts all picks.

    Where the paper is ambiguous, or its text and its supplement differ, this implementation makes these choices.

    - A global move picks a tree uniformly and puts every other one into a set M with probability 1 / (1 + d).  If M is
      empty the move is a split, otherwise a merge; the picked tree is not in M, and the merge removes it.
    - Probabilities of the members of M and of the others are multiplied (eq. 11), not added as in the supplement.
    - The reverse of a split is summed over all trees that a merge could pick; a merge has the probability of the actual
      pick.
    - A merge joins the picked tree with the first of M, the result with the second, and so on, ordered by their
      smallest items; nothing is inserted deeper.
    - SampleSub draws a node with probability proportional to d + epsilon, where epsilon is the largest d in the current
      subtree and d = 0 for a leaf.  A single leaf is drawn with probability 1.  For a split only internal nodes are
      drawn; a split of a single item is rejected.
    - The trees that remain after a split are inserted from the bottom of the path to its top.  StocInsert sees the
      trees as they are after the earlier insertions.
    - SeqInsert compares the same three pairs for a tree as for an item; nothing is cut off where d > 1.
    - Local moves draw one subtree per cluster before the first update.  An item that stays in its cluster keeps its
      place in the tree.
    - u and hyperparameters are redrawn between draws; potentials are then recomputed, and trees keep their shape.

    If another step has changed the labels, trees are rebuilt from the items in random order.  Without ``initval`` a
    chain starts from one run of incremental clustering in its own random order.

    With ``canonical=True`` the guide tree is grown at the first draw and once more halfway through tuning, and then
    kept.  A merge is possible only if one split along the guide tree can undo it, so :class:`TreeGuided` mixes better.

    References
    ----------
    Lee & Choi (2015), "Tree-guided MCMC inference for normalized random measure mixture models", NIPS 28.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     step = nrm.published.PublishedTreeGuided([z], canonical=True)
    >>> [variable.name for variable in step.vars]
    ['z']
    """

    name = "published_tree_guided"
    _state_class = PublishedTreeGuidedState
    needs = (*PartitionStep.needs, log_marginal)
    stats_dtypes_shapes = {
        **PartitionStep.common_stats,
        "n_moved": (np.int64, []),
        **SPLIT_MERGE_STATS,
    }

    def __init__(
        self, vars: Any = None, *, n_global: int = 20, n_levels: int = 2, canonical: bool = False, **kwargs: Any
    ) -> None:
        check_count("n_global", n_global, 0)
        check_count("n_levels", n_levels, 0)
        if not canonical:
            warnings.warn(_WARNING, UserWarning, stacklevel=2)
        options = {"n_global": n_global, "n_levels": n_levels, "canonical": bool(canonical)}
        self._reset(0)
        super().__init__(vars, options=options, **kwargs)
        self._reset(0)

    def _reset(self, tune):
        self.forest, self.tree = None, None
        self.n_steps, self.n_tune, self.tuning = 0, tune, tune > 0

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self._reset(tune)

    def stop_tuning(self):
        self.tuning = False

    def precompile_moves(self, state, table, family, data):
        """Compile the kernels for the types of the arguments, on trees of at most two items."""
        rng = np.random.default_rng(0)
        small = weights_of_two(table)
        if self.options["canonical"]:
            tree = guide_tree(rng, small, family, data)
            precompile(canonical_moves, self.rng, state.labels, table, family, data, tree, 1)
            precompile(canonical_items, self.rng, tree, 1)
            precompile(gibbs_sweep, self.rng, state, table, family, data, state.labels)
            return
        forest = grow_forest(rng, small, family, data, len(small.moment) - 1)
        precompile(plant_forest, self.rng, state.labels, table, family, data)
        precompile(refresh_forest, forest, table, family, data)
        precompile(published_cycle, self.rng, forest, table, family, data, 1, 1)
        precompile(forest_labels, forest)

    def start(self, rng, table, family, data):
        """Initial labels: from the guide tree, or from the trees of clusters."""
        if self.options["canonical"]:
            self.tree = guide_tree(rng, table, family, data)
            return cut_tree(self.tree)
        n = len(table.moment) - 1
        # No tree reaches this depth, so the trees are as published.
        self.forest = grow_forest(rng, table, family, data, n, balance_depth=n)
        return canonical_labels(forest_labels(self.forest))

    def moves(self, state, table, family, data):
        """Make global moves, then local moves; return the new state and their statistics."""
        cycle = self._canonical_cycle if self.options["canonical"] else self._published_cycle
        state, tally, n_moved = cycle(state, table, family, data)
        self.n_steps += 1
        return state, split_merge_statistics({"n_moved": n_moved, **tally._asdict()})

    def _published_cycle(self, state, table, family, data):
        if self.forest is not None and np.array_equal(canonical_labels(forest_labels(self.forest)), state.labels):
            refresh_forest(self.forest, table, family, data)
        else:
            self.forest = plant_forest(self.rng, state.labels, table, family, data)
        n_global, n_levels = self.options["n_global"], self.options["n_levels"]
        tally, n_moved = published_cycle(self.rng, self.forest, table, family, data, n_global, n_levels)
        labels = canonical_labels(forest_labels(self.forest))
        return build_state(labels, family, data), tally, n_moved

    def _canonical_cycle(self, state, table, family, data):
        if self.tree is None or (self.tuning and 0 < self.n_steps == self.n_tune // 2):
            self.tree = guide_tree(self.rng, table, family, data)
        n_global, n_levels = self.options["n_global"], self.options["n_levels"]
        labels, tally = canonical_moves(self.rng, state.labels, table, family, data, self.tree, n_global)
        state = build_state(canonical_labels(labels), family, data)
        items = canonical_items(self.rng, self.tree, n_levels)
        state, n_moved = gibbs_sweep(self.rng, state, table, family, data, items)
        return state, tally, n_moved


# The exact global move: the tree of a cluster is the restricted guide tree, which has no memory.


@kernel
def plant_restricted(forest, tree, chosen, moment, family, data):
    """Add the guide tree, restricted to the chosen items, to a forest that lacks them; return each node's new node.

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
    """Return the node of the guide tree whose split can give these clusters, or -1; there is at most one.

    ``side`` has the cluster of each item, -1 for items to ignore.  In the restricted tree each child of the node must
    lie in a single cluster, and so must each sibling on the path to the root.
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
    """Position after ``begin`` of the tree that holds the cluster of x; the length of the list if there is none."""
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
    A merge is possible only if a split of the union can reverse it.  Both directions plant the union and take it apart;
    a merge takes it apart into the current clusters.  The move leaves the target given u invariant; by itself it is not
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


@shared_kernel
def canonical_moves(rng, labels, weights, family, data, tree, n_moves):
    """Make moves of :func:`canonical_split_merge`; return labels in any order and the outcomes of the moves."""
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
    """Draw items for Gibbs updates from a guide tree, independently of the partition.

    The largest subtrees with d <= 1 play the role of the clusters.  From each, a subtree is drawn, then a subtree of
    it, and so on ``n_levels`` times; the result is the items of the last subtrees.
    """
    n = tree.order.shape[0]
    items, count = np.empty(n, dtype=np.int64), 0
    for top in np.unique(tops_of_cut(tree, 0.0))[::-1]:
        v = draw_nested_subtree(rng, tree.left, tree.right, tree.log_dissimilarity, top, n, n_levels)
        for item in leaves(tree, v):
            items[count] = item
            count += 1
    return items[:count]
