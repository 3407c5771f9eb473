"""What a tree says about the data and about the means of its nodes, from the messages that it stores."""

import math

import numpy as np

from pymc_nrm.families.diffusion.base import add_square, new_scatter, scatter_log_likelihood
from pymc_nrm.families.diffusion.node_tree import build_node_tree
from pymc_nrm.kernels.generic import kernel

__all__ = ["log_likelihood", "node_moments", "residual_scatter"]


@kernel
def residual_scatter(family, tree, values):
    """Sums of squares and log determinant, which give the likelihood. Shapes: ``values`` (n, d)."""
    n, depth = tree.paths.shape
    d = values.shape[1]
    scatter, row, log_determinant = new_scatter(family), np.empty(d), 0.0
    for item in range(n):
        leaf = tree.paths[item, depth - 1]
        p = tree.precisions[depth, leaf]
        for j in range(d):
            row[j] = values[item, j] - tree.totals[depth, leaf, j] / p
        add_square(family, scatter, row, 1.0)
    for level in range(depth + 1):
        for k in range(tree.sizes[level]):
            slot = tree.active[level, k]
            p, growth = tree.precisions[level, slot], 1.0 + tree.tau[level] * tree.precisions[level, slot]
            for j in range(d):
                row[j] = tree.totals[level, slot, j] / p
            if level > 0:
                above = tree.parents[level, slot]
                for j in range(d):
                    row[j] -= tree.totals[level - 1, above, j] / tree.precisions[level - 1, above]
            add_square(family, scatter, row, p / growth)
            log_determinant += math.log(growth)
    return scatter, log_determinant


@kernel
def log_likelihood(paths, family, data):
    """Log density of the data given the tree, node means and the covariance of items integrated out. Shapes: ``paths``
    (n, depth).
    """
    values = data.values - family.mu
    scatter, log_determinant = residual_scatter(family, build_node_tree(paths, values, family.tau), values)
    return scatter_log_likelihood(family, scatter, log_determinant, values.shape[0])


@kernel
def node_moments(tree):
    """Means and variances of the node means given the data, for S = I.

    Given its parent's mean m, the mean of a node is normal with mean ``(tau total + m) / (1 + tau p)`` and variance
    ``tau / (1 + tau p)``; a pass from the root to the leaves therefore gives all laws. Means are written for occupied
    slots only, in the units of the data of the tree. Shapes: returns ``means`` (depth + 1, n, d), ``variances`` (depth
    + 1, n).
    """
    n_levels, n, d = tree.totals.shape
    means, variances = np.empty((n_levels, n, d)), np.zeros((n_levels, n))
    for level in range(n_levels):
        tau = tree.tau[level]
        for k in range(tree.sizes[level]):
            slot = tree.active[level, k]
            shrinkage = 1.0 / (1.0 + tau * tree.precisions[level, slot])
            variances[level, slot] = tau * shrinkage
            for j in range(d):
                means[level, slot, j] = shrinkage * tau * tree.totals[level, slot, j]
            if level > 0:
                above = tree.parents[level, slot]
                variances[level, slot] += shrinkage * shrinkage * variances[level - 1, above]
                for j in range(d):
                    means[level, slot, j] += shrinkage * means[level - 1, above, j]
    return means, variances
