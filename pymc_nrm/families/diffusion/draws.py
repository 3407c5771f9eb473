"""Draws given a tree: of data, and of the means of the nodes given the data."""

import math

import numpy as np

from pymc_nrm.families.diffusion.base import draw_whitening, new_scatter, transform_row
from pymc_nrm.families.diffusion.messages import residual_scatter
from pymc_nrm.families.diffusion.node_tree import build_node_tree
from pymc_nrm.kernels.generic import kernel


@kernel
def _draw_whitened_means(tree, rng):
    """Node means given what the tree says about them, for S = I, shape (depth + 1, n, d); occupied slots only."""
    n_levels, n, d = tree.totals.shape
    means = np.empty((n_levels, n, d))
    for level in range(n_levels):
        tau = tree.tau[level]
        for k in range(tree.sizes[level]):
            slot, above = tree.active[level, k], tree.parents[level, tree.active[level, k]]
            shrinkage = 1.0 / (1.0 + tau * tree.precisions[level, slot])
            for j in range(d):
                parent = means[level - 1, above, j] if level > 0 else 0.0
                means[level, slot, j] = shrinkage * (tau * tree.totals[level, slot, j] + parent)
                means[level, slot, j] += math.sqrt(tau * shrinkage) * rng.standard_normal()
    return means


@kernel
def draw_data(family, paths, rng):
    """Draw data given a tree: the covariance S of items, then the means of all nodes, then the items. Shapes: ``paths``
    (n, depth); returns (n, d).
    """
    n, depth = paths.shape
    d = family.mu.shape[0]
    tree = build_node_tree(paths, np.zeros((n, d)), family.tau)
    # Without data the messages are empty.
    tree.precisions[:] = 0.0
    means = _draw_whitened_means(tree, rng)
    root = draw_whitening(family, new_scatter(family), 0, rng)[1]
    values, work = np.empty((n, d)), np.empty(d)
    for item in range(n):
        for j in range(d):
            values[item, j] = means[depth, paths[item, depth - 1], j] + rng.standard_normal()
        transform_row(family, root, values[item], work)
        for j in range(d):
            values[item, j] += family.mu[j]
    return values


@kernel
def whitened_tree(rng, paths, family, data):
    """Draw S given the tree and the data, and build the state of the tree with whitened data. ``values`` are whitened
    data, relative to mu; ``root`` is R with ``R R' = S``. Shapes: ``paths`` (n, depth); returns ``values`` (n, d).
    """
    values = data.values - family.mu
    n, d = values.shape
    tree = build_node_tree(paths, values, family.tau)
    scatter, _ = residual_scatter(family, tree, values)
    whitening, work = draw_whitening(family, scatter, n, rng), np.empty(d)
    for item in range(n):
        transform_row(family, whitening[0], values[item], work)
    for level in range(tree.sizes.shape[0]):
        for k in range(tree.sizes[level]):
            transform_row(family, whitening[0], tree.totals[level, tree.active[level, k]], work)
    return tree, values, whitening[1]


@kernel
def draw_node_means(family, paths, data, rng):
    """Draw the means of all nodes given the tree and the data, the covariance S of items with them. ``means[l, k]`` is
    that of node k of level l, in the units of the data; ``root`` is R with ``R R' = S``. Shapes: ``paths`` (n, depth);
    returns ``means`` (depth + 1, n, d).
    """
    tree, values, root = whitened_tree(rng, paths, family, data)
    means, work = _draw_whitened_means(tree, rng), np.empty(values.shape[1])
    for level in range(tree.sizes.shape[0]):
        for k in range(tree.sizes[level]):
            row = means[level, tree.active[level, k]]
            transform_row(family, root, row, work)
            for j in range(row.shape[0]):
                row[j] += family.mu[j] + data.center[j]
    return means, root


@kernel
def draw_given_data(family, paths, data, rng):
    """Draw data of items given a tree and the data of the first ones: replications of these, and data of further items.

    The covariance S of items and the means of nodes are drawn given the data, the mean of a node without any of the
    first items given that of its parent. They are in the units of the data. Shapes: ``paths`` (n + m, depth); returns
    (n + m, d).
    """
    n, d = data.values.shape
    n_all, depth = paths.shape
    known, root = draw_node_means(family, paths[:n].copy(), data, rng)
    means = np.empty((depth + 1, n_all, d))
    drawn = np.zeros((depth + 1, n_all), dtype=np.bool_)
    means[0, 0] = known[0, 0]
    values, work, step = np.empty((n_all, d)), np.empty(d), np.empty(d)
    for item in range(n_all):
        parent = 0
        for level in range(1, depth + 1):
            node = paths[item, level - 1]
            if not drawn[level, node]:
                drawn[level, node] = True
                if item < n:
                    means[level, node] = known[level, node]
                else:
                    for j in range(d):
                        step[j] = math.sqrt(family.tau[level]) * rng.standard_normal()
                    transform_row(family, root, step, work)
                    means[level, node] = means[level - 1, parent] + step
            parent = node
        for j in range(d):
            step[j] = rng.standard_normal()
        transform_row(family, root, step, work)
        values[item] = means[depth, parent] + step
    return values
