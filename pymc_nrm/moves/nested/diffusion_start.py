"""Where a chain on the tree of a diffusion starts: one binary tree over the items, cut at a threshold per level."""

import numpy as np

from pymc_nrm.families import NormalGamma
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.families.diffusion.base import BETWEEN_LEAVES
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees.guide_tree import guide_tree
from pymc_nrm.moves.guide_trees.tree import cut_tree

__all__ = ["diffusion_start"]


def diffusion_start(data, depth, rng):
    """Paths for the start of a chain, from incremental Bayesian hierarchical clustering with independent features.

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
    # Leaves are expected to be as wide, and as far apart, as under the default hyperparameters of diffusions.
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
