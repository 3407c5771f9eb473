"""Split-merge moves with two random anchor items, by restricted Gibbs scans or sequential allocation."""

import math
from typing import NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.moves.sides import (
    add_to_side,
    allocate_items,
    apply_merge,
    apply_split,
    draw_pair,
    log_target_ratio,
    present_sides,
    start_sides,
)
from pymc_nrm.moves.tally import accept, empty_tally


class SplitMergeOptions(NamedTuple):
    """Options of the kernel: moves per draw, whether items are allocated sequentially, scans before the last one."""

    n_moves: int
    sequential: bool
    n_scans: int


@kernel
def allocate_by_scans(rng, sides, weights, family, data, items, placed, goals, n_scans):
    """Allocate items by restricted Gibbs scans from a random launch state; return the log probability of the last scan.

    This is the split proposal of Jain & Neal (2004).  The launch state does not depend on ``goals``, so the probability
    of a last scan that ends in ``goals`` is that of the reverse move.  Each scan visits items in a fresh random order:
    reusing an order would bias the move.
    """
    for k in range(items.shape[0]):
        placed[k] = 0 if rng.random() < 0.5 else 1
        add_to_side(family, sides, data, items[k], placed[k])
    free = np.full(items.shape[0], -1, dtype=np.int64)
    for _ in range(n_scans):
        allocate_items(rng, sides, weights, family, data, items, placed, free, True)
    return allocate_items(rng, sides, weights, family, data, items, placed, goals, True)


@kernel
def split_merge(rng, state, weights, family, data, options, tally):
    """Make one split-merge move with two uniformly drawn anchors, by Metropolis-Hastings; return the state.

    The move leaves the target given u invariant.  By itself it mixes too slowly to be irreducible in practice, since it
    only splits and merges.
    """
    labels = state.labels
    first, second = draw_pair(rng, labels.shape[0])
    slot, other = labels[first], labels[second]
    merging = slot != other
    log_apart = log_bound = 0.0
    if merging:
        log_apart = log_target_ratio(weights, family, present_sides(state, slot, other))
        # Since q is at most 1, many merges are rejected whatever the allocation would say.
        log_bound = -log_apart
        if math.log(rng.random()) >= log_bound:
            accept(rng, tally, merging, math.nan)
            return state
    items = np.empty(state.counts[slot] + (state.counts[other] if merging else 0) - 2, dtype=np.int64)
    placed, goals = np.empty(items.shape[0], dtype=np.int64), np.empty(items.shape[0], dtype=np.int64)
    count = 0
    for item in range(labels.shape[0]):
        if (labels[item] == slot or labels[item] == other) and item != first and item != second:
            items[count] = item
            goals[count] = labels[item] == other if merging else -1
            count += 1
    sides = start_sides(family, data, first, second)
    if options.sequential:
        log_q = allocate_items(rng, sides, weights, family, data, items, placed, goals, False)
    else:
        log_q = allocate_by_scans(rng, sides, weights, family, data, items, placed, goals, options.n_scans)
    if not merging:
        log_apart = log_target_ratio(weights, family, sides)
    log_ratio = log_apart - log_q
    if not accept(rng, tally, merging, -log_ratio if merging else log_ratio, log_bound):
        return state
    if merging:
        apply_merge(state, family, slot, other)
        return state
    state, new = apply_split(state, family, sides, slot)
    labels[second] = new
    for k in range(items.shape[0]):
        if placed[k] == 1:
            labels[items[k]] = new
    return state


@kernel
def split_merge_moves(rng, state, weights, family, data, options):
    """Make ``options.n_moves`` split-merge moves; return the state and a :class:`~pymc_nrm.moves.tally.Tally`."""
    tally = empty_tally()
    for _ in range(options.n_moves):
        check_signals()
        state = split_merge(rng, state, weights, family, data, options, tally)
    return state, tally
