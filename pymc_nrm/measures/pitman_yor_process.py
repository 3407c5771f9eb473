"""Pitman-Yor process.

Let d be the discount and t the concentration.  The process is a normalized generalized gamma measure with random alpha,
``alpha = d zeta`` with zeta a gamma variable of shape t/d (Pitman & Yor 1997, "The two-parameter
Poisson-Dirichlet distribution derived from a stable subordinator", proposition 21).  In ``g = zeta (1 + u)^d`` the
variables zeta and u of this measure merge, and the joint density of a partition of n items and of g is

    (1 / (d Gamma(t/d + 1) (t + 1)_(n-1))) g^(t/d - 1) e^-g prod_c d g (1 - d)_(n_c - 1).

Given the partition, g is thus a gamma variable of shape ``t/d + k``, also for concentrations of at most 0, for which
there is no zeta.  The auxiliary variable is ``d g``: it tends to t as d tends to 0.  If it equals t to double
precision, or d is 0, there is none; u is then the variable of the Dirichlet process, on which no cluster depends.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.supports import GreaterThanMinus, Hyperparameter
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_log_gamma, log_rising_factorial, softplus, symbolic_log_rising_factorial
from pymc_nrm.measures import base
from pymc_nrm.measures.generalized_gamma import LARGEST_LOG_U, draw_log_u_without_sigma
from pymc_nrm.measures.gibbs_type import (
    draw_cluster,
    gibbs_type_weights,
    log_stirling_numbers,
    size_factors,
    symbolic_size_factors,
)
from pymc_nrm.measures.jumps import Jumps, draw_stable_jumps

# Above this ratio of concentration to discount, d g varies by less than 1e-9, relatively, and probabilities of
# partitions into k clusters equal the probabilities given ``d g = t`` up to a relative error below k^2 / 2e18.
_LARGEST_RATIO = 1e18


@base.random_measure(
    hyperparameters={
        "discount": Hyperparameter((), "unit interval"),
        "concentration": Hyperparameter((), GreaterThanMinus("discount", 1.0)),
    }
)
class PitmanYorProcess(NamedTuple):
    """Pitman-Yor process with discount d and concentration t.

    Parameters
    ----------
    discount : float in [0, 1), scalar tensor or random variable
        The number of clusters among n items grows like ``n^discount``.  At 0 the process is the Dirichlet process.
    concentration : float above -discount, scalar tensor or random variable
        With k clusters of n items, the next item opens a cluster with probability ``(t + k d) / (t + n)``.

    Notes
    -----
    The probability of a partition is
    ``prod_(i=1)^(k-1) (t + i d) / (t + 1)_(n-1) prod_c (1 - d)_(n_c - 1)`` (Pitman 1995, "Exchangeable and partially
    exchangeable random partitions", proposition 9).

    The auxiliary variable, which is the statistic ``u`` of samplers, is d times a gamma variable of shape ``t/d + k``;
    for a discount of 0 it is the auxiliary variable of the Dirichlet process.

    A prior on both parameters must keep the concentration above -discount: ``discount = pm.Beta("discount", 1, 2)``
    and ``concentration = pm.Gamma("excess", 2, 1) - discount`` reach all allowed values.

    Examples
    --------
    >>> from pymc_nrm.measures import PitmanYorProcess
    >>> from pymc_nrm.measures.base import n_clusters_mean
    >>> round(n_clusters_mean(PitmanYorProcess(discount=0.25, concentration=1.0), 82), 6)
    9.305077
    """

    discount: Any = 0.5
    concentration: Any = 1.0

    def log_joint_term(self, n, log_u):
        d, t = self.discount, self.concentration
        if not has_auxiliary(d, t):
            # (n - 1) log u - (n + t) log(1 + u), as for the Dirichlet process
            return -log_u - n * softplus(-log_u) - t * softplus(log_u) - math.lgamma(n)
        return _log_density_of_auxiliary(d, t, log_u) - log_rising_factorial(t + 1.0, n - 1)

    def log_joint_increment(self, n, log_u):
        d, t = self.discount, self.concentration
        return -math.log(t + n) if has_auxiliary(d, t) else -softplus(-log_u) - math.log(n)

    def draw_log_auxiliary(self, n, n_clusters, rng):
        d, t = self.discount, self.concentration
        if not has_auxiliary(d, t):
            return draw_log_u_without_sigma(float(t), n, rng)
        # Use the mean of d g first, since the shape alone may be a difference of large numbers.
        mean = t + n_clusters * d
        shape = mean / d
        return max(math.log(mean) + draw_log_gamma(rng, shape) - math.log(shape), -LARGEST_LOG_U)

    def weights(self, n, log_u):
        d, t = self.discount, self.concentration
        return gibbs_type_weights(n, d, log_u if has_auxiliary(d, t) else math.log(t))

    def log_eppf(self, counts):
        d, t = self.discount, self.concentration
        n, value = size_factors(counts, float(d))
        if n > 0:
            for i in range(1, counts.shape[0]):
                value += math.log(t + i * d)
            value -= log_rising_factorial(t + 1.0, n - 1)
        return value

    def symbolic_log_eppf(self, counts):
        d, t = (base.as_float64_scalar(value) for value in self)
        counts = pt.as_tensor(counts)
        opened = pt.log(t + d * pt.arange(1, counts.shape[0])).sum()
        opened -= symbolic_log_rising_factorial(t + 1.0, counts.sum() - 1)
        return opened + symbolic_size_factors(counts, d)

    def n_clusters_log_pmf(self, n):
        d, t = float(self.discount), float(self.concentration)
        log_v = np.concatenate([[0.0], np.cumsum(np.log(t + d * np.arange(1, n)))])
        return log_stirling_numbers(n, d) + log_v - log_rising_factorial(t + 1.0, n - 1)

    def n_clusters_mean(self, n):
        # Item i + 1 opens a cluster with probability (t + d)_i / (t + 1)_i.
        d, t = float(self.discount), float(self.concentration)
        i = np.arange(n - 1)
        return 1.0 + float(np.cumprod((t + d + i) / (t + 1.0 + i)).sum())

    def draw_partition(self, n, rng):
        d, t = self.discount, self.concentration
        labels = np.zeros(n, dtype=np.int64)
        counts = np.zeros(n, dtype=np.int64)
        if n > 0:
            counts[0] = 1
        k = 1
        for i in range(1, n):
            if rng.random() * (t + i) < t + k * d:
                labels[i] = k
                k += 1
            else:
                labels[i] = draw_cluster(rng, labels, counts, i, d)
            counts[labels[i]] += 1
        return labels

    def gibbs_type_rule(self, n, n_clusters):
        d, t = float(self.discount), float(self.concentration)
        # Without items, the only weight is arbitrary.
        return d, math.log(t + n_clusters * d) if n_clusters > 0 else 0.0

    def draw_jumps(self, counts, rng, tail_mass, max_jumps):
        """Draw jumps of a generalized gamma measure with ``alpha (1 + u)^sigma = d g``, given g.

        The mass outside the clusters then has the Laplace transform ``exp(-g ((1 + s)^d - 1))``.  With g a gamma
        variable of shape ``t/d + k`` this mass is a gamma variable of shape ``t + k d``, so weights are Dirichlet
        variables (Pitman 1996, "Some developments of the Blackwell-MacQueen urn scheme", corollary 20).  This holds for
        all t.  The process has no scale: the unit is 1.
        """
        d, t = float(self.discount), float(self.concentration)
        log_u = self.draw_log_auxiliary(int(np.sum(counts)), len(counts), rng)
        log_a, log_unit = (log_u, 0.0) if has_auxiliary(d, t) else (math.log(t), -softplus(log_u))
        return Jumps(*draw_stable_jumps(rng, log_a, d, counts, tail_mass, max_jumps), log_unit, log_u)


@kernel
def has_auxiliary(discount, concentration):
    """Whether clusters depend on an auxiliary variable: not at discount 0, nor if ``d g`` is constant."""
    return discount > 0.0 and concentration <= _LARGEST_RATIO * discount


@kernel
def _log_density_of_auxiliary(d, t, log_u):
    """Log of ``g^(s-1) e^-g / (d^2 Gamma(s + 1))`` at ``g = u / d``, with ``s = t / d``."""
    s = t / d
    if s < 100.0:
        log_g = log_u - math.log(d)
        return (s - 1.0) * log_g - math.exp(log_g) - math.lgamma((t + d) / d) - 2.0 * math.log(d)
    # For large s, terms as large as s log s would cancel.  With ``g = s e^y``, they leave -s (e^y - 1 - y), and
    # ``log Gamma(s + 1) - s log s + s`` is given by Stirling's series.
    y = log_u - math.log(t)
    stirling = 0.5 * math.log(2.0 * math.pi * s) + 1.0 / (12.0 * s) - 1.0 / (360.0 * s**3) + 1.0 / (1260.0 * s**5)
    return -s * _expm1_less_x(y) - y - math.log(s) - stirling - 2.0 * math.log(d)


@kernel
def _expm1_less_x(x):
    """``exp(x) - 1 - x``, without cancellation."""
    if abs(x) > 0.3:
        return math.expm1(x) - x
    series = 1.0
    for order in range(16, 2, -1):
        series = 1.0 + series * x / order
    return 0.5 * x * x * series
