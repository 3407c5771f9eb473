"""Joint draws of the label and the missing entries of single items."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.fast import update_cache
from pymc_nrm.families.gaps import draw_missing
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.moves.gibbs import draw_column
from pymc_nrm.partitions.clusters import attach, close_slot, grow, open_slot


class ItemsWithGaps(NamedTuple):
    """Items and their missing entries: those of ``items[k]`` are ``columns[starts[k] : starts[k + 1]]``."""

    items: Any
    starts: Any
    columns: Any
    # Places in `items`, in the order of their draws.
    order: Any
    # Shape (n, d), a part of the data.
    values: Any
    # Whether labels are drawn as well.
    draws_labels: Any


@kernel
def missing_entries_sweep(rng, state, weights, family, data, gaps):
    """Redraw the missing entries of each item, with its label if these are drawn, given all other items.

    It leaves the target given u invariant, of labels and missing entries together: the label is drawn from its
    conditional given the observed entries of the item, then the missing ones given these and the label.  It is
    irreducible for the missing entries.  Returns the number of items that changed their cluster.
    """
    n_done, n_moved = 0, 0
    while n_done < gaps.order.shape[0]:
        state = grow(state, family)
        n_done, moved = _redraw_while_room(rng, state, weights.join, family, data, gaps, n_done)
        n_moved += moved
    return state, n_moved


@kernel(inner_loop=True)
def _redraw_while_room(rng, state, join, family, data, gaps, start):
    """Redraw items from a place in the order until one empty slot is left; return the next place and how many moved.

    As in a sweep over labels, arrays that never change identity inside the loop stay in registers.
    """
    labels, counts, active, position, size = state.labels, state.counts, state.active, state.position, state.size
    statistics, cache, items, starts, columns = state.statistics, state.cache, gaps.items, gaps.starts, gaps.columns
    filled, capacity = gaps.values, counts.shape[0]
    values = np.empty((capacity + LANES - 1) // LANES * LANES)
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
            update_cache(family, statistics[old], cache[old], data, item, -1.0)
        for place in range(starts[k], starts[k + 1]):
            filled[item, columns[place]] = math.nan
        # A cluster that was closed is the first empty slot.
        chosen = position[old]
        if gaps.draws_labels:
            n_columns = size[0] + 1
            for column in range(n_columns):
                slot = active[column]
                values[column] = join[counts[slot]] + log_predictive(family, cache[slot], data, item)
            for column in range(n_columns, (n_columns + LANES - 1) // LANES * LANES):
                values[column] = -np.inf
            chosen = draw_column(rng, values, n_columns, chosen)
        if chosen == size[0]:
            open_slot(state)
        slot = active[chosen]
        draw_missing(family, cache[slot], data, item, rng)
        attach(state, item, slot, family, data)
        n_moved += slot != old
    return gaps.order.shape[0], n_moved
