"""Paths of hidden states with slots, given the densities of all times in all slots.

The common weights of all K states are drawn given the labels, exactly: numbers of tables m_k as in
``states/partitions/weights.py``, 0 for empty slots, then Dirichlet variables with parameters ``gamma / K + m_k``.
Transition rows are drawn given weights and labels, and all labels jointly given both by forward filtering and backward
sampling.  Weights and rows are forgotten.  Every part is a draw from a full conditional, and all labels may change, so
that the update leaves the posterior invariant and reaches all paths of positive density.
"""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_log_gamma, exponentiate
from pymc_nrm.states.partitions.filtering import draw_rows, filter_table, sample_backward
from pymc_nrm.states.partitions.slots import count_slots
from pymc_nrm.states.partitions.weights import LEAST_WEIGHT, draw_tables


@kernel
def update_paths(rng, labels, prior, log_densities, filtered):
    """Redraw all labels, in place, given the log densities of all times in all slots; return how many moved.

    Shapes: ``labels`` (n,), ``log_densities`` and the workspace ``filtered`` (n, K).
    """
    n_slots = log_densities.shape[1]
    slots = np.empty(n_slots, dtype=np.int64)
    counts = count_slots(labels, prior.starts, n_slots, slots)
    weights = draw_slot_weights(rng, counts, slots, prior)
    rows = draw_rows(rng, counts, prior, slots[: counts.shape[1]], weights, 0.0)
    # Whether a filter fails depends on rows and densities alone, so an update that keeps all labels is then exact.
    if not filter_table(prior.starts, rows, log_densities, filtered) > -math.inf:
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
