"""The beam sampler of Van Gael, Saatci, Teh & Ghahramani (2008) for sticky hidden states: slices on transitions.

Given labels and common weights, transition rows and parameters are drawn, then a slice below the probability of each
transition.  Sticks are broken until all other transitions are below every slice, so that labels are drawn jointly among
finitely many states.  Weights are drawn given tables, as in the truncated sampler of Fox et al. (2011).  It leaves the
posterior of labels and weights invariant, and is irreducible alone.
"""

import math

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_dirichlet, draw_parameters, parameters_size
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import draw_beta, draw_index
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.filtering import SMALLEST_TOTAL, weigh_by_logarithms

from .weak_limit import tables_of

# States that a draw has room for; more than that would be an error, not a truncation.
CAPACITY = 256


@kernel
def draw_first_rows(rng, labels, n_labels, weights, prior):
    """Common weights with space for further states, and transition rows of the states in use given their labels.

    Column n_labels of a row has what remains for all other states.  Shapes: ``weights`` (n_labels + 1,), the last entry
    for all others; (CAPACITY + 1,) and (CAPACITY + 1, CAPACITY + 1) are returned.
    """
    counts = np.zeros((n_labels + 1, n_labels), dtype=np.int64)
    count_transitions(labels, prior.starts, n_labels, counts)
    common, rows = np.empty(CAPACITY + 1), np.zeros((CAPACITY + 1, CAPACITY + 1))
    common[: n_labels + 1] = weights
    shapes = np.empty(n_labels + 1)
    for j in range(n_labels + 1):
        for k in range(n_labels + 1):
            shapes[k] = prior.alpha * weights[k] + (counts[j, k] if k < n_labels else 0)
        if j > 0:
            shapes[j - 1] += prior.kappa
        draw_dirichlet(rng, shapes, rows[j, : n_labels + 1])
    return common, rows


@kernel
def break_stick(rng, prior, weights, rows, n_states):
    """Draw one more state: its weight, the transitions to it out of what remains of each row, and its own row."""
    if n_states + 2 > weights.shape[0]:
        raise ValueError("there are more states than the sampler has room for")
    share, left = draw_beta(rng, 1.0, prior.gamma)
    weights[n_states], weights[n_states + 1] = weights[n_states] * share, weights[n_states] * left
    a, b = prior.alpha * weights[n_states], prior.alpha * weights[n_states + 1]
    for j in range(n_states + 1):
        share, left = draw_beta(rng, a, b)
        rows[j, n_states], rows[j, n_states + 1] = rows[j, n_states] * share, rows[j, n_states] * left
    shapes = prior.alpha * weights[: n_states + 2]
    shapes[n_states] += prior.kappa
    draw_dirichlet(rng, shapes, rows[n_states + 1, : n_states + 2])


@kernel
def write_states(rng, labels, n_labels, n_states, family, data, panel):
    """Draw parameters of all states given the items in them, and write them into a panel."""
    statistics, parameters = np.zeros((n_states, statistics_size(family))), np.empty(parameters_size(family))
    for t in range(labels.shape[0]):
        add_item(family, statistics[labels[t]], data, t, 1.0)
    for k in range(n_states):
        draw_parameters(family, statistics[k], rng, parameters)
        write_component(family, parameters, panel, k)


@kernel
def forget_empty(rng, labels, weights, n_states, prior):
    """Rename states in order of appearance, in place; return the weights of those in use, redrawn given tables."""
    names, n_labels = np.full(n_states, -1), 0
    for t in range(labels.shape[0]):
        if names[labels[t]] < 0:
            names[labels[t]] = n_labels
            n_labels += 1
        labels[t] = names[labels[t]]
    old = np.empty(n_labels)
    for k in range(n_states):
        if names[k] >= 0:
            old[names[k]] = weights[k]
    counts = np.zeros((n_labels + 1, n_labels), dtype=np.int64)
    count_transitions(labels, prior.starts, n_labels, counts)
    shapes, new = np.empty(n_labels + 1), np.empty(n_labels + 1)
    shapes[:n_labels] = tables_of(rng, counts, old, prior)
    shapes[n_labels] = prior.gamma
    draw_dirichlet(rng, shapes, new)
    return new


@kernel
def beam_draw(rng, labels, weights, prior, family, data):
    """Draw rows, parameters, slices, labels in place, and weights, which are returned; shape (n_states + 1,)."""
    n, n_labels = labels.shape[0], labels.max() + 1
    common, rows = draw_first_rows(rng, labels, n_labels, weights, prior)
    slices, least, n_states = np.empty(n), 1.0, n_labels
    for t in range(n):
        slices[t] = rng.random() * rows[0 if prior.starts[t] else labels[t - 1] + 1, labels[t]]
        least = min(least, slices[t])
    while rows[: n_states + 1, n_states].max() > least:
        break_stick(rng, prior, common, rows, n_states)
        n_states += 1
    width = whole_lanes(n_states)
    panel, log_densities = component_panel(family, width), np.zeros((n, width))
    write_states(rng, labels, n_labels, n_states, family, data, panel)
    filtered = np.empty((n, n_states))
    for t in range(n):
        if t % 64 == 0:
            check_signals()
        add_component_densities(family, panel, data, t, width, log_densities[t])
        row, largest, total = filtered[t], -math.inf, 0.0
        for k in range(n_states):
            largest = max(largest, log_densities[t, k])
            row[k] = 1.0 if prior.starts[t] and rows[0, k] > slices[t] else 0.0
        if not prior.starts[t]:
            for j in range(n_states):
                if filtered[t - 1, j] > 0.0:
                    for k in range(n_states):
                        row[k] += filtered[t - 1, j] * (rows[j + 1, k] > slices[t])
        for k in range(n_states):
            total += row[k] * math.exp(log_densities[t, k] - largest)
        if total > SMALLEST_TOTAL:
            for k in range(n_states):
                row[k] *= math.exp(log_densities[t, k] - largest) / total
        else:
            weigh_by_logarithms(row, log_densities.T, t)
    for t in range(n - 1, -1, -1):
        row = filtered[t].copy()
        if t < n - 1 and not prior.starts[t + 1]:
            for k in range(n_states):
                row[k] *= rows[k + 1, labels[t + 1]] > slices[t + 1]
        labels[t] = draw_index(rng, row)
    return forget_empty(rng, labels, common, n_states, prior)
