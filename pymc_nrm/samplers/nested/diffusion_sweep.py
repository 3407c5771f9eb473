"""Sweeps over the tree of a normal diffusion."""

import numpy as np

from pymc_nrm.generic import kernel
from pymc_nrm.interrupts import check_signals
from pymc_nrm.samplers.nested.diffusion_moves import move_item, new_work, regraft_node
from pymc_nrm.tree_families.base import draw_whitening, transform_row
from pymc_nrm.tree_families.messages import log_likelihood, residual_scatter
from pymc_nrm.tree_families.node_tree import build_node_tree

__all__ = ["diffusion_sweep"]


@kernel
def _shuffle(rng, order):
    for i in range(order.shape[0] - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        order[i], order[j] = order[j], order[i]


@kernel
def diffusion_sweep(rng, paths, levels, family, data, n_regrafts):
    """Redraw the path of every item once, in random order, and the places of some nodes.

    With S integrated out items depend on each other even given the means of the nodes.  The sweep therefore begins with
    a draw of S from its law given the tree and the data, node means integrated out: the inverse-Wishart law with
    scatter ``Psi + (X - mu)' inverse(C) (X - mu)``, or its like for independent features.  All moves leave p(tree | S,
    data) invariant.  If the tree has the law p(tree | data), tree and S thus have the law p(tree, S | data) after the
    draw and after every move, and the tree p(tree | data) in the end; S is forgotten.

    Sweeps leave p(tree | data) invariant and are irreducible, with or without regrafts.

    Parameters
    ----------
    rng : numpy.random.Generator
    paths : ndarray of int64, shape (n, depth)
        Nested labels from 0 to n - 1, in any order; changed in place.
    levels : Levels
    family : tree family
        Of full shape, localised.
    data : Centred
    n_regrafts : int
        Number of nodes to be moved with all that is below them: the level is drawn uniformly from those that have more
        than one place, the node as that of a random item or uniformly, with probability 1/2 each.

    Returns
    -------
    float
        Log likelihood of the data given the tree after the sweep.
    """
    n, depth = paths.shape
    values = data.values - family.mu
    d = values.shape[1]
    work = new_work(n, d, depth)
    tree = build_node_tree(paths, values, family.tau)
    scatter, _ = residual_scatter(family, tree, values)
    matrix = draw_whitening(family, scatter, n, rng)[0]
    for item in range(n):
        transform_row(family, matrix, values[item], work.message)
    for level in range(depth + 1):
        for k in range(tree.sizes[level]):
            transform_row(family, matrix, tree.totals[level, tree.active[level, k]], work.message)
    order = np.arange(n)
    _shuffle(rng, order)
    for item in order:
        check_signals()
        move_item(rng, tree, levels, values, item, work)
    for _ in range(n_regrafts if depth > 1 else 0):
        check_signals()
        level = 2 + int(rng.random() * (depth - 1))
        if rng.random() < 0.5:
            slot = paths[int(rng.random() * n), level - 1]
        else:
            slot = tree.active[level, int(rng.random() * tree.sizes[level])]
        regraft_node(rng, tree, levels, level, slot, work)
    return log_likelihood(paths, family, data)
