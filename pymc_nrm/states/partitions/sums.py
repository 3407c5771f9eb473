"""Sums over the numbers of tables of all hidden states, as convolutions whose length is checked.

Terms are those of ``tables.py``, in units in which they stay near their mode: numbers of tables have the
distribution of ``state_columns.py`` at ``x_k = alpha (mean_k - d) / (gamma + sum of means)``, the means from a fixed
point for beta.  Given M, the weights of m_k are a log-concave sequence, since P_k has real roots and contains x at
least once, times a power of m_k that decreases if d > 0 and is log-concave if d < 0; and V(M, K) is log-concave in M.
Marginals of m_k are then log-concave up to a decreasing power, so that a small probability of the largest m_k that is
kept bounds the probability of all larger ones.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import log_rising_factorial
from pymc_nrm.states.partitions.columns import certain_tables, expected_tables, table_distribution

# Largest probability of the largest number of tables that is kept of a state.
_BOUNDARY = 1e-17
# Smaller arguments of polynomials would underflow.
_LEAST_X = 1e-290


class Tables(NamedTuple):
    """Joint distribution of the numbers of tables of all states given labels, as factors and their partial sums."""

    # Numbers of tables of a state are certain[k] + r, r = 0, ..., degree[k]; int64 of shape (K,).
    certain: Any
    degree: Any
    # Factors of the states at r, and their derivatives in kappa; shape (K, largest degree + 1).
    weights: Any
    slopes: Any
    # prefix[k, a] is the sum over states before k with a tables in excess of the certain ones, suffix[k, a] the sum
    # over the other states and V; both times exp of their scale.  Shapes (K + 1, sum of degrees + 1) and (K + 1,).
    prefix: Any
    suffix: Any
    prefix_scale: Any
    suffix_scale: Any
    # Log of the common factor, and the unit of ``M`` tables, to the power M: gamma plus the mean number of tables.
    log_factor: Any
    scale: Any


@kernel
def mean_tables(counts, n_states, prior, means):
    """Write the mean numbers of tables given the common weights that are their own means; return their sum."""
    for k in range(n_states):
        means[k] = 1.0
    total = float(n_states)
    for _ in range(12):
        scale, before = prior.gamma + total, total
        total = 0.0
        for k in range(n_states):
            x = max(prior.alpha * (means[k] - prior.discount) / scale, _LEAST_X)
            means[k] = max(expected_tables(counts, k, n_states, x, prior.kappa), 1.0)
            total += means[k]
        if abs(total - before) < 0.02 * total:
            break
    return total


@kernel
def largest_degree(counts, k, n_states, certain):
    """Largest possible number of tables of a state beyond the certain ones."""
    total = -certain
    for j in range(n_states + 1):
        total += counts[j, k]
    return total


@kernel
def _first_degree(counts, k, n_states, prior, mean, scale):
    """Number of tables that covers six standard deviations, if a common weight is six deviations too small."""
    share = (mean - prior.discount) / scale
    share = min(1.0, share + 6.0 * math.sqrt(share / scale) + 8.0 / scale)
    most = expected_tables(counts, k, n_states, max(prior.alpha * share, _LEAST_X), prior.kappa)
    return int(most + 6.0 * math.sqrt(most) + 10.0)


@kernel
def _log_size_factor(m, discount, log_unit):
    """Log of ``(1 - d)_(m - 1) / unit^m``."""
    return log_rising_factorial(1.0 - discount, m - 1.0) - m * log_unit


@kernel
def _weigh_tables(tables, counts, k, n_states, prior, mean, scale):
    """Write the factors of a state; return the log of what they have in common."""
    x = max(prior.alpha * (mean - prior.discount) / scale, _LEAST_X)
    log_unit = math.log(scale) + math.log(x) - math.log(prior.alpha)
    n_factors, certain = tables.degree[k] + 1, tables.certain[k]
    weights, slopes = tables.weights[k, :n_factors], tables.slopes[k, :n_factors]
    table_distribution(counts, k, n_states, x, prior.kappa, weights, slopes)
    log_common = _log_size_factor(max(1, int(mean)), prior.discount, log_unit)
    log_size = _log_size_factor(certain, prior.discount, log_unit) - log_common
    for r in range(n_factors):
        # Of numbers of tables far from the mode, only negligible weights remain.
        factor = math.exp(min(log_size, 690.0))
        weights[r] *= factor
        slopes[r] *= factor
        log_size += math.log(certain + r - prior.discount) - log_unit
    for j in range(n_states + 1):
        if counts[j, k] > 0:
            log_common += log_rising_factorial(x + (prior.kappa if j == k + 1 else 0.0), float(counts[j, k]))
    return log_common


@kernel
def _rescale(row, n, log_scale):
    """Divide n entries by the largest one; return the new logarithm of their scale."""
    largest = 0.0
    for a in range(n):
        largest = max(largest, row[a])
    if not 0.0 < largest < math.inf:
        return log_scale
    for a in range(n):
        row[a] /= largest
    return log_scale + math.log(largest)


@kernel(inner_loop=True)
def convolve(first, n_first, factors, n_factors, total):
    """Write the convolution of two sequences."""
    for a in range(n_first + n_factors - 1):
        total[a] = 0.0
    for b in range(n_factors):
        factor = factors[b]
        for a in range(n_first):
            total[a + b] += first[a] * factor


@kernel(inner_loop=True)
def _correlate(later, factors, n_factors, n, earlier):
    """Write the sums over further tables of ``factors`` times what n numbers of tables and the further ones make."""
    for a in range(n):
        earlier[a] = 0.0
    for b in range(n_factors):
        factor = factors[b]
        for a in range(n):
            earlier[a] += later[a + b] * factor


@kernel
def _weigh_total(tables, n_states, gamma, scale, n):
    """Write ``scale^M / (gamma + 1)_(M - 1)`` for the n possible sums of numbers of tables, into the last suffix."""
    least = 0
    for k in range(n_states):
        least += tables.certain[k]
    row, log_scale = tables.suffix[n_states], math.log(scale)
    row[0] = least * log_scale - log_rising_factorial(gamma + 1.0, least - 1.0)
    largest = row[0]
    for a in range(1, n):
        row[a] = row[a - 1] + log_scale - math.log(gamma + least + a - 1.0)
        largest = max(largest, row[a])
    for a in range(n):
        row[a] = math.exp(row[a] - largest)
    return largest


@kernel
def _sum_parts(tables, n_states, gamma, scale):
    """Write all prefix and suffix sums."""
    n = 1
    tables.prefix[0, 0], tables.prefix_scale[0] = 1.0, 0.0
    for k in range(n_states):
        n_factors = tables.degree[k] + 1
        convolve(tables.prefix[k], n, tables.weights[k], n_factors, tables.prefix[k + 1])
        n += n_factors - 1
        tables.prefix_scale[k + 1] = _rescale(tables.prefix[k + 1], n, tables.prefix_scale[k])
    tables.suffix_scale[n_states] = _weigh_total(tables, n_states, gamma, scale, n)
    for k in range(n_states - 1, -1, -1):
        n_factors = tables.degree[k] + 1
        n -= n_factors - 1
        _correlate(tables.suffix[k + 1], tables.weights[k], n_factors, n, tables.suffix[k])
        tables.suffix_scale[k] = _rescale(tables.suffix[k], n, tables.suffix_scale[k + 1])


@kernel
def tables_given_labels(counts, n_states, prior):
    """Distribution of the numbers of tables of all states given transition counts, as :class:`Tables`."""
    means, degree = np.empty(n_states), np.empty(n_states, dtype=np.int64)
    scale = prior.gamma + mean_tables(counts, n_states, prior, means)
    for k in range(n_states):
        degree[k] = _first_degree(counts, k, n_states, prior, means[k], scale)
    return tables_from_degrees(counts, n_states, prior, means, degree)


@kernel
def tables_from_degrees(counts, n_states, prior, means, degree):
    """:func:`tables_given_labels` at these means and with at least these numbers of tables, which become degrees."""
    scale, certain = prior.gamma, np.empty(n_states, dtype=np.int64)
    for k in range(n_states):
        scale += means[k]
        certain[k] = certain_tables(counts, k, n_states)
        degree[k] = min(max(degree[k] - certain[k], 1), largest_degree(counts, k, n_states, certain[k]))
    while True:
        n, widest = 1, 0
        for k in range(n_states):
            n += degree[k]
            widest = max(widest, degree[k])
        weights, slopes = np.zeros((n_states, widest + 1)), np.zeros((n_states, widest + 1))
        prefix, suffix = np.empty((n_states + 1, n)), np.empty((n_states + 1, n))
        prefix_scale, suffix_scale = np.empty(n_states + 1), np.empty(n_states + 1)
        tables = Tables(certain, degree, weights, slopes, prefix, suffix, prefix_scale, suffix_scale, 0.0, scale)
        log_factor = 0.0
        for k in range(n_states):
            log_factor += _weigh_tables(tables, counts, k, n_states, prior, means[k], scale)
        _sum_parts(tables, n_states, prior.gamma, scale)
        if not _widen(tables, counts, n_states):
            break
    return Tables(certain, degree, weights, slopes, prefix, suffix, prefix_scale, suffix_scale, log_factor, scale)


@kernel
def cofactor(tables, k, first, r):
    """Factor of ``weights[k, r]`` and ``slopes[k, r]`` in the probability of r further tables of state k given labels.

    ``first`` is the sum of the degrees of the states before k.
    """
    total = 0.0
    for a in range(first + 1):
        total += tables.prefix[k, a] * tables.suffix[k + 1, a + r]
    log_scale = tables.prefix_scale[k] + tables.suffix_scale[k + 1] - tables.suffix_scale[0]
    return total * math.exp(log_scale) / tables.suffix[0, 0]


@kernel
def _widen(tables, counts, n_states):
    """Double the degrees whose largest number of tables is not negligible; return whether there were any."""
    first, widened = 0, False
    for k in range(n_states):
        degree = tables.degree[k]
        possible = largest_degree(counts, k, n_states, tables.certain[k])
        if degree < possible and tables.weights[k, degree] * cofactor(tables, k, first, degree) > _BOUNDARY:
            tables.degree[k] = min(2 * degree + 1, possible)
            widened = True
        first += degree
    return widened
