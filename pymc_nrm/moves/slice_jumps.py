"""Jumps of a random measure above a level, given the weights of clusters.

Given the auxiliary variable, the weights of every prior of Gibbs type are ``kappa(m) = a (1 - sigma) (2 - sigma) ...
(m - 1 - sigma)`` for a cluster of m items, up to a factor ``b^m``.  This is the m-th moment of the measure

    nu(dx) = a / Gamma(1 - sigma) x^(-1 - sigma) exp(-x) dx,      a > 0, sigma < 1.

If the atoms of a Poisson process of intensity nu have weights x, and n items are allocated to atoms independently with
these weights, without normalisation, the partition has the law given u, ``prod_c kappa(n_c)``, by the Palm formula
(James, Lijoi & Prünster 2009, theorem 1).  The jump of a cluster is then a gamma variable of shape ``n_c - sigma``, and
the other jumps are a Poisson process of intensity nu, independent of the partition.  This holds whatever u is and
whichever measure gave a and sigma: for a negative sigma, nu is finite, and the number of jumps is too.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel

# Jumps below are lost to underflow.
_SMALLEST = 1e-300


class JumpLaw(NamedTuple):
    """The intensity nu of the jumps: ``log_scale`` is ``log(a / Gamma(1 - sigma))``."""

    log_scale: Any
    sigma: Any


@kernel
def jump_law(weights):
    """Find the law of the jumps from the weights of clusters given u."""
    join = weights.join
    # With two items, or one, all tables are of this form.
    sigma = 0.0
    if join.shape[0] > 2:
        sigma = 1.0 - 1.0 / math.expm1(join[2] - join[1])
    unit = join[1] - math.log(1.0 - sigma) if join.shape[0] > 1 else 0.0
    return JumpLaw(join[0] - unit - math.lgamma(1.0 - sigma), sigma)


@kernel
def largest_deviation(weights):
    """How far a table of weights is from that of a prior of Gibbs type: the largest difference of logarithms."""
    join = weights.join
    if join.shape[0] < 4:
        return 0.0
    sigma = 1.0 - 1.0 / math.expm1(join[2] - join[1])
    largest = 0.0
    for m in range(2, join.shape[0]):
        difference = join[m] - join[1] - math.log((m - sigma) / (1.0 - sigma))
        if not abs(difference) <= largest:
            largest = abs(difference)
    return largest


@kernel
def expected_proposals(law, level):
    """Mean number of points that :func:`jumps_above` proposes; the mean number of jumps is about as large, or less."""
    if law.sigma < -1.0:
        return math.exp(law.log_scale + math.lgamma(-law.sigma))
    return _n_small(law, level) + _n_large(law, level)


@kernel
def _n_small(law, level):
    if level >= 1.0:
        return 0.0
    log_level = math.log(level)
    # The integral of x^(-1 - sigma) from the level to 1.
    integral = math.expm1(-law.sigma * log_level) / law.sigma if law.sigma != 0.0 else -log_level
    return math.exp(law.log_scale - level) * integral


@kernel
def _n_large(law, level):
    start = max(level, 1.0)
    return math.exp(law.log_scale - start - (1.0 + law.sigma) * math.log(start))


@kernel
def least_level(law, lowest, most):
    """The lowest level, at least ``lowest``, above which at most ``most`` proposals are expected. If sigma is below -1,
    jumps cost little and the level is ``lowest``.
    """
    lowest = max(lowest, _SMALLEST)
    if law.sigma < -1.0 or expected_proposals(law, lowest) <= most:
        return lowest
    low, high = math.log(lowest), math.log(1e4)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if expected_proposals(law, math.exp(middle)) <= most:
            high = middle
        else:
            low = middle
    return math.exp(high)


@kernel
def jumps_above(rng, law, level):
    """Draw the points above a level of a Poisson process of intensity nu, by thinning (Lewis & Shedler 1979).

    Between the level and 1, proposals have intensity ``exp(-level) x^(-1 - sigma)`` and are kept with probability
    ``exp(level - x)``.  Above ``m = max(level, 1)`` they have intensity ``m^(-1 - sigma) exp(-x)`` and are kept with
    probability ``(m / x)^(1 + sigma)``.  If sigma is below -1, all jumps are drawn as gamma variables. They are in no
    order.
    """
    sigma = law.sigma
    if sigma < -1.0:
        n_proposals = rng.poisson(expected_proposals(law, level))
        jumps = np.empty(n_proposals)
        n_jumps = 0
        for _ in range(n_proposals):
            jumps[n_jumps] = rng.standard_gamma(-sigma)
            n_jumps += jumps[n_jumps] > level
        return jumps[:n_jumps]
    n_small, n_large = rng.poisson(_n_small(law, level)), rng.poisson(_n_large(law, level))
    jumps = np.empty(n_small + n_large)
    n_jumps = 0
    if n_small > 0:
        log_level = math.log(level)
        growth = math.expm1(-sigma * log_level)
        for _ in range(n_small):
            share = rng.random()
            log_x = -math.log1p(share * growth) / sigma if sigma != 0.0 else share * log_level
            jumps[n_jumps] = math.exp(log_x)
            n_jumps += rng.random() < math.exp(level - jumps[n_jumps])
    start = max(level, 1.0)
    for _ in range(n_large):
        jumps[n_jumps] = start + rng.standard_exponential()
        n_jumps += rng.random() < math.exp((1.0 + sigma) * math.log(start / jumps[n_jumps]))
    return jumps[:n_jumps]
