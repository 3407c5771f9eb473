"""Jumps of the random measure given a partition, for every measure.

Given the partition and u, a generalized gamma measure before normalisation has a jump at the atom of each cluster c, a
gamma variable of shape ``n_c - sigma`` and rate ``1 + u``.  Independently, it has the jumps of a measure with Levy
intensity ``exp(-u w) rho(w)``, at atoms that are independent draws from the base measure (James, Lijoi & Prünster 2009,
"Posterior analysis for normalized random measures with independent increments", theorem 1).  All masses are logarithms,
since u may overflow, and in units of ``1 / (1 + u)``, so that nothing cancels if u is huge.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import generic, kernel, lacking
from pymc_nrm.kernels.special import draw_log_gamma, log_sum_exp, softplus
from pymc_nrm.measures.base import draw_log_auxiliary
from pymc_nrm.measures.generalized_gamma import stable_parameters
from pymc_nrm.measures.levy_tail import log_mass_below, log_tail_inverse
from pymc_nrm.measures.mixture_of_finite_mixtures import MixtureOfFiniteMixtures
from pymc_nrm.measures.pitman_yor_process import PitmanYorProcess, has_auxiliary
from pymc_nrm.measures.quadrature import log_growth

__all__ = ["Jumps", "draw_jumps"]


class Jumps(NamedTuple):
    """One draw of the jumps of a random measure given a partition, before normalisation."""

    # Logarithms of the jumps at the atoms of the clusters, in some unit; shape (n_clusters,).
    clusters: Any
    # Logarithms of the largest of the other jumps, in the same unit and in decreasing order; shape (n_jumps,).
    remaining: Any
    # Logarithm of the expected mass of those left out, in the same unit; -inf if none is.
    log_tail_mass: float
    # Logarithm of the unit.
    log_unit: float
    # Logarithm of the auxiliary variable that was drawn.
    log_u: float


@generic
def draw_jumps(measure, counts, rng, tail_mass, max_jumps):
    """Draw the jumps of the random measure given a partition; called from Python, not from kernels.

    A measure may implement it; those with ``stable_parameters`` need not.  The draw is exact but for jumps left out.
    """
    if lacking(type(measure), [stable_parameters]):
        raise NotImplementedError(
            f"jumps of {type(measure).__name__} are not implemented: it registers neither draw_jumps nor, as "
            "generalized gamma measures do, stable_parameters"
        )
    alpha, sigma = (float(value) for value in stable_parameters(measure))
    log_u = draw_log_auxiliary(measure, int(np.sum(counts)), len(counts), rng)
    log_a = log_growth(alpha, sigma, softplus(log_u))
    return Jumps(*_draw_stable_jumps(rng, log_a, sigma, counts, tail_mass, max_jumps), -softplus(log_u), log_u)


@draw_jumps.register(PitmanYorProcess)
def draw_pitman_yor_jumps(measure, counts, rng, tail_mass, max_jumps):
    """Given g the jumps are those of a generalized gamma measure of ``alpha (1 + u)^sigma = d g``.

    The mass outside the clusters then has the Laplace transform ``exp(-g ((1 + s)^d - 1))``.  With g a gamma variable
    of shape ``t/d + k`` it is one of shape ``t + k d``, so that weights are Dirichlet variables (Pitman 1996, "Some
    developments of the Blackwell-MacQueen urn scheme", corollary 20).  This holds for all t.  The process has no scale:
    the unit is 1.
    """
    discount, concentration = (float(value) for value in measure)
    log_u = draw_log_auxiliary(measure, int(np.sum(counts)), len(counts), rng)
    varies = has_auxiliary(discount, concentration)
    log_a, log_unit = (log_u, 0.0) if varies else (math.log(concentration), -softplus(log_u))
    return Jumps(*_draw_stable_jumps(rng, log_a, discount, counts, tail_mass, max_jumps), log_unit, log_u)


@draw_jumps.register(MixtureOfFiniteMixtures)
def draw_jumps_of_finite_mixtures(measure, counts, rng, tail_mass, max_jumps):
    """All jumps, whatever ``tail_mass`` is, unless there are more than ``max_jumps``.

    Jumps of clusters are gamma variables of shape ``gamma + n_c``.  The others are the components without items: a
    Poisson number of mean ``rate (1 + u)^-gamma`` of gamma variables of shape gamma.  All have the rate ``1 + u``.
    """
    gamma, rate = (float(value) for value in measure)
    log_u = draw_log_auxiliary(measure, int(np.sum(counts)), len(counts), rng)
    clusters = draw_log_gamma_jumps(rng, -gamma, np.array(counts, dtype="int64"))
    n_others = rng.poisson(rate * np.exp(-gamma * softplus(log_u)))
    others = -np.sort(-draw_log_gamma_jumps(rng, -gamma, np.zeros(n_others, dtype="int64")))
    return Jumps(clusters, others[:max_jumps], log_sum_exp(others[max_jumps:]), -softplus(log_u), log_u)


def _draw_stable_jumps(rng, log_a, sigma, counts, tail_mass, max_jumps):
    """Jumps of the clusters, the largest others, and the log of the expected mass of those left out."""
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
    return the logarithm of the expected mass of the others, too.
    """
    # The i-th jump x solves N(x) = t_i, where N(x) = a Gamma(-sigma, x) / Gamma(1 - sigma) is the expected number of
    # jumps above x, and t_i are the arrival times of a Poisson process of rate 1 (Ferguson & Klass 1972).  Jumps end
    # when m / (m + s) <= tail_mass, with s the mass so far, including that of the clusters, and m = a P(1 - sigma, x)
    # the expected mass of all jumps below the last one.  For an intensity exp(-u w) rho(w), a is alpha (1 + u)^sigma.
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
            longer[:n_jumps] = log_jumps
            log_jumps = longer
        log_jumps[n_jumps] = log_x
        n_jumps += 1
        largest = max(log_mass, log_x)
        log_mass = largest + math.log1p(math.exp(-abs(log_mass - log_x)))
        log_left = log_a + log_mass_below(sigma, log_x)
    return log_jumps[:n_jumps].copy(), log_left
