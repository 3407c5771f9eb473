"""Jumps of the random measure given a partition, for every measure.

Given the partition and u, a generalized gamma measure before normalisation has a jump at the atom of each cluster c, a
gamma variable of shape ``n_c - sigma`` and rate ``1 + u``.  Independently, it has the jumps of a measure with Levy
intensity ``exp(-u w) rho(w)``, at atoms that are independent draws from the base measure (James, Lijoi & Prünster 2009,
"Posterior analysis for normalized random measures with independent increments", theorem 1).  All masses are logarithms,
since u may overflow, and in units of ``1 / (1 + u)``, so that nothing cancels if u is huge.  Tail functions refer to
the intensity ``x^(-1-sigma) e^-x / Gamma(1-sigma)`` on (0, inf); a change of units gives the intensity of every measure
of the class and of its tilted versions.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.special import copy_row, draw_log_gamma, log_sum_exp
from pymc_nrm.measures.base import log_eppf, symbolic_log_eppf, weights
from pymc_nrm.measures.quadrature import expm1_ratio

_EULER = 0.5772156649015329


class Jumps(NamedTuple):
    """One draw of the jumps of a random measure given a partition, before normalisation."""

    # Logarithms of the jumps at the atoms of the clusters, in some unit; shape (n_clusters,).
    clusters: Any
    # Logarithms of the largest of the other jumps, in the same unit and in decreasing order; shape (n_jumps,).
    remaining: Any
    # Logarithm of the expected mass of omitted jumps, in the same unit; -inf if none is omitted.
    log_tail_mass: float
    # Logarithm of the unit.
    log_unit: float
    # Logarithm of the auxiliary variable that was drawn.
    log_u: float


@generic(agrees_with=[symbolic_log_eppf, log_eppf, weights])
def draw_jumps(measure, counts, rng, tail_mass, max_jumps):
    """Draw the jumps of the random measure given a partition; called from Python, not from kernels.

    The draw is exact except for omitted jumps: jumps with mass below ``tail_mass``, and jumps beyond ``max_jumps``.
    """
    raise NotImplementedError(f"jumps of {type(measure).__name__} are not implemented: it has no method draw_jumps")


def draw_stable_jumps(rng, log_a, sigma, counts, tail_mass, max_jumps):
    """Jumps of the clusters, the largest other jumps under the intensity of a generalized gamma measure, and the log of
    the expected mass of the omitted jumps.
    """
    clusters = draw_log_gamma_jumps(rng, sigma, np.array(counts, dtype="int64"))
    others = draw_largest_log_jumps(rng, log_a, sigma, log_sum_exp(clusters), float(tail_mass), int(max_jumps))
    return clusters, *others


@kernel
def draw_log_gamma_jumps(rng, sigma, counts):
    """Draw logarithms of independent gamma variables of shapes ``counts - sigma``."""
    log_jumps = np.empty(counts.shape[0])
    for c in range(counts.shape[0]):
        log_jumps[c] = draw_log_gamma(rng, counts[c] - sigma)
    return log_jumps


@kernel
def draw_largest_log_jumps(rng, log_a, sigma, log_other_mass, tail_mass, max_jumps):
    """Draw the largest jumps of the intensity ``a / Gamma(1 - sigma) x^(-1-sigma) e^-x`` as logarithms, decreasing, and
    return the logarithm of the expected mass of the other jumps, too.
    """
    # The i-th jump x solves N(x) = t_i, where N(x) = a Gamma(-sigma, x) / Gamma(1 - sigma) is the expected number of
    # jumps above x, and t_i are the arrival times of a Poisson process of rate 1 (Ferguson & Klass 1972).  Jumps end
    # when m / (m + s) <= tail_mass, with s the mass so far, including the clusters, and m = a P(1 - sigma, x) the
    # expected mass of all jumps below the last one.  For an intensity exp(-u w) rho(w), a is alpha (1 + u)^sigma.
    log_jumps = np.empty(16)
    n_jumps = 0
    arrival = 0.0
    log_x = math.inf
    log_mass = log_other_mass
    log_left = log_a
    log_odds = math.log(tail_mass) - math.log1p(-tail_mass)
    while n_jumps < max_jumps and not log_left - log_mass <= log_odds:
        arrival += rng.standard_exponential()
        log_x = log_tail_inverse(sigma, math.log(arrival) - log_a, log_x)
        if n_jumps == log_jumps.shape[0]:
            longer = np.empty(2 * n_jumps)
            copy_row(longer[:n_jumps], log_jumps)
            log_jumps = longer
        log_jumps[n_jumps] = log_x
        n_jumps += 1
        largest = max(log_mass, log_x)
        log_mass = largest + math.log1p(math.exp(-abs(log_mass - log_x)))
        log_left = log_a + log_mass_below(sigma, log_x)
    return log_jumps[:n_jumps].copy(), log_left


@kernel
def _log_gamma_ratio(y):
    """``log Gamma(1 + y) / y`` for y > -1, accurate also as y tends to 0."""
    if abs(y) > 0.02:
        return math.lgamma(1.0 + y) / y
    # Minus Euler's constant, plus the sum over k >= 2 of zeta(k)/k (-1)^k y^(k-1).
    series = 0.14404989676884614 - y * (0.12550966952474304 - y * 0.11133426586956469)
    series = 0.27058080842778454 - y * (0.207385551028674 - y * (0.16955717699740822 - y * series))
    return y * (0.8224670334241132 - y * (0.40068563438653143 - y * series)) - _EULER


@kernel
def _log_upper_gamma(sigma, log_x):
    """Log of the upper incomplete gamma function ``Gamma(-sigma, x)``, sigma in [0, 1)."""
    x = math.exp(log_x)
    if x >= 1.0:
        # The continued fraction 1 / (x+1+sigma - 1(1+sigma) / (x+3+sigma - 2(2+sigma) / ...)) by modified Lentz.
        b = x + 1.0 + sigma
        d = 1.0 / b
        c = math.inf
        value = d
        for k in range(1, 500):
            term = -k * (k + sigma)
            b += 2.0
            d = 1.0 / (term * d + b)
            c = b + term / c
            value *= c * d
            if abs(c * d - 1.0) < 1e-16:
                break
        return math.log(value) - x - sigma * log_x
    if -sigma * log_x > 300.0:
        return -sigma * log_x - math.log(sigma)
    # Gamma(-sigma) - sum_k (-1)^k x^(k-sigma) / (k! (k - sigma)).  Gamma(-sigma) and the term k = 0 diverge as sigma
    # tends to 0, Gamma(-sigma) and the term k = 1 as sigma tends to 1, so each pair is combined first.
    one_minus_sigma = 1.0 - sigma
    total = expm1_ratio(sigma, -log_x)
    if sigma <= 0.5:
        total -= expm1_ratio(sigma, -_log_gamma_ratio(-sigma))
        series = x / one_minus_sigma
    else:
        total += (
            expm1_ratio(one_minus_sigma, log_x)
            - expm1_ratio(one_minus_sigma, _log_gamma_ratio(one_minus_sigma)) / sigma
        )
        series = 0.0
    term = -x
    for k in range(2, 30):
        term *= -x / k
        series -= term / (k - sigma)
    return math.log(total + series * math.exp(-sigma * log_x))


@kernel
def log_tail(sigma, log_x):
    """Log of the expected number of jumps above x, ``Gamma(-sigma, x) / Gamma(1-sigma)``."""
    return _log_upper_gamma(sigma, log_x) - math.lgamma(1.0 - sigma)


@kernel
def log_tail_inverse(sigma, log_number, log_above):
    """Log of the size x with a given expected number of larger jumps: the inverse of :func:`log_tail`.

    The tail is log-concave in log x, so Newton steps from the right never overshoot the root.
    """
    # The tail above x is less than exp(-x) if x > 1.
    log_x = log_above if log_above < math.inf else math.log(max(1.0, -log_number))
    log_gamma = math.lgamma(1.0 - sigma)
    for _ in range(500):
        log_value = _log_upper_gamma(sigma, log_x)
        excess = log_value - log_gamma - log_number
        step = excess * math.exp(log_value + sigma * log_x + math.exp(log_x))
        log_x += step
        if abs(step) <= 4e-15 * (1.0 + abs(log_x)):
            break
    return log_x


@kernel
def log_mass_below(sigma, log_x):
    """Log of the expected mass of jumps below x, the regularised incomplete gamma function ``P(1 - sigma, x)``."""
    one_minus_sigma, x = 1.0 - sigma, math.exp(log_x)
    if x < 1.0:
        total = term = 1.0
        for k in range(1, 30):
            term *= x / (k + one_minus_sigma)
            total += term
        return one_minus_sigma * log_x - x - math.lgamma(1.0 + one_minus_sigma) + math.log(total)
    # Gamma(1 - sigma, x) = x^-sigma e^-x - sigma Gamma(-sigma, x)
    above = math.exp(-sigma * log_x - x) - sigma * math.exp(_log_upper_gamma(sigma, log_x))
    return math.log1p(-above * math.exp(-math.lgamma(1.0 - sigma)))
