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
    """Items in the order of their draws, and their missing entries.

    Entries of ``items[k]`` are ``columns[starts[k] : starts[k + 1]]``; ``values`` (n, d) is a part of the data.
    """

    items: Any
    starts: Any
    columns: Any
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
    n_moved = 0
    for k in range(gaps.items.shape[0]):
        if k % 64 == 0:
            check_signals()
        state = grow(state, family)
        n_moved += _redraw_item(rng, state, weights.join, family, data, gaps, k)
    return state, n_moved


@kernel
def _redraw_item(rng, state, join, family, data, gaps, k):
    item = gaps.items[k]
    old = state.labels[item]
    state.counts[old] -= 1
    alone = state.counts[old] == 0
    if alone:
        close_slot(state, old)
    else:
        update_cache(family, state.statistics[old], state.cache[old], data, item, -1.0)
    for place in range(gaps.starts[k], gaps.starts[k + 1]):
        gaps.values[item, gaps.columns[place]] = math.nan
    # A cluster that was closed is the first empty slot.
    chosen = state.position[old]
    if gaps.draws_labels:
        n_columns = state.size[0] + 1
        values = np.full((n_columns + LANES - 1) // LANES * LANES, -np.inf)
        for column in range(n_columns):
            slot = state.active[column]
            values[column] = join[state.counts[slot]] + log_predictive(family, state.cache[slot], data, item)
        chosen = draw_column(rng, values, n_columns, chosen)
    if chosen == state.size[0]:
        open_slot(state)
    slot = state.active[chosen]
    draw_missing(family, state.cache[slot], data, item, rng)
    attach(state, item, slot, family, data)
    return slot != old
