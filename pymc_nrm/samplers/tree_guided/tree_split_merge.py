"""Split-merge moves that allocate blocks of a guide tree in place of single items."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import (
    add_item,
    cache_size,
    log_marginal,
    log_predictive,
    refresh_cache,
    statistics_size,
    update_cache,
)
from pymc_nrm.generic import kernel
from pymc_nrm.interrupts import check_signals
from pymc_nrm.partitions.clusters import close_slot, grow, open_slot
from pymc_nrm.samplers.marginal_gibbs import random_items
from pymc_nrm.samplers.split_merge_tally import count_outcome
from pymc_nrm.samplers.tree_guided.block_gibbs import draw_from_logs, sum_rows
from pymc_nrm.samplers.tree_guided.guide_tables import draw_internal_node, draw_leaf, draw_level
from pymc_nrm.samplers.tree_guided.units import (
    find_traces,
    make_units,
    relabel_units,
    sides_of_units,
    unit_size,
    unit_statistics,
)
from pymc_nrm.special import copy_row


class Sides(NamedTuple):
    """Two clusters under construction, one about each anchor: rows 0 and 1 of each array.

    ``marginal`` holds the log marginals; caches are kept up to date only where single items are allocated.
    """

    counts: Any
    statistics: Any
    cache: Any
    marginal: Any


@kernel
def start_sides(family, data, first, second, single):
    """Two clusters of one anchor each."""
    counts = np.ones(2, dtype=np.int64)
    statistics = np.zeros((2, statistics_size(family)))
    cache = np.zeros((2, cache_size(family)))
    marginal = np.zeros(2)
    if single:
        refresh_cache(family, statistics[0], cache[0])
        copy_row(cache[1], cache[0])
    for side, item in ((0, first), (1, second)):
        if single:
            update_cache(family, statistics[side], cache[side], data, item, 1.0)
        else:
            add_item(family, statistics[side], data, item, 1.0)
            marginal[side] = log_marginal(family, statistics[side])
    return Sides(counts, statistics, cache, marginal)


@kernel
def allocate(rng, sides, weights, family, data, guide, units, placed, single, forced):
    """Allocate units one after the other in fresh random order; the log probability of the outcome.

    Units with an anchor's block go to that anchor first, without a choice.  ``placed`` receives the side of each unit,
    or holds it when ``forced``; -inf when a forced unit would have to leave its anchor.
    """
    n_units = units.glued.shape[0]
    row = np.empty(sides.statistics.shape[1])
    joined = np.empty((2, sides.statistics.shape[1]))
    marginals = np.empty(2)
    log_weights = np.empty(2)
    log_q = 0.0
    order = random_items(rng, n_units, n_units)
    for attach_glued in (True, False):
        for k in order:
            if k % 64 == 0:
                check_signals()
            glued = units.glued[k]
            if (glued >= 0) != attach_glued:
                continue
            if attach_glued:
                if forced and placed[k] != glued:
                    return -np.inf
                placed[k] = glued
            size = unit_size(guide, units, k)
            item = units.node[k]
            if single:
                for side in range(2):
                    log_weights[side] = weights.join[sides.counts[side]] + log_predictive(
                        family, sides.cache[side], data, item
                    )
            else:
                unit_statistics(family, data, guide, units, k, row)
                for side in range(2):
                    count = sides.counts[side]
                    sum_rows(joined[side], sides.statistics[side], row)
                    marginals[side] = log_marginal(family, joined[side])
                    log_weights[side] = weights.moment[count + size] - weights.moment[count]
                    log_weights[side] += marginals[side] - sides.marginal[side]
            if not attach_glued:
                difference = log_weights[1] - log_weights[0]
                if not forced:
                    placed[k] = draw_from_logs(rng, log_weights, 2)
                # log of 1 / (1 + exp(x)) for the log odds x against the side taken.
                against = difference if placed[k] == 0 else -difference
                log_q -= max(against, 0.0) + math.log1p(math.exp(-abs(against)))
            side = placed[k]
            if single:
                update_cache(family, sides.statistics[side], sides.cache[side], data, item, 1.0)
            else:
                copy_row(sides.statistics[side], joined[side])
                sides.marginal[side] = marginals[side]
            sides.counts[side] += size
    return log_q


@kernel
def side_log_weight(weights, family, sides, side, single):
    """Log of L = kappa(size, u) p(X) of one side."""
    marginal = log_marginal(family, sides.statistics[side]) if single else sides.marginal[side]
    return weights.moment[sides.counts[side]] + marginal


@kernel
def union_log_weight(weights, family, sides, union):
    """Log of L of both sides as one cluster."""
    return weights.moment[sides.counts[0] + sides.counts[1]] + log_marginal(family, union)


@kernel
def apply_split(state, family, sides, guide, units, placed, slot):
    """Move the second side to a new slot; the state must have room for one."""
    new = open_slot(state)
    relabel_units(state, guide, units, placed, new)
    for side, target in ((0, slot), (1, new)):
        state.counts[target] = sides.counts[side]
        copy_row(state.statistics[target], sides.statistics[side])
        refresh_cache(family, state.statistics[target], state.cache[target])


@kernel
def apply_merge(state, family, union, slot, other):
    """Move all items of one cluster to another."""
    for item in range(state.labels.shape[0]):
        if state.labels[item] == other:
            state.labels[item] = slot
    state.counts[slot] += state.counts[other]
    copy_row(state.statistics[slot], union)
    refresh_cache(family, state.statistics[slot], state.cache[slot])
    close_slot(state, other)


@kernel
def tree_split_merge_moves(rng, state, weights, family, data, guide, n_moves):
    """Several moves of :func:`tree_split_merge`; the state and a tally, shape (7,).

    The tally is that of :func:`count_outcome`, followed by the number of log marginals.
    """
    tally = np.zeros(7)
    traces = find_traces(state, guide)
    for _ in range(n_moves):
        check_signals()
        state, outcome, log_ratio = tree_split_merge(rng, state, weights, family, data, guide, traces, tally)
        count_outcome(tally, outcome, log_ratio)
        if outcome % 2 == 1:
            traces = find_traces(state, guide)
    return state, tally


@kernel
def tree_split_merge(rng, state, weights, family, data, guide, traces, tally):
    """One split-merge move between two anchors below the children of a node of the guide tree.

    A proposal takes time in proportion to the number of units; an accepted one changes labels as well.

    Given node, anchors, level and order of units, the union of the anchors' clusters and its units are the same before
    and after: Metropolis-Hastings on two partitions.  Leaves the target given u invariant; not irreducible alone.

    Returns
    -------
    state : State
    outcome : int
        0 split rejected, 1 split accepted, 2 merge rejected, 3 merge accepted.
    log_ratio : float
        The log of the acceptance ratio; nan where no move was possible.
    """
    node = draw_internal_node(rng, guide)
    first, second = draw_leaf(rng, guide, guide.tree.left[node]), draw_leaf(rng, guide, guide.tree.right[node])
    level = draw_level(rng, guide, node)
    single = level == 0
    slot, other = state.labels[first], state.labels[second]
    merging = slot != other
    units = make_units(state, guide, traces, level, first, second)
    placed = np.zeros(units.glued.shape[0], dtype=np.int64)
    tally[6] += 3.0 + 2.0 * placed.shape[0]
    if merging and not sides_of_units(state, guide, units, other, placed):
        return state, 2, math.nan
    sides = start_sides(family, data, first, second, single)
    log_q = allocate(rng, sides, weights, family, data, guide, units, placed, single, merging)
    if log_q == -np.inf:
        return state, 2, math.nan
    union = np.empty(state.statistics.shape[1])
    if merging:
        sum_rows(union, state.statistics[slot], state.statistics[other])
    else:
        copy_row(union, state.statistics[slot])
    log_ratio = -union_log_weight(weights, family, sides, union) - log_q
    for side in range(2):
        log_ratio += side_log_weight(weights, family, sides, side, single)
    if merging:
        log_ratio = -log_ratio
    if not math.log(rng.random()) < log_ratio:
        return state, 2 * merging, log_ratio
    if merging:
        apply_merge(state, family, union, slot, other)
    else:
        state = grow(state, family)
        apply_split(state, family, sides, guide, units, placed, slot)
    return state, 1 + 2 * merging, log_ratio
