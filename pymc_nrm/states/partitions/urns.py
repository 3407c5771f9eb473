"""Draws of hidden states forward: common weights are drawn as states appear, transition rows are integrated out."""

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import copy_row, index_at
from pymc_nrm.states.partitions.weights import draw_next_weight

# Space for new states at first.
_FEW_STATES = 8


@kernel
def draw_states(rng, row, counts, common, starts, prior, labels, probabilities):
    """Draw the states of the next times one after another, each from the urn of its row.

    ``counts`` (K + 1, K) are transition counts of K states, from starts in the first row, and ``row`` is the row of the
    last state; ``common`` (K + 1,) are the common weights, the last of all other states.  State k follows row j with
    weight ``counts[j, k] + alpha common[k]``, plus kappa for its own row.  New states are K, K + 1, ...  Unless the
    table has no rows, the probabilities of states before each draw are added to it, all new ones in the last column.
    Shapes: ``starts`` and ``labels`` (h,), ``probabilities`` (h, K + 1) or (0, K + 1).
    """
    n_old, n_states = counts.shape[1], counts.shape[1]
    urns, shares = _with_space(counts.astype(np.float64), n_old + _FEW_STATES), np.zeros(n_old + _FEW_STATES)
    weights = np.empty(n_old + _FEW_STATES)
    copy_row(shares[: n_old + 1], common)
    for step in range(labels.shape[0]):
        row = 0 if starts[step] else row
        total = 0.0
        for k in range(n_states + 1):
            weights[k] = urns[row, k] + prior.alpha * shares[k] + (prior.kappa if row == k + 1 else 0.0)
            total += weights[k]
        label = index_at(weights, n_states + 1, rng.random() * total)
        if probabilities.shape[0] > 0:
            for k in range(n_states + 1):
                probabilities[step, min(k, n_old)] += weights[k] / total
        if label == n_states:
            share, left = draw_next_weight(rng, n_states, prior)
            split_share, n_states = shares[label], n_states + 1
            if n_states == shares.shape[0]:
                urns, weights, longer = _with_space(urns, 2 * n_states), np.empty(2 * n_states), np.zeros(2 * n_states)
                copy_row(longer[:n_states], shares)
                shares = longer
            shares[label], shares[n_states] = split_share * share, split_share * left
        labels[step] = label
        urns[row, label] += 1.0
        row = label + 1


@kernel
def _with_space(urns, n_states):
    """Transition counts with zeros for states up to ``n_states``."""
    larger = np.zeros((n_states + 1, n_states))
    for j in range(urns.shape[0]):
        copy_row(larger[j, : urns.shape[1]], urns[j])
    return larger
