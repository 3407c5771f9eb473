"""Jumps of the random measure given a partition, for every measure.

:func:`draw_jumps` is open: a measure registers how its jumps are drawn.  Generalized gamma measures need not, since all
that register ``stable_parameters`` share ``jumps.py``.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import generic, lacking
from pymc_nrm.kernels.special import log_sum_exp, softplus
from pymc_nrm.measures.base import draw_log_auxiliary
from pymc_nrm.measures.generalized_gamma import stable_parameters
from pymc_nrm.measures.mixture_of_finite_mixtures import MixtureOfFiniteMixtures
from pymc_nrm.measures.pitman_yor_process import PitmanYorProcess, has_auxiliary
from pymc_nrm.predictions.jumps import (
    draw_largest_log_jumps,
    draw_log_fixed_jumps,
    draw_log_gamma_jumps,
    draw_log_remaining_jumps,
)


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

    The draw is exact apart from the jumps that are left out.
    """
    if lacking(type(measure), [stable_parameters]):
        raise NotImplementedError(
            f"jumps of {type(measure).__name__} are not implemented: it registers neither draw_jumps nor, as "
            "generalized gamma measures do, stable_parameters"
        )
    log_u = draw_log_auxiliary(measure, int(np.sum(counts)), len(counts), rng)
    clusters = draw_log_fixed_jumps(rng, measure, counts)
    remaining, log_tail = draw_log_remaining_jumps(rng, measure, log_u, log_sum_exp(clusters), tail_mass, max_jumps)
    return Jumps(clusters, remaining, log_tail, -softplus(log_u), log_u)


@draw_jumps.register(PitmanYorProcess)
def _(measure, counts, rng, tail_mass, max_jumps):
    """Given g the jumps are those of a generalized gamma measure of ``alpha (1 + u)^sigma = d g``.

    The mass outside the clusters then has the Laplace transform ``exp(-g ((1 + s)^d - 1))``.  With g a gamma variable
    of shape ``t/d + k`` it is one of shape ``t + k d``, so that weights are Dirichlet variables (Pitman 1996, "Some
    developments of the Blackwell-MacQueen urn scheme", corollary 20).  This holds for all t.  The process has no scale:
    the unit is 1.
    """
    discount, concentration = (float(value) for value in measure)
    log_u = draw_log_auxiliary(measure, int(np.sum(counts)), len(counts), rng)
    clusters = draw_log_gamma_jumps(rng, discount, np.array(counts, dtype="int64"))
    varies = has_auxiliary(discount, concentration)
    log_a, log_unit = (log_u, 0.0) if varies else (float(np.log(concentration)), -softplus(log_u))
    remaining, log_tail = draw_largest_log_jumps(rng, log_a, discount, log_sum_exp(clusters), tail_mass, max_jumps)
    return Jumps(clusters, remaining, log_tail, log_unit, log_u)


@draw_jumps.register(MixtureOfFiniteMixtures)
def _(measure, counts, rng, tail_mass, max_jumps):
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
