"""Probability of hidden states as a function of gamma and alpha, at the cost of one sum for each pair of values.

In the notation of ``tables.py``,

    p(z) = prod_j 1 / (a_j)_(n_j)  sum_M C(M) alpha^M V(M, K),

where C(M) sums ``prod_k [x^(m_k)] P_k(x) (1 - d)_(m_k - 1)`` over all m with sum M: it depends on kappa and d only.
Numbers of tables are cut off where gamma and alpha make them negligible, so that at other values the sum of all terms
in which some state has its largest number of tables is compared with the total; if it is not negligible, or if terms
of the smallest M were lost to underflow, the probability is computed anew.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import log_rising_factorial
from pymc_nrm.states.partitions.sums import convolve, largest_degree, tables_given_labels
from pymc_nrm.states.partitions.tables import add_factors, is_possible, log_states

# Largest share of the terms in which some state has its largest number of tables.
_BOUNDARY = 1e-17
# A factor of up to m tables is at most exp(m) times the one of the mean. Probabilities of m tables below the smallest
# double are zero, about exp(-708), so that coefficients lose at most exp(-400) and those above it are accurate.
_MOST_TABLES, _LEAST = 300, -400.0


class Totals(NamedTuple):
    """Coefficients of ``alpha^M V(M, K)`` for M = least, least + 1, ... tables of all states, in units.

    The unit is ``exp(log_factor + M * log_unit)``.
    """

    # Logarithms of the coefficients, all -inf if doubles do not hold them; and coefficients of terms in which some
    # state has its largest number of tables, counted once for each such state. Float64 of the same shape.
    logs: Any
    boundary: Any
    least: Any
    log_factor: Any
    log_unit: Any


@kernel
def totals_given_labels(counts, n_states, prior):
    """:class:`Totals` given transition counts, cut off by the gamma and alpha of the prior."""
    tables = tables_given_labels(counts, n_states, prior)
    n = tables.prefix.shape[1]
    logs, boundary, before, end, least, fine = np.full(n, -math.inf), np.zeros(n), np.zeros(n), 1, 0, True
    for k in range(n_states):
        degree = tables.degree[k]
        # The convolution of prefix[k] and the weights is prefix[k + 1], but for the difference of their scales.
        factor = math.exp(tables.prefix_scale[k] - tables.prefix_scale[k + 1])
        before[:end] = boundary[:end]
        convolve(before, end, tables.weights[k], degree + 1, boundary)
        if degree < largest_degree(counts, k, n_states, tables.certain[k]):
            for a in range(end):
                boundary[a + degree] += tables.prefix[k, a] * tables.weights[k, degree]
        end += degree
        boundary[:end] *= factor
        least += tables.certain[k]
        fine = fine and tables.certain[k] + degree <= _MOST_TABLES
    for a in range(n):
        if fine and tables.prefix[n_states, a] > 0.0:
            logs[a] = math.log(tables.prefix[n_states, a])
    log_factor = tables.log_factor + tables.prefix_scale[n_states]
    return Totals(logs, boundary, least, log_factor, math.log(tables.scale) - math.log(prior.alpha))


@kernel
def log_states_of_totals(totals, counts, n_states, prior):
    """:func:`log_states` at another gamma and alpha than those of the totals, with the same discount and kappa."""
    if not is_possible(prior, n_states):
        return math.nan
    logs, least, log_unit = totals.logs, totals.least, totals.log_unit + math.log(prior.alpha)
    weights = np.empty(len(logs))
    weights[0] = least * log_unit - log_rising_factorial(prior.gamma + 1.0, least - 1.0)
    largest = weights[0] + logs[0]
    for a in range(1, len(logs)):
        weights[a] = weights[a - 1] + log_unit - math.log(prior.gamma + least + a - 1.0)
        largest = max(largest, weights[a] + logs[a])
    total, at_boundary, lost = 0.0, 0.0, not math.isfinite(largest)
    for a in range(len(logs)):
        if logs[a] > _LEAST:
            total += math.exp(weights[a] + logs[a] - largest)
            at_boundary += totals.boundary[a] * math.exp(weights[a] - largest)
        elif weights[a] + _LEAST > largest - 40.0:
            lost = True
    if lost or at_boundary > _BOUNDARY * total:
        return log_states(counts, n_states, prior)
    return add_factors(totals.log_factor + largest + math.log(total), counts, n_states, prior)
