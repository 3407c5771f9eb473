"""Predictive densities of one more item at every place of a tree."""

import math

import numpy as np

from pymc_nrm.families.diffusion.base import add_square, new_scatter, scatter_log_likelihood
from pymc_nrm.families.diffusion.messages import node_moments, residual_scatter
from pymc_nrm.families.diffusion.node_tree import build_node_tree
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals

__all__ = ["log_predictive_at_places"]


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
