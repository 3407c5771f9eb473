"""Sweeps over the tree of a normal diffusion."""

import numpy as np

from pymc_nrm.families import NormalGamma
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import shuffle
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees.guide_tree import guide_tree
from pymc_nrm.moves.guide_trees.tree import cut_tree
from pymc_nrm.nested.families.base import BETWEEN_LEAVES, log_likelihood, whitened_tree
from pymc_nrm.nested.moves.diffusion_moves import move_item, new_work, regraft_node, split_or_merge


def diffusion_start(data, depth, rng):
    """Initial paths of a chain, from incremental Bayesian hierarchical clustering with independent features.

    The leaves are the clusters of the tree at log d = 0.  If there are K of them, levels above have thresholds that cut
    the tree into about ``K^(l / depth)`` nodes on level l.  Cuts take the largest subtrees below a threshold, so that
    cuts at increasing thresholds are nested for every tree. Each column has labels in order of appearance. Shapes:
    returns (n, depth).
    """
    values = data.values
    n = len(values)
    paths = np.zeros((n, depth), dtype="int64")
    varies = values.min(axis=0, initial=np.inf) < values.max(axis=0, initial=-np.inf)
    if n < 2 or not varies.any():
        return paths
    values = values[:, varies]
    # Leaves are expected to have the widths and distances of the default hyperparameters of diffusions.
    width = values.var(axis=0, ddof=1) / (1.0 + BETWEEN_LEAVES)
    family = NormalGamma(mu=values.mean(axis=0), kappa=1.0 / BETWEEN_LEAVES, alpha=2.0, beta=width)
    family = broadcast_hyperparameters(family, n, values.shape[1])
    prepared = prepare_data(family, values)
    table = weights(DirichletProcess(1.0), n, 0.0)
    tree = guide_tree(rng, table, localise(family, prepared), prepared)
    paths[:, -1] = cut_tree(tree)
    n_leaves = paths[:, -1].max() + 1
    above = np.sort(tree.log_dissimilarity[n:][tree.log_dissimilarity[n:] > 0.0])
    for level in range(1, depth):
        # A threshold that leaves m - 1 merges above it cuts the tree into at least m nodes.
        n_nodes = max(round(n_leaves ** (level / depth)), 1)
        n_below = max(len(above) - (n_nodes - 1), 0)
        paths[:, level - 1] = cut_tree(tree, above[n_below - 1] if n_below else 0.0)
    return paths


@kernel
def random_regraft(rng, tree, levels, work):
    """Move a random node and its descendants to a new place, see :func:`regraft_node`.

    Its level is drawn uniformly from the levels with more than one place; with probability 1/2 it is the node of a
    random item, else a node drawn uniformly.
    """
    n, depth = tree.paths.shape
    if depth < 2:
        return
    level = 2 + int(rng.random() * (depth - 1))
    if rng.random() < 0.5:
        slot = tree.paths[int(rng.random() * n), level - 1]
    else:
        slot = tree.active[level, int(rng.random() * tree.sizes[level])]
    regraft_node(rng, tree, levels, level, slot, work)


@kernel
def diffusion_sweep(rng, paths, levels, family, data, n_moves):
    """Redraw the path of every item once, in random order, and move, split and merge nodes.

    With S integrated out items depend on each other even given the means of the nodes.  The sweep therefore begins with
    a draw of S from its distribution given the tree and the data, node means integrated out: the inverse-Wishart
    distribution with scatter ``Psi + (X - mu)' inverse(C) (X - mu)``, or its analogue for independent features.  All
    moves leave p(tree | S, data) invariant.  If the tree is distributed as p(tree | data), tree and S are thus
    distributed as p(tree, S | data) after the draw and after every move, and the tree as p(tree | data) in the end; S
    is discarded.

    Sweeps leave p(tree | data) invariant and are irreducible for any ``n_moves``. Returns the log likelihood of the
    data given the tree after the sweep. Shapes: ``paths`` (n, depth).
    """
    n, depth = paths.shape
    tree, values, _ = whitened_tree(rng, paths, family, data)
    work, units = new_work(n, values.shape[1], depth), np.empty((2, n), dtype=np.int64)
    order = np.arange(n)
    shuffle(rng, order)
    for item in order:
        check_signals()
        move_item(rng, tree, levels, values, item, work)
    for _ in range(n_moves):
        check_signals()
        random_regraft(rng, tree, levels, work)
        split_or_merge(rng, tree, levels, values, units, work)
    return log_likelihood(paths, family, data)
