"""What a tree says about the data and about the means of its nodes, from the messages that it stores."""

import math

import numpy as np

from pymc_nrm.families.diffusion.base import add_square, new_scatter, scatter_log_likelihood
from pymc_nrm.families.diffusion.node_tree import build_node_tree
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals


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


@kernel
def log_predictive_at_places(family, paths, data, points, start):
    """Log predictive density of new items in the leaves, and in new leaves below all other nodes.

    Given the tree and S, the mean of node z of level l is normal with mean m_z and covariance ``v_z S``, whatever S is.
    A new item in a leaf below it is normal with mean m_z and covariance c S, where ``c = 1 + v_z + tau_(l + 1) + ... +
    tau_L``.  Its density with S integrated out is therefore the ratio of the likelihoods of n + 1 and of n items, whose
    sums of squares differ by the square of ``x - m_z`` divided by c, and log determinants by log c. Shapes: ``paths``
    (n, depth), ``start`` (depth + 2,); returns (m, n_places).
    """
    n, depth = paths.shape
    d, m = family.mu.shape[0], points.values.shape[0]
    if n > 0:
        values = data.values - family.mu
        tree = build_node_tree(paths, values, family.tau)
        scatter, log_determinant = residual_scatter(family, tree, values)
        means, variances = node_moments(tree)
    else:
        scatter, log_determinant = new_scatter(family), 0.0
        means, variances = np.zeros((1, 1, d)), np.full((1, 1), family.tau[0])
    log_likelihood = scatter_log_likelihood(family, scatter, log_determinant, n)
    table, row = np.empty((m, start[depth + 1])), np.empty(d)
    for level in range(depth + 1):
        steps = 1.0
        for below in range(level + 1, depth + 1):
            steps += family.tau[below]
        for place in range(start[level], start[level + 1]):
            check_signals()
            slot = place - start[level]
            variance = variances[level, slot] + steps
            for item in range(m):
                for j in range(d):
                    row[j] = points.values[item, j] - family.mu[j] - means[level, slot, j]
                longer = scatter.copy()
                add_square(family, longer, row, 1.0 / variance)
                table[item, place] = (
                    scatter_log_likelihood(family, longer, log_determinant + math.log(variance), n + 1) - log_likelihood
                )
    return table
