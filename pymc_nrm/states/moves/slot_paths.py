"""Paths of hidden states with slots, given the densities of all times in all slots.

The common weights of all K states are drawn given the labels, exactly: numbers of tables m_k as in
``states/partitions/weights.py``, 0 for empty slots, then Dirichlet variables with parameters ``gamma / K + m_k``.
Transition rows are drawn given weights and labels, and all labels jointly given both by forward filtering and backward
sampling.  Weights and rows are forgotten.  Every part is a draw from a full conditional, and all labels may change, so
that the update leaves the posterior invariant and reaches all paths of positive density.
"""

import math

import numpy as np

from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import draw_log_gamma, exponentiate
from pymc_nrm.states.moves.blocked import Candidates, draw_rows, sample_backward, weigh_by_logarithms
from pymc_nrm.states.partitions.slots import count_slots
from pymc_nrm.states.partitions.weights import LEAST_WEIGHT, draw_tables

# Products of densities and predictive probabilities below this, relative to the largest density, lose digits.
_SMALLEST_TOTAL = 1e-280


@kernel
def update_paths(rng, labels, prior, log_densities, filtered):
    """Redraw all labels, in place, given the log densities of all times in all slots; return how many moved.

    Shapes: ``labels`` (n,), ``log_densities`` and the workspace ``filtered`` (n, K).
    """
    n_slots = log_densities.shape[1]
    slots = np.empty(n_slots, dtype=np.int64)
    counts = count_slots(labels, prior.starts, n_slots, slots)
    weights = draw_slot_weights(rng, counts, slots, prior)
    rows = draw_rows(rng, counts, prior, Candidates(slots[: counts.shape[1]], weights, 0.0, n_slots))
    if not _filter_table(prior.starts, rows, log_densities, filtered):
        return 0
    return sample_backward(rng, labels, prior.starts, rows, filtered)


@kernel
def draw_slot_weights(rng, counts, slots, prior):
    """Draw the common weights of all slots given transition counts of the states in use and their slots, (K,)."""
    n_states, n_slots = counts.shape[1], slots.shape[0]
    n_tables, weights = np.empty(n_states, dtype=np.int64), np.empty(n_slots)
    draw_tables(rng, counts, n_states, prior, n_tables)
    shapes = np.full(n_slots, -prior.discount)
    for k in range(n_states):
        shapes[slots[k]] += n_tables[k]
    for k in range(n_slots):
        weights[k] = draw_log_gamma(rng, shapes[k])
    _, total = exponentiate(weights, n_slots)
    for k in range(n_slots):
        weights[k] = max(weights[k] / total, LEAST_WEIGHT)
    return weights


@kernel(inner_loop=True)
def _filter_table(starts, rows, log_densities, filtered):
    """Write probabilities of the slots at each time given the data up to it; return whether all are finite.

    Whether a filter fails depends on rows and densities alone, so an update that keeps all labels is then exact.
    """
    n, n_slots = log_densities.shape
    densities = np.empty(n_slots)
    for t in range(n):
        if t % 1024 == 0:
            check_signals()
        row, largest, total = filtered[t], -math.inf, 0.0
        for k in range(n_slots):
            largest = max(largest, log_densities[t, k])
        for k in range(n_slots):
            densities[k] = math.exp(log_densities[t, k] - largest)
            row[k] = rows[0, k] if starts[t] else 0.0
        if not starts[t]:
            for j in range(n_slots):
                for k in range(n_slots):
                    row[k] += filtered[t - 1, j] * rows[j + 1, k]
        for k in range(n_slots):
            total += row[k] * densities[k]
        if total > _SMALLEST_TOTAL:
            for k in range(n_slots):
                row[k] *= densities[k] / total
        elif not weigh_by_logarithms(row, log_densities.T, t):
            return False
    return True
