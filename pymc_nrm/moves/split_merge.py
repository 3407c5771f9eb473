"""Split-merge moves with two random anchor items, and parts that all split-merge moves share: two sides, and a tally.

A split of cluster A into a and b and the merge of a and b are the two directions of one Metropolis-Hastings move.  Both
build the sides item by item, starting from the anchors.  A split draws the side of every item.  A merge keeps every
item on its present side, and computes the probability q that a split draws the same sides.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import copy_row, softplus, sum_rows
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.partitions.clusters import close_slot, grow, open_slot

# Indices into the counts of a tally.
SPLIT, MERGE = 0, 1

SPLIT_MERGE_STATS = {
    "n_splits_proposed": (np.int64, []),
    "n_splits_accepted": (np.int64, []),
    "n_merges_proposed": (np.int64, []),
    "n_merges_accepted": (np.int64, []),
    "acceptance_rate": (np.float64, []),
    "log_acceptance_ratio": (np.float64, []),
}


class Tally(NamedTuple):
    """Outcomes of split-merge moves."""

    # proposed, accepted: Numbers of splits and of merges; int64 of shape (2,).
    proposed: Any
    accepted: Any
    # Sum of the log acceptance ratios; shape (1,).
    log_ratio: Any
    # Number of moves with a ratio; impossible moves are rejected without one; int64 of shape (1,).
    n_ratios: Any


@kernel
def empty_tally():
    """Return the tally of no moves."""
    return Tally(
        np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros(1),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def accept(rng, tally, merging, log_ratio, log_bound=0.0):
    """Accept or reject a split or merge by Metropolis-Hastings, and count it; nan and -infinity mean impossible.

    If ``log_bound`` is below 0, the move has reached this point with probability ``exp(log_bound)``.
    """
    kind = MERGE if merging else SPLIT
    tally.proposed[kind] += 1
    if math.isnan(log_ratio) or log_ratio == -math.inf:
        return False
    tally.n_ratios[0] += 1
    tally.log_ratio[0] += log_ratio
    accepted = math.log(rng.random()) < log_ratio - min(log_bound, 0.0)
    tally.accepted[kind] += accepted
    return accepted


def split_merge_statistics(totals):
    """Statistics of a draw from the summed fields of its kernels' counts, including the fields of a tally."""
    proposed, accepted, log_ratio, n_ratios = (totals.pop(name) for name in Tally._fields)
    n_moves = proposed.sum()
    return totals | {
        "n_splits_proposed": proposed[SPLIT],
        "n_splits_accepted": accepted[SPLIT],
        "n_merges_proposed": proposed[MERGE],
        "n_merges_accepted": accepted[MERGE],
        "acceptance_rate": accepted.sum() / n_moves if n_moves else np.nan,
        "log_acceptance_ratio": log_ratio[0] / n_ratios[0] if n_ratios[0] else np.nan,
    }


class Sides(NamedTuple):
    """Two clusters under construction, one around each anchor: rows 0 and 1 of each array.

    Caches are up to date only if single items are allocated, not units of several items.
    """

    counts: Any
    statistics: Any
    cache: Any


@kernel
def draw_pair(rng, n):
    """Draw two different numbers from 0 to n - 1 uniformly."""
    first, second = int(rng.random() * n), int(rng.random() * (n - 1))
    return first, second + (second >= first)


@kernel
def start_sides(family, data, first, second):
    """Return two sides that hold one anchor each."""
    counts = np.zeros(2, dtype=np.int64)
    statistics = np.zeros((2, statistics_size(family)))
    cache = np.zeros((2, cache_size(family)))
    sides = Sides(counts, statistics, cache)
    refresh_cache(family, statistics[0], cache[0])
    copy_row(cache[1], cache[0])
    add_to_side(family, sides, data, first, 0)
    add_to_side(family, sides, data, second, 1)
    return sides


@kernel
def add_to_side(family, sides, data, item, side):
    """Add an item to one side."""
    update_cache(family, sides.statistics[side], sides.cache[side], data, item, 1.0)
    sides.counts[side] += 1


@kernel
def choose_side(rng, log_odds, goal):
    """Draw a side from the log odds of side 1, or take ``goal`` if it is 0 or 1; return it and its log probability."""
    side = goal
    if goal < 0:
        side = int(math.log(rng.random()) < -softplus(-log_odds))
    return side, -softplus(-log_odds if side == 1 else log_odds)


@kernel
def allocate_items(rng, sides, weights, family, data, items, placed, goals, present):
    """Allocate items one by one in a fresh random order; return the log probability of the result.

    Everything happens in one loop.  Calling a kernel for each item would cost more than the item itself, because
    passing family and data takes time.
    """
    log_q = 0.0
    log_predictives = np.empty(2)
    for k in random_items(rng, items.shape[0], items.shape[0]):
        if k % 64 == 0:
            check_signals()
        if present:
            update_cache(family, sides.statistics[placed[k]], sides.cache[placed[k]], data, items[k], -1.0)
            sides.counts[placed[k]] -= 1
        for side in range(2):
            log_predictives[side] = log_predictive(family, sides.cache[side], data, items[k])
        log_odds = weights.join[sides.counts[1]] + log_predictives[1]
        log_odds -= weights.join[sides.counts[0]] + log_predictives[0]
        side, log_probability = choose_side(rng, log_odds, goals[k])
        log_q += log_probability
        update_cache(family, sides.statistics[side], sides.cache[side], data, items[k], 1.0)
        sides.counts[side] += 1
        placed[k] = side
    return log_q


@kernel
def log_weight(weights, family, count, row):
    """Log of L(c) = kappa(size, u) p(X_c), the factor of one cluster in the target given u."""
    return weights.moment[count] + log_marginal(family, row)


@kernel
def cluster_weights(weights, family, state):
    """Log of L = kappa(size, u) p(X) of the cluster in each occupied slot, shape (capacity,)."""
    values = np.zeros(state.counts.shape[0])
    for k in range(state.size[0]):
        slot = state.active[k]
        values[slot] = log_weight(weights, family, state.counts[slot], state.statistics[slot])
    return values


@kernel
def log_target_ratio(weights, family, sides):
    """Log of L(a) L(b) / L(a + b) for the two sides a and b."""
    counts, rows = sides.counts, sides.statistics
    union = np.empty(rows.shape[1])
    sum_rows(union, rows[0], rows[1])
    log_apart = log_weight(weights, family, counts[0], rows[0]) + log_weight(weights, family, counts[1], rows[1])
    return log_apart - log_weight(weights, family, counts[0] + counts[1], union)


@kernel
def present_sides(state, slot, other):
    """Sides of two present clusters of the state, without caches."""
    counts, statistics = np.empty(2, dtype=np.int64), np.empty((2, state.statistics.shape[1]))
    for side, cluster in ((0, slot), (1, other)):
        counts[side] = state.counts[cluster]
        copy_row(statistics[side], state.statistics[cluster])
    return Sides(counts, statistics, np.empty((2, 0)))


@kernel
def fill_slot(state, family, slot, count, row):
    """Write the size and the statistics of a cluster into a slot."""
    state.counts[slot] = count
    copy_row(state.statistics[slot], row)
    refresh_cache(family, state.statistics[slot], state.cache[slot])


@kernel
def apply_split(state, family, sides, slot):
    """Assign the first side to a slot and the second to a new one; return the state and the new slot.

    The caller changes the labels.
    """
    state = grow(state, family)
    new = open_slot(state)
    fill_slot(state, family, slot, sides.counts[0], sides.statistics[0])
    fill_slot(state, family, new, sides.counts[1], sides.statistics[1])
    return state, new


@kernel
def apply_merge(state, family, slot, other):
    """Move all items of the cluster ``other`` to the cluster in ``slot``."""
    for item in range(state.labels.shape[0]):
        if state.labels[item] == other:
            state.labels[item] = slot
    sum_rows(state.statistics[slot], state.statistics[slot], state.statistics[other])
    fill_slot(state, family, slot, state.counts[slot] + state.counts[other], state.statistics[slot])
    close_slot(state, other)


class SplitMergeOptions(NamedTuple):
    """Options of the kernel: moves per draw, whether items are allocated sequentially, scans before the last one."""

    n_moves: int
    sequential: bool
    n_scans: int


@kernel
def allocate_by_scans(rng, sides, weights, family, data, items, placed, goals, n_scans):
    """Allocate items by restricted Gibbs scans from a random launch state; return the log probability of the last scan.

    This is the split proposal of Jain & Neal (2004).  The launch state does not depend on ``goals``, so the reverse
    move has the probability of a last scan that ends in ``goals``.  Each scan visits items in a fresh random order:
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
        # Since q is at most 1, many merges are rejected whatever the allocation would find.
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


@shared_kernel
def split_merge_moves(rng, state, weights, family, data, options):
    """Make ``options.n_moves`` split-merge moves; return the state and a :class:`~pymc_nrm.moves.split_merge.Tally`."""
    tally = empty_tally()
    for _ in range(options.n_moves):
        check_signals()
        state = split_merge(rng, state, weights, family, data, options, tally)
    return state, tally
