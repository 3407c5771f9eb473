"""Hidden states given the labels of a draw: paths of the next times, and smoothing given transition probabilities."""

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.states.partitions.filtering import filter_table
from pymc_nrm.states.partitions.weights import draw_next_weight


@kernel
def draw_path(rng, row, counts, prior, weights, labels, probabilities):
    """Draw the states of the next times by urns, and add the probabilities of states before each draw to a table.

    ``row`` is that of the last state in ``counts`` (K + 1, K), whose first row is that of starts; ``weights`` (K + 1,)
    are those of the states, the last for all others.  New states are K, K + 1, ...  Shapes: ``labels`` (h,),
    ``probabilities`` (h, K + 1), whose last column is that of all new states.
    """
    n_old, n_states, n_steps = counts.shape[1], counts.shape[1], labels.shape[0]
    capacity = n_old + 8
    urns, shares = np.zeros((capacity + 1, capacity)), np.zeros(capacity)
    for k in range(n_old):
        shares[k] = weights[k]
        for j in range(n_old + 1):
            urns[j, k] = counts[j, k]
    rest = weights[n_old]
    for step in range(n_steps):
        if n_states == capacity:
            larger, longer = np.zeros((2 * capacity + 1, 2 * capacity)), np.zeros(2 * capacity)
            larger[: capacity + 1, :capacity] = urns
            longer[:capacity] = shares
            urns, shares, capacity = larger, longer, 2 * capacity
        sticky = prior.kappa if row > 0 else 0.0
        total = prior.alpha + sticky
        for k in range(n_states):
            total += urns[row, k]
        drawn, label, new = rng.random() * total, n_states, prior.alpha * rest
        for k in range(n_states):
            weight = urns[row, k] + prior.alpha * shares[k] + (sticky if row == k + 1 else 0.0)
            if k < n_old:
                probabilities[step, k] += weight / total
            else:
                new += weight
            drawn -= weight
            if drawn < 0.0 and label == n_states:
                label = k
        probabilities[step, n_old] += new / total
        if label == n_states:
            share, left = draw_next_weight(rng, n_states, prior)
            shares[n_states] = rest * share
            rest *= left
            n_states += 1
        labels[step] = label
        urns[row, label] += 1.0
        row = label + 1


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
