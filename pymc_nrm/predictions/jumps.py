"""Jumps of a generalized gamma measure given a partition and u.

Given the partition and u, the measure before normalisation has a jump at the atom of each cluster c, which is a gamma
variable of shape ``n_c - sigma`` and rate ``1 + u``.  Independently, it has the jumps of a measure with Levy intensity
``exp(-u w) rho(w)``, at atoms that are independent draws from the base measure (James, Lijoi & Prünster 2009,
"Posterior analysis for normalized random measures with independent increments", theorem 1).  All masses are logarithms,
since u may overflow, and in units of ``1 / (1 + u)``, so that nothing cancels if u is huge.
"""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.kernels.special import draw_log_gamma, softplus
from pymc_nrm.measures.generalized_gamma import stable_parameters
from pymc_nrm.measures.quadrature import log_growth
from pymc_nrm.predictions.levy_tail import log_mass_below, log_tail_inverse
from pymc_nrm.predictions.tilted_stable import draw_log_tilted_stable


def _parameters(measure):
    if lacking(type(measure), [stable_parameters]):
        raise NotImplementedError(
            f"jumps of {type(measure).__name__} are not implemented; only generalized gamma measures, which register "
            "stable_parameters, have them"
        )
    return tuple(float(value) for value in stable_parameters(measure))


def draw_log_remaining_mass(rng, measure, log_u):
    """Draw the total mass of all jumps outside the clusters, given u. It is multiplied by ``1 + u``."""
    # The Laplace transform is `exp(-alpha/sigma ((1+u+s)^sigma - (1+u)^sigma))`, and for the Dirichlet process `(1 +
    # s/(1+u))^-alpha`.  The draw is exact, and its cost is bounded over all hyperparameters and u.
    return _draw_log_remaining_mass(rng, *_parameters(measure), float(log_u))


def draw_log_fixed_jumps(rng, measure, counts):
    """Draw the jumps at the atoms of the clusters, given u. They are logarithms of ``1 + u`` times the jumps, which are
    independent gamma variables of shape ``counts - sigma``.
    """
    _, sigma = _parameters(measure)
    return draw_log_gamma_jumps(rng, sigma, np.array(counts, dtype="int64"))


def draw_log_remaining_jumps(rng, measure, log_u, log_other_mass, tail_mass, max_jumps):
    """Draw the largest jumps outside the clusters, given u, in decreasing order (Ferguson & Klass 1972).

    The i-th jump w solves ``N(w) = t_i``, where ``N(w) = alpha (1+u)^sigma Gamma(-sigma, (1+u) w) / Gamma(1-sigma)`` is
    the expected number of jumps above w, ``alpha E1((1+u) w)`` for the Dirichlet process, and t_i are the arrival times
    of a Poisson process of rate 1.  Jumps end when ``m / (m + s) <= tail_mass``.  Here s is the mass so far, including
    that of the clusters, and ``m = alpha (1+u)^(sigma-1) P(1-sigma, (1+u) w)`` is the expected mass of all jumps below
    the last one, with P the regularised incomplete gamma function. ``log_jumps`` are logarithms of ``1 + u`` times the
    jumps, in decreasing order; ``log_tail_mass`` is that of the expected mass of all others.
    """
    alpha, sigma = _parameters(measure)
    log_a = log_growth(alpha, sigma, softplus(float(log_u)))
    return draw_largest_log_jumps(rng, log_a, sigma, float(log_other_mass), float(tail_mass), int(max_jumps))


@kernel
def _draw_log_remaining_mass(rng, alpha, sigma, log_u):
    # 1 + u times the mass has the law of draw_log_tilted_stable with a = alpha (1 + u)^sigma.
    return draw_log_tilted_stable(rng, math.exp(log_growth(alpha, sigma, softplus(log_u))), sigma)


@kernel
def draw_log_gamma_jumps(rng, sigma, counts):
    """Draw logarithms of independent gamma variables of shapes ``counts - sigma``."""
    log_jumps = np.empty(counts.shape[0])
    for c in range(counts.shape[0]):
        log_jumps[c] = draw_log_gamma(rng, counts[c] - sigma)
    return log_jumps


@kernel
def draw_largest_log_jumps(rng, log_a, sigma, log_other_mass, tail_mass, max_jumps):
    """Draw the largest jumps of the intensity ``a / Gamma(1 - sigma) x^(-1-sigma) e^-x`` as logarithms, decreasing.

    Returns these, and the logarithm of the expected mass of the others.
    """
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
