"""Log potentials of trees and log dissimilarities of nodes, given u.

For a node c with children l and r, ``phi(X_c | h_c) = kappa(|c|, u) p(X_c)`` is the weight of c as one cluster, where
kappa is the exponential of the table ``moment`` of :class:`~pymc_nrm.measures.base.Weights`, and
``phi(X_c | t_c) = phi(X_c | h_c) + phi(X_l | t_l) phi(X_r | t_r)`` is the weight of all partitions that are consistent
with the tree.  The dissimilarity is ``d(l, r) = phi(X_l | t_l) phi(X_r | t_r) / phi(X_c | h_c)`` (Lee & Choi 2014,
section 3).  Among these partitions, a single cluster has probability ``1 / (1 + d)``, the merge probability of Heller &
Ghahramani (2005).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.special import softplus, sum_rows


class Potentials(NamedTuple):
    """Logarithms for every node of a tree."""

    # `log p(X_v)`, with the leaves below v as one cluster; shape (2n - 1,).
    log_marginal: Any
    # `log phi(X_v | t_v)`; shape (2n - 1,).
    log_potential: Any
    # log d of the children of v; 0 at leaves; shape (2n - 1,).
    log_dissimilarity: Any


@kernel
def log_dissimilarity(log_apart, log_together):
    """Log d from the weights of two separate trees and of their union as one cluster."""
    difference = log_apart - log_together
    return math.inf if math.isnan(difference) else difference


@kernel
def log_potential(log_apart, log_d):
    """Log potential of a tree: ``phi(t) = phi(l) phi(r) (1 + 1/d)``."""
    return log_apart + softplus(-log_d)


@kernel
def tree_log_marginals(tree, family, data):
    """Log marginals of the leaves below every node, shape (2n - 1,)."""
    n = tree.order.shape[0]
    log_p = np.empty(2 * n - 1)
    # Those of internal nodes; the last row is for leaves.
    rows = np.zeros((n, statistics_size(family)))
    for v in range(2 * n - 1):
        check_signals()
        row = rows[v - n] if v >= n else rows[n - 1]
        if v < n:
            row[:] = 0.0
            add_item(family, row, data, v, 1.0)
        else:
            for child in (tree.left[v], tree.right[v]):
                if child >= n:
                    sum_rows(row, row, rows[child - n])
            for child in (tree.left[v], tree.right[v]):
                if child < n:
                    add_item(family, row, data, child, 1.0)
        log_p[v] = log_marginal(family, row)
    return log_p


@kernel
def tree_potentials(tree, weights, family, data):
    """Potentials of every node of a tree, computed from the data."""
    return potentials_from_marginals(tree, weights.moment, tree_log_marginals(tree, family, data))


@kernel
def potentials_from_marginals(tree, moment, log_p):
    """Potentials of every node given u, from log marginals and the table of ``log kappa(m, u)``."""
    n = tree.order.shape[0]
    log_phi = np.empty(2 * n - 1)
    log_d = np.zeros(2 * n - 1)
    for v in range(2 * n - 1):
        together = moment[tree.size[v]] + log_p[v]
        if v < n:
            log_phi[v] = together
        else:
            apart = log_phi[tree.left[v]] + log_phi[tree.right[v]]
            log_d[v] = log_dissimilarity(apart, together)
            log_phi[v] = log_potential(apart, log_d[v])
    return Potentials(log_p, log_phi, log_d)
