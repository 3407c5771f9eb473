"""Hidden states given all data and transition probabilities."""

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.states.partitions.filtering import filter_table


@kernel
def forward_backward(log_densities, transitions, starts, probabilities):
    """Write the probabilities of the states of each time given all data, and return the log density of the data.

    ``transitions`` (K + 1, K) has the probabilities of the first state of a sequence in its first row; rows need not
    sum to one.  Shapes: ``log_densities`` and ``probabilities`` (n, K), ``starts`` (n,), True where a sequence begins.
    """
    n, n_states = log_densities.shape
    filtered = np.empty((n, n_states))
    log_density = filter_table(starts, transitions, log_densities, filtered)
    ahead, ratio = np.ones(n_states), np.empty(n_states)
    for t in range(n - 1, -1, -1):
        if t == n - 1 or starts[t + 1]:
            for k in range(n_states):
                probabilities[t, k] = filtered[t, k]
            continue
        # Smoothed over predicted probabilities of the next time.
        for k in range(n_states):
            predicted = 0.0
            for j in range(n_states):
                predicted += filtered[t, j] * transitions[j + 1, k]
            ratio[k] = probabilities[t + 1, k] / predicted if predicted > 0.0 else 0.0
        for j in range(n_states):
            ahead[j] = 0.0
            for k in range(n_states):
                ahead[j] += transitions[j + 1, k] * ratio[k]
            probabilities[t, j] = filtered[t, j] * ahead[j]
    return log_density
