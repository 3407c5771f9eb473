"""The degree correction of block models of counts, one factor for each cluster of nodes.

Rates of ties are ``theta_i theta_j lambda_rs``.  The thetas of a cluster of n nodes have the sum n, and their shares
the distribution Dirichlet(c, ..., c).  Given the degrees k_i of its nodes, of sum k, they integrate to
``n^k Gamma(c n) / Gamma(c n + k) prod_i Gamma(c + k_i) / Gamma(c)`` (Karrer & Newman 2011, with a prior).
"""

import math
from typing import Any, NamedTuple

import pytensor.tensor as pt

from pymc_nrm.families.base import segment_sum
from pymc_nrm.kernels.special import log_rising_factorial, symbolic_log_rising_factorial


class Degrees(NamedTuple):
    """Data of a kernel: degrees of nodes (n, d), with d = 2 for numbers of ties from and to nodes."""

    values: Any


class DegreeShares(NamedTuple):
    """Family of the degrees of the nodes of a cluster."""

    concentration: Any
    # Number of kinds of degrees, 1 or 2.
    n_kinds: Any

    # A row of statistics: number of nodes, then for each kind the degrees, and their log rising factorials, which
    # depend on the concentration: rows are summed anew at every draw.
    def statistics_size(self):
        return 1 + 2 * self.n_kinds

    def add_item(self, statistics, data, item, sign):
        statistics[0] += sign
        for kind in range(self.n_kinds):
            degree = data.values[item, kind]
            statistics[1 + 2 * kind] += sign * degree
            if degree > 0.0:
                statistics[2 + 2 * kind] += sign * log_rising_factorial(self.concentration, degree)

    def log_marginal(self, statistics):
        n, total = statistics[0], 0.0
        for kind in range(self.n_kinds):
            degree = statistics[1 + 2 * kind]
            if n > 0.5 and degree > 0.0:
                total += degree * math.log(n) - log_rising_factorial(self.concentration * n, degree)
                total += statistics[2 + 2 * kind]
        return total


def symbolic_log_shares(concentration, degrees, labels):
    """Symbolic log-probability of the degrees (n, d), differentiable in the concentration, given labels (n,)."""
    n_clusters = labels.max() + 1
    sizes = segment_sum(pt.ones_like(labels, dtype="float64"), labels, n_clusters)[:, None]
    sums = segment_sum(degrees, labels, n_clusters)
    total = (sums * pt.log(sizes) - symbolic_log_rising_factorial(concentration * sizes, sums)).sum()
    return total + symbolic_log_rising_factorial(concentration, degrees).sum()
