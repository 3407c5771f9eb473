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

from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.special import copy_row, draw_log_gamma, log_sum_exp
from pymc_nrm.measures.levy_tail import log_mass_below, log_tail_inverse

__all__ = ["Jumps", "draw_jumps", "draw_log_gamma_jumps", "draw_stable_jumps"]


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

    The draw is exact but for the jumps left out: those of a mass below ``tail_mass``, and those beyond ``max_jumps``.
    """
    raise NotImplementedError(f"jumps of {type(measure).__name__} are not implemented: it has no method draw_jumps")


def draw_stable_jumps(rng, log_a, sigma, counts, tail_mass, max_jumps):
    """Jumps of the clusters, the largest of those of the intensity of a generalized gamma measure, and the log of the
    expected mass of those left out.
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
            copy_row(longer[:n_jumps], log_jumps)
            log_jumps = longer
        log_jumps[n_jumps] = log_x
        n_jumps += 1
        largest = max(log_mass, log_x)
        log_mass = largest + math.log1p(math.exp(-abs(log_mass - log_x)))
        log_left = log_a + log_mass_below(sigma, log_x)
    return log_jumps[:n_jumps].copy(), log_left
