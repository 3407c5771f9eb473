"""Transitions between the clusters of a state of kernels, and the weights of their slots."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import copy_row, log_rising_factorial
from pymc_nrm.partitions.clusters import close_slot, grow
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.weights import draw_next_weight, draw_state_weights


class SlotTransitions(NamedTuple):
    """Transitions and weights of the slots of a ``State``, which kernels change in place."""

    # Numbers of transitions to each slot: row 0 from starts of sequences, row s + 1 from slot s; int64 of shape
    # (capacity + 1, capacity), and their sums over a row, (capacity + 1,).
    counts: Any
    totals: Any
    # Weight of each occupied slot (capacity,), and of all other states together, (1,).
    weights: Any
    remainder: Any


@kernel
def draw_slot_transitions(rng, state, prior):
    """Count the transitions of labels in order of appearance, and draw the weights of the states given them."""
    n_states, capacity = state.size[0], state.counts.shape[0]
    counts, drawn = np.zeros((n_states + 1, n_states), dtype=np.int64), np.empty(n_states + 1)
    count_transitions(state.labels, prior.starts, n_states, counts)
    draw_state_weights(rng, counts, n_states, prior, drawn)
    slots = _empty_transitions(capacity)
    for k in range(n_states):
        slots.weights[k] = drawn[k]
    for j in range(n_states + 1):
        for k in range(n_states):
            slots.counts[j, k] = counts[j, k]
            slots.totals[j] += counts[j, k]
    slots.remainder[0] = drawn[n_states]
    return slots


@kernel
def _empty_transitions(capacity):
    counts, totals = np.zeros((capacity + 1, capacity), dtype=np.int64), np.zeros(capacity + 1, dtype=np.int64)
    return SlotTransitions(counts, totals, np.zeros(capacity), np.zeros(1))


@kernel
def grow_slots(state, slots, family):
    """Return both if there are at least two empty slots, else larger copies."""
    old = state.counts.shape[0]
    state = grow(state, family)
    if state.counts.shape[0] == old:
        return state, slots
    larger = _empty_transitions(state.counts.shape[0])
    copy_row(larger.totals[: old + 1], slots.totals)
    copy_row(larger.weights[:old], slots.weights)
    for j in range(old + 1):
        copy_row(larger.counts[j, :old], slots.counts[j])
    larger.remainder[0] = slots.remainder[0]
    return state, larger


@kernel
def count_run(slots, origin, slot, length, following, sign):
    """Add or subtract the transitions of a run of times in a slot, from a row and to a slot, -1 at an end."""
    slots.counts[origin, slot] += sign
    slots.totals[origin] += sign
    slots.counts[slot + 1, slot] += sign * (length - 1)
    slots.totals[slot + 1] += sign * (length - 1)
    if following >= 0:
        slots.counts[slot + 1, following] += sign
        slots.totals[slot + 1] += sign


@kernel
def offer_weight(rng, slots, prior, n_states):
    """Draw the weight of a candidate for a new state, beside ``n_states`` others; return it and the rest without it."""
    share, left = draw_next_weight(rng, n_states, prior)
    return slots.remainder[0] * share, slots.remainder[0] * left


@kernel
def close_state(state, slots, slot):
    """Remove an empty state, which becomes the candidate for a new one; return its weight, and the rest without it."""
    close_slot(state, slot)
    weight, remainder = slots.weights[slot], slots.remainder[0]
    slots.remainder[0] += weight
    return weight, remainder


@kernel
def entry_weight(slots, prior, origin, slot):
    """Weight of the transition from a row to an occupied slot, with which a run enters it."""
    sticky = prior.kappa if origin == slot + 1 else 0.0
    return slots.counts[origin, slot] + prior.alpha * slots.weights[slot] + sticky


@kernel
def log_run(slots, prior, origin, slot, weight, entry, length, following):
    """Log probability of the transitions of a run in a slot of some weight, which is entered with weight ``entry``."""
    same = 1.0 if origin == slot + 1 else 0.0
    total = slots.totals[slot + 1] + same + prior.alpha + prior.kappa
    value = math.log(entry)
    if length > 1:
        self_weight = slots.counts[slot + 1, slot] + same + prior.alpha * weight + prior.kappa
        value += log_rising_factorial(self_weight, length - 1.0) - log_rising_factorial(total, length - 1.0)
    if following >= 0:
        leaving = slots.counts[slot + 1, following]
        if following == slot:
            leaving += prior.alpha * weight + prior.kappa + same + (length - 1.0)
        else:
            leaving += prior.alpha * slots.weights[following]
        value += math.log(leaving / (total + (length - 1.0)))
    return value


@kernel
def neighbours(labels, starts, begin, end):
    """Row from which a run of times is entered, and label that follows it, -1 at the end of a sequence."""
    origin = 0 if starts[begin] else labels[begin - 1] + 1
    return origin, -1 if end == labels.shape[0] or starts[end] else labels[end]
