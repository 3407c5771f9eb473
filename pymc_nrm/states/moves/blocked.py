"""Blocked updates of hidden states: forward filtering and backward sampling of all times in states above a level.

Given the weights beta, the transition rows pi and the parameters theta of all states, let A be the states whose weight
is above a level eps.  Times in states outside A keep their labels; all other times draw theirs jointly among A.  A is a
function of beta alone, and the set of paths that agree with the present one about which times are in A and about all
labels outside of it is the same before and after.  The update draws from the conditional distribution on this set: it
is a Gibbs update, however many states there are, and nothing is truncated.  Times whose state is known keep their
labels, too: the set is then of the paths that agree about them as well.  Rows and parameters of states outside A that
no time visits are never needed.  The level may depend on hyperparameters and the number of times, never on labels.

Beta given the labels is drawn exactly, then pi and theta from their conditionals given beta and the labels; all are
forgotten afterwards (Fox, Sudderth, Jordan & Willsky 2011, section 4, for the sampler of a truncated model).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import add_densities_of_items, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import LANES, exp_within, whole_lanes
from pymc_nrm.partitions.labels import rename_in_order
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.filtering import SMALLEST_TOTAL, draw_rows, sample_backward, weigh_by_logarithms
from pymc_nrm.states.partitions.weights import draw_state_weights, draw_weights_above


class BlockedUpdates(NamedTuple):
    """Number of updates, the level of the weights, and which times keep their labels, bool (n,) or (0,) for none."""

    n_updates: Any
    level: Any
    is_known: Any


class Candidates(NamedTuple):
    """States of an update: those above the level come first, occupied ones before others, then all others in use."""

    # Place of each present label among the states; (n_labels,).
    places: Any
    # Weights (n_states,), and the sum of all other weights.
    weights: Any
    tail: Any
    # Number of states above the level.
    n_free: Any


@shared_kernel(components=True)
def blocked_updates(rng, labels, prior, family, data, options, memory):
    """Redraw the labels of all times in states above a level, in place, ``n_updates`` times; return how many moved.

    It leaves the posterior of the labels invariant.  It is not irreducible, since states below the level never change.
    ``labels`` are in order of appearance before and after; ``memory`` is a vector of any length.
    """
    n_moved = 0
    for _ in range(options.n_updates):
        n_moved += _blocked_update(rng, labels, prior, family, data, options, memory)
    return n_moved


@kernel
def _blocked_update(rng, labels, prior, family, data, options, memory):
    n_labels = labels.max() + 1
    counts = np.zeros((n_labels + 1, n_labels), dtype=np.int64)
    count_transitions(labels, prior.starts, n_labels, counts)
    candidates = _draw_candidates(rng, counts, n_labels, prior, options.level)
    n_states, n_free = candidates.weights.shape[0], candidates.n_free
    if n_free < 2:
        return 0
    rows = draw_rows(rng, counts, prior, candidates.places, candidates.weights, candidates.tail)
    panel = _draw_components(rng, labels, family, data, candidates)
    for t in range(labels.shape[0]):
        labels[t] = candidates.places[labels[t]]
    size = labels.shape[0] * n_free
    filtered = memory[:size] if memory.shape[0] >= size else np.empty(size)
    filtered = filtered.reshape((labels.shape[0], n_free))
    n_moved = 0
    if _filter_forward(labels, prior.starts, rows, panel, family, data, options.is_known, filtered):
        n_moved = sample_backward(rng, labels, prior.starts, rows, filtered)
    rename_in_order(labels, n_states)
    return n_moved


@kernel
def _draw_candidates(rng, counts, n_labels, prior, level):
    """Draw the weights of the states given transition counts, and of other states above the level."""
    drawn = np.empty(n_labels + 1)
    draw_state_weights(rng, counts, n_labels, prior, drawn)
    pieces, tail = draw_weights_above(rng, n_labels, drawn[n_labels], prior, level)
    n_states, n_free = n_labels + pieces.shape[0], 0
    places, weights = np.empty(n_labels, dtype=np.int64), np.empty(n_states)
    for k in range(n_labels):
        if drawn[k] > level:
            places[k], weights[n_free] = n_free, drawn[k]
            n_free += 1
    for k in range(pieces.shape[0]):
        weights[n_free] = pieces[k]
        n_free += 1
    place = n_free
    for k in range(n_labels):
        if drawn[k] <= level:
            places[k], weights[place] = place, drawn[k]
            place += 1
    return Candidates(places, weights, tail, n_free)


@kernel
def _draw_components(rng, labels, family, data, candidates):
    """Panel of parameters of all states above the level, given the times in them."""
    n_labels, n_free = candidates.places.shape[0], candidates.n_free
    statistics = np.zeros((max(n_free, n_labels), statistics_size(family)))
    for t in range(labels.shape[0]):
        if t % 64 == 0:
            check_signals()
        place = candidates.places[labels[t]]
        if place < n_free:
            add_item(family, statistics[place], data, t, 1.0)
    panel, parameters = component_panel(family, whole_lanes(n_free)), np.empty(parameters_size(family))
    for k in range(n_free):
        draw_parameters(family, statistics[k], rng, parameters)
        write_component(family, parameters, panel, k)
    return panel


@kernel(inner_loop=True)
def _filter_forward(labels, starts, rows, panel, family, data, is_known, filtered):
    """Write probabilities of the free states at each free time given the data up to it; return whether all are finite.

    A time is free if its label is below the number of columns of ``filtered``.  Whether a filter fails depends only on
    what the update is conditional on, so an update that keeps all labels after a failure is exact.
    """
    n, n_free = filtered.shape
    log_densities, densities = np.empty((n_free, LANES)), np.empty((LANES, n_free))
    items, into = np.empty(LANES, dtype=np.int64), rows[:, :n_free].copy()
    for begin in range(0, n, LANES):
        if begin % 64 == 0:
            check_signals()
        for lane in range(LANES):
            items[lane] = min(begin + lane, n - 1)
        for k in range(n_free):
            for lane in range(LANES):
                log_densities[k, lane] = 0.0
        add_densities_of_items(family, panel, data, items, n_free, log_densities)
        if is_known.shape[0] > 0:
            for lane in range(LANES):
                if is_known[items[lane]]:
                    for k in range(n_free):
                        if k != labels[items[lane]]:
                            log_densities[k, lane] = -math.inf
        _relative_densities(log_densities, densities)
        for lane in range(min(LANES, n - begin)):
            t = begin + lane
            is_first = starts[t] or labels[t - 1] >= n_free
            if labels[t] >= n_free:
                if not is_first and not _reaches(filtered[t - 1], rows, labels[t]):
                    return False
                continue
            row = filtered[t]
            if is_first:
                source = into[0 if starts[t] else labels[t - 1] + 1]
                for k in range(n_free):
                    row[k] = source[k]
            else:
                last = filtered[t - 1]
                for k in range(n_free):
                    row[k] = 0.0
                for j in range(n_free):
                    for k in range(n_free):
                        row[k] += last[j] * into[j + 1, k]
            total = 0.0
            for k in range(n_free):
                total += row[k] * densities[lane, k]
            if total > SMALLEST_TOTAL:
                for k in range(n_free):
                    row[k] *= densities[lane, k] / total
            elif not weigh_by_logarithms(row, log_densities, lane) > -math.inf:
                return False
    return True


@kernel(inner_loop=True)
def _relative_densities(log_densities, densities):
    """Write exponentials of log densities (n_free, LANES), relative to the largest of a lane, into (LANES, n_free)."""
    largest = np.full(LANES, -math.inf)
    for k in range(log_densities.shape[0]):
        for lane in range(LANES):
            largest[lane] = max(largest[lane], log_densities[k, lane])
    for k in range(log_densities.shape[0]):
        for lane in range(LANES):
            x = log_densities[k, lane] - largest[lane]
            densities[lane, k] = exp_within(x if x > -700.0 else -700.0) if x > -700.0 else 0.0


@kernel
def _reaches(row, rows, label):
    """Whether a state of positive probability has a transition to a label."""
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k] * rows[k + 1, label]
    return total > 0.0
