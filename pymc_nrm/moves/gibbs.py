"""Gibbs updates of single items: densities under all clusters at once, sweeps that read them, and missing entries."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families import fast
from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.gaps import draw_missing
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import LANES, exp_within, whole_lanes
from pymc_nrm.measures.base import Weights, draw_log_auxiliary, log_joint_term, weights
from pymc_nrm.partitions.clusters import attach, build_state, close_slot, grow, open_slot
from pymc_nrm.partitions.labels import canonical_labels


@kernel
def weights_given(rng, measure, n, n_clusters, log_u):
    """Weights given u, log u, and the term of the log joint density that depends on n and u.

    If ``log_u`` is NaN, u is drawn from its exact conditional distribution.
    """
    if math.isnan(log_u):
        log_u = draw_log_auxiliary(measure, n, n_clusters, rng)
    return weights(measure, n, log_u), log_u, log_joint_term(measure, n, log_u)


def draw_weights(rng, measure, n, n_clusters):
    """Draw u; return the weights given u, log u, and the term of the log joint density that depends on n and u."""
    return weights_given(rng, measure, n, n_clusters, math.nan)


def weights_of_two(table):
    """Weights for two items, with which kernels compile without much work."""
    return Weights(table.join[:3], table.moment[:3])


@kernel(inner_loop=True)
def new_panel(state, join, family):
    """Tables that a sweep reads instead of the caches: rows and lanes of :func:`panel_shape`, and the log weights of
    joining clusters (width,), with a column for each active slot.
    """
    # The column after the last cluster is a cluster without data; the columns after it have prior weight 0:
    #
    #     column       0   ...   K - 1 |  K  | K + 1 ... width - 1
    #                   K clusters     | new |      padding
    width = whole_lanes(state.counts.shape[0])
    n_rows, n_sets, n_lane_rows = fast.panel_shape(family)
    rows, lanes = np.empty((n_rows, width)), np.empty((n_sets, width // LANES, n_lane_rows, LANES))
    prior = np.full(width, -np.inf)
    for column in range(width):
        slot = state.active[min(column, state.size[0])]
        if n_rows > 0:
            fast.write_panel(family, state.cache[slot], rows, lanes, column)
        if column <= state.size[0]:
            prior[column] = join[state.counts[slot]]
    return rows, lanes, prior


@kernel(inner_loop=True)
def column_at(uniform, values, n_columns, likely):
    """The column of a uniform variable, with probabilities proportional to exponentials of the values, overwritten.

    Weights are relative to the weight of the likely column, or to the highest if that is far larger.  Rounding would
    lose relative weights below exp(-40) in any case.  A NaN weight makes the total NaN. Shapes: ``values`` (at least
    n_columns, up to a multiple of LANES,).
    """
    width = whole_lanes(n_columns)
    for k in range(n_columns, width):
        values[k] = -np.inf
    reference = values[likely]
    n_above = 0
    for k in range(width):
        n_above += values[k] > reference + 500.0
    if n_above > 0:
        for k in range(n_columns):
            reference = max(reference, values[k])
    total = 0.0
    for k in range(width):
        x = values[k] - reference
        weight = 0.0 if x <= -40.0 else exp_within(-40.0 if x <= -40.0 else x)
        values[k] = weight
        total += weight
    if not 0.0 < total < np.inf:
        raise ValueError("an item cannot be assigned to any cluster: all weights are 0, or one is not finite")
    threshold = uniform * total
    if threshold < values[likely]:
        return likely
    threshold -= values[likely]
    chosen = n_columns - 1
    for k in range(n_columns):
        if k != likely and values[k] > 0.0:
            chosen = k
            if threshold < values[k]:
                break
            threshold -= values[k]
    return chosen


@kernel(inner_loop=True)
def draw_column(rng, values, n_columns, likely):
    """Draw a column, as in :func:`column_at`."""
    return column_at(rng.random(), values, n_columns, likely)


# With at least `_MANY` items, sweeps visit blocks of `_PIECE` neighbours.
_MANY, _PIECE = 20_000, 64


@kernel
def random_items(rng, n, n_items):
    """``n_items`` distinct items out of n in uniformly random order, shape (n_items,)."""
    order = np.arange(n)
    for i in range(n_items):
        j = i + int(rng.random() * (n - i))
        order[i], order[j] = order[j], order[i]
    return order[:n_items]


@kernel
def scan_order(rng, n, n_items):
    """The first ``n_items`` items of successive random orders of all n, shape (n_items,).

    If there are many items, blocks of neighbours in memory stay together, since uniformly random order makes the
    processor wait for memory.
    """
    length = 1 if n < _MANY else _PIECE
    n_pieces = (n + length - 1) // length
    items = np.empty(n_items, dtype=np.int64)
    count = 0
    while count < n_items:
        for piece in random_items(rng, n_pieces, n_pieces):
            for item in range(piece * length, min(n, (piece + 1) * length)):
                if count < n_items:
                    items[count] = item
                    count += 1
    return items


@shared_kernel
def gibbs_sweep(rng, state, weights, family, data, items):
    """Redraw the cluster of each item of ``items``, in their order; items with label -1 have no cluster yet.

    It leaves the target given u invariant for any fixed ``items``, and hence for random ones drawn independently of the
    partition.  It is irreducible if ``items`` are all items (Neal 2000, algorithm 3; Favaro & Teh 2013, section 4.1).
    Returns the number of items that changed their cluster.
    """
    n_done, n_moved = 0, 0
    while n_done < items.shape[0]:
        state = grow(state, family)
        n_done, moved = _sweep_while_room(rng, state, weights, family, data, items, n_done)
        n_moved += moved
    return state, n_moved


def join_in_turn(rng, weights, family, data, state=None, labels=None, first=()):
    """Assign items with label -1 to the clusters of a state, or to new clusters, one by one in random order, given u.

    Without a state, no item has a cluster yet, and the items ``first`` are assigned first. Returns the labels.
    """
    if state is None:
        state, labels = build_state(np.empty(0, dtype=np.int64), family, data), np.full(len(weights.moment) - 1, -1)
    outside = np.flatnonzero(labels < 0)
    order = outside[scan_order(rng, len(outside), len(outside))]
    if len(first):
        order = np.concatenate([first, order[~np.isin(order, first)]])
    state, _ = gibbs_sweep(rng, state._replace(labels=labels), weights, family, data, order)
    return canonical_labels(state.labels)


@kernel(inner_loop=True)
def _sweep_while_room(rng, state, weights, family, data, items, start):
    """Update ``items[start:]`` until one empty slot is left; return the next index and the number of items that moved.

    Arrays that never change identity inside the loop stay in registers.  Growing them here would make it a quarter
    slower.
    """
    labels, counts, active, position, size = state.labels, state.counts, state.active, state.position, state.size
    statistics, cache, join = state.statistics, state.cache, weights.join
    capacity = counts.shape[0]
    has_panel = fast.panel_shape(family)[0] > 0
    rows, lanes, prior = new_panel(state, join, family)
    values = np.empty(prior.shape[0])
    n_moved = 0
    for index in range(start, items.shape[0]):
        if index % 64 == 0:
            check_signals()
        if size[0] + 2 > capacity:
            return index, n_moved
        item = items[index]
        old = labels[item]
        outside = old < 0
        here = size[0] if outside else position[old]
        alone = not outside and counts[old] == 1
        # Most items stay in their cluster, so do not remove and insert them.
        taken_out = outside or alone
        log_own_density, n_columns = math.nan, size[0] + 1
        if has_panel and not taken_out:
            width = whole_lanes(n_columns)
            for k in range(width):
                values[k] = prior[k]
            log_own_density = fast.weigh(family, statistics[old], cache[old], rows, lanes, data, item, width, values)
        elif not taken_out:
            log_own_density = fast.log_predictive_without(family, statistics[old], cache[old], data, item)
        inside = not math.isnan(log_own_density)
        if alone:
            # The last cluster moves into the closed one's column, and its own column becomes the new cluster's.
            close_slot(state, old)
            last = size[0]
            prior[here], prior[last], prior[last + 1] = prior[last], join[0], -np.inf
            if has_panel:
                fast.write_panel(family, cache[active[here]], rows, lanes, here)
                fast.write_panel(family, cache[old], rows, lanes, last)
        elif not (inside or outside):
            counts[old] -= 1
            fast.update_cache(family, statistics[old], cache[old], data, item, -1.0)
            prior[here] = join[counts[old]]
            if has_panel:
                fast.update_panel(family, cache[old], rows, lanes, here, data, item)
        n_columns = size[0] + 1
        if has_panel and not inside:
            width = whole_lanes(n_columns)
            for k in range(width):
                values[k] = prior[k]
            fast.add_log_predictives(family, rows, lanes, data, item, width, values)
        elif not has_panel:
            for k in range(n_columns):
                values[k] = prior[k] + log_predictive(family, cache[active[k]], data, item)
        if inside:
            values[here] = join[counts[old] - 1] + log_own_density
        chosen = draw_column(rng, values, n_columns, min(here, size[0]))
        new = chosen == size[0]
        n_moved += not (alone and new) and (alone or chosen != here)
        if inside:
            if chosen == here:
                continue
            counts[old] -= 1
            fast.update_cache(family, statistics[old], cache[old], data, item, -1.0)
            prior[here] = join[counts[old]]
            if has_panel:
                fast.update_panel(family, cache[old], rows, lanes, here, data, item)
        if new:
            open_slot(state)
            prior[size[0]] = join[0]
        slot = active[chosen]
        attach(state, item, slot, family, data)
        prior[chosen] = join[counts[slot]]
        if has_panel:
            fast.update_panel(family, cache[slot], rows, lanes, chosen, data, item)
    return items.shape[0], n_moved


class ItemsWithGaps(NamedTuple):
    """Items and their missing entries: ``items[k]`` misses ``columns[starts[k] : starts[k + 1]]``."""

    items: Any
    starts: Any
    columns: Any
    # Positions in `items`, in the order of their draws.
    order: Any
    # Shape (n, d), a part of the data.
    values: Any
    # Whether labels are drawn as well.
    draws_labels: Any


@shared_kernel(gaps=True)
def missing_entries_sweep(rng, state, weights, family, data, gaps):
    """Redraw the missing entries of each item, with its label if labels are drawn, given all other items.

    It leaves the joint target of labels and missing entries given u invariant: the label is drawn from its conditional
    given the observed entries of the item, then the missing entries given these and the label.  It is irreducible for
    the missing entries.  Returns the number of items that changed their cluster.
    """
    n_done, n_moved = 0, 0
    while n_done < gaps.order.shape[0]:
        state = grow(state, family)
        n_done, moved = _redraw_while_room(rng, state, weights.join, family, data, gaps, n_done)
        n_moved += moved
    return state, n_moved


@kernel(inner_loop=True)
def _redraw_while_room(rng, state, join, family, data, gaps, start):
    """Redraw items from ``start`` until one empty slot is left; return the next position and how many moved.

    As in a sweep over labels, arrays that never change identity inside the loop stay in registers.
    """
    labels, counts, active, position, size = state.labels, state.counts, state.active, state.position, state.size
    statistics, cache, items, starts, columns = state.statistics, state.cache, gaps.items, gaps.starts, gaps.columns
    filled, capacity = gaps.values, counts.shape[0]
    values = np.empty(whole_lanes(capacity))
    n_moved = 0
    for index in range(start, gaps.order.shape[0]):
        if index % 64 == 0:
            check_signals()
        if size[0] + 2 > capacity:
            return index, n_moved
        k = gaps.order[index]
        item = items[k]
        old = labels[item]
        counts[old] -= 1
        if counts[old] == 0:
            close_slot(state, old)
        else:
            fast.update_cache(family, statistics[old], cache[old], data, item, -1.0)
        for place in range(starts[k], starts[k + 1]):
            filled[item, columns[place]] = math.nan
        # A cluster that closed is the first empty slot.
        chosen = position[old]
        if gaps.draws_labels:
            n_columns = size[0] + 1
            for column in range(n_columns):
                slot = active[column]
                values[column] = join[counts[slot]] + log_predictive(family, cache[slot], data, item)
            chosen = draw_column(rng, values, n_columns, chosen)
        if chosen == size[0]:
            open_slot(state)
        slot = active[chosen]
        draw_missing(family, cache[slot], data, item, rng)
        attach(state, item, slot, family, data)
        n_moved += slot != old
    return gaps.order.shape[0], n_moved
