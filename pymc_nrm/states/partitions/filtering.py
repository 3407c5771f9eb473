"""Transition rows given counts, and paths given rows: forward filtering and backward sampling."""

import math

import numpy as np

from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import draw_log_gamma, index_at

# Products of densities, relative to the largest, and of predictive probabilities below this are computed in logarithms.
SMALLEST_TOTAL = 1e-280


@kernel
def draw_rows(rng, counts, prior, places, weights, tail):
    """Draw transition probabilities (n_states + 1, n_states) given counts of present labels; row 0 is of starts.

    Row j is Dirichlet of parameter ``counts[j] + alpha beta``, plus kappa for its own state.  Label k is state
    ``places[k]``; the weights beta (n_states,) and ``tail``, that of all other states, add up to one.
    """
    n_states, n_labels = weights.shape[0], places.shape[0]
    shapes, rows = np.empty((n_states + 1, n_states)), np.empty((n_states + 1, n_states))
    for j in range(n_states + 1):
        for k in range(n_states):
            shapes[j, k] = prior.alpha * weights[k]
        if j > 0:
            shapes[j, j - 1] += prior.kappa
    for j in range(n_labels + 1):
        row = 0 if j == 0 else places[j - 1] + 1
        for k in range(n_labels):
            shapes[row, places[k]] += counts[j, k]
    for j in range(n_states + 1):
        largest = log_tail = _log_gamma(rng, prior.alpha * tail)
        for k in range(n_states):
            rows[j, k] = _log_gamma(rng, shapes[j, k])
            largest = max(largest, rows[j, k])
        total = math.exp(log_tail - largest)
        for k in range(n_states):
            rows[j, k] = math.exp(rows[j, k] - largest)
            total += rows[j, k]
        for k in range(n_states):
            rows[j, k] /= total
    return rows


@kernel
def _log_gamma(rng, shape):
    return draw_log_gamma(rng, shape) if shape > 0.0 else -math.inf


@kernel(inner_loop=True)
def filter_table(starts, rows, log_densities, filtered):
    """Write probabilities of the states at each time given the data up to it; return the log density of the data.

    It is NaN or minus infinity if a time has no possible state.  Whether this is so depends on rows and densities
    alone, so an update that then keeps all labels is exact.  Shapes: ``starts`` (n,), ``rows`` (K + 1, K), whose first
    row is that of starts and which need not sum to one, ``log_densities`` and ``filtered`` (n, K).
    """
    n, n_states = log_densities.shape
    densities, log_density = np.empty(n_states), 0.0
    for t in range(n):
        if t % 1024 == 0:
            check_signals()
        row, largest, total = filtered[t], -math.inf, 0.0
        for k in range(n_states):
            largest = max(largest, log_densities[t, k])
        for k in range(n_states):
            densities[k] = math.exp(log_densities[t, k] - largest)
            row[k] = rows[0, k] if starts[t] else 0.0
        if not starts[t]:
            for j in range(n_states):
                for k in range(n_states):
                    row[k] += filtered[t - 1, j] * rows[j + 1, k]
        for k in range(n_states):
            total += row[k] * densities[k]
        if total > SMALLEST_TOTAL:
            for k in range(n_states):
                row[k] *= densities[k] / total
            log_density += largest + math.log(total)
        else:
            log_total = weigh_by_logarithms(row, log_densities.T, t)
            if not log_total > -math.inf:
                return -math.inf
            log_density += log_total
    return log_density


@kernel
def weigh_by_logarithms(row, log_densities, lane):
    """Multiply predictive probabilities by densities and normalise; return the log total, -inf if there is none."""
    largest = -math.inf
    for k in range(row.shape[0]):
        row[k] = math.log(row[k]) + log_densities[k, lane]
        largest = max(largest, row[k])
    total = 0.0
    for k in range(row.shape[0]):
        row[k] = math.exp(row[k] - largest)
        total += row[k]
    for k in range(row.shape[0]):
        row[k] /= total
    return largest + math.log(total) if 0.0 < total < math.inf else -math.inf


@kernel(inner_loop=True)
def sample_backward(rng, labels, starts, rows, filtered):
    """Draw the labels of free times from the last to the first, in place; return the number of times that moved."""
    n, n_free = filtered.shape
    # Row k has the transition probabilities to state k.
    onto = rows[1 : n_free + 1].T.copy()
    weights, n_moved = np.empty(n_free), 0
    for t in range(n - 1, -1, -1):
        if t % 1024 == 0:
            check_signals()
        old = labels[t]
        if old >= n_free:
            continue
        total = 0.0
        if t == n - 1 or starts[t + 1]:
            for k in range(n_free):
                weights[k] = filtered[t, k]
                total += weights[k]
        else:
            source = onto[labels[t + 1]]
            for k in range(n_free):
                weights[k] = filtered[t, k] * source[k]
                total += weights[k]
        labels[t] = index_at(weights, n_free, rng.random() * total)
        n_moved += labels[t] != old
    return n_moved
