"""Gibbs updates of single times: see ``states/moves/direct.py`` for the weights."""

import math

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.fast import (
    add_log_predictives,
    log_predictive_without,
    panel_shape,
    update_cache,
    update_panel,
    write_panel,
)
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.moves.gibbs import draw_column, new_panel
from pymc_nrm.partitions.clusters import attach, open_slot
from pymc_nrm.states.moves.slots import close_state, count_run, entry_weight, log_run, neighbours, offer_weight


@kernel(inner_loop=True)
def move_times(rng, state, slots, prior, family, data, times, first):
    """Redraw the states of ``times[first:]`` until one empty slot is left; return the next one, and how many moved."""
    labels, counts, active, position, size = state.labels, state.counts, state.active, state.position, state.size
    statistics, cache = state.statistics, state.cache
    capacity = counts.shape[0]
    has_panel = panel_shape(family)[0] > 0
    rows, lanes, _ = new_panel(state, np.zeros(labels.shape[0] + 1), family)
    values, n_moved = np.empty(whole_lanes(capacity)), 0
    for index in range(first, times.shape[0]):
        if index % 64 == 0:
            check_signals()
        if size[0] + 2 > capacity:
            return index, n_moved
        t = times[index]
        old = labels[t]
        origin, following = neighbours(labels, prior.starts, t, t + 1)
        count_run(slots, origin, old, 1, following, -1)
        here, alone = position[old], counts[old] == 1
        # Most times stay in their state, so do not take them out and put them back.
        log_own_density = math.nan if alone else log_predictive_without(family, statistics[old], cache[old], data, t)
        inside = not math.isnan(log_own_density)
        if alone:
            # The last state moves into the column of the closed one, and its own becomes that of a new state.
            candidate, left = close_state(state, slots, old)
            if has_panel:
                write_panel(family, cache[active[here]], rows, lanes, here)
                write_panel(family, cache[old], rows, lanes, size[0])
        else:
            candidate, left = offer_weight(rng, slots, prior, size[0])
            if not inside:
                _take_out(state, family, data, t, old)
                if has_panel:
                    update_panel(family, cache[old], rows, lanes, here, data, t)
        n_states = size[0]
        for k in range(n_states):
            slot = active[k]
            entry = entry_weight(slots, prior, origin, slot)
            values[k] = log_run(slots, prior, origin, slot, slots.weights[slot], entry, 1, following)
        entry = prior.alpha * slots.remainder[0]
        values[n_states] = log_run(slots, prior, origin, active[n_states], candidate, entry, 1, following)
        of_prior = values[min(here, n_states)]
        if has_panel:
            width = whole_lanes(n_states + 1)
            for k in range(n_states + 1, width):
                values[k] = -math.inf
            add_log_predictives(family, rows, lanes, data, t, width, values)
        else:
            for k in range(n_states + 1):
                values[k] += log_predictive(family, cache[active[k]], data, t)
        if inside:
            values[here] = of_prior + log_own_density
        chosen = draw_column(rng, values, n_states + 1, min(here, n_states))
        slot = active[chosen]
        if slot == old and inside:
            count_run(slots, origin, old, 1, following, 1)
            continue
        if inside:
            _take_out(state, family, data, t, old)
            if has_panel:
                update_panel(family, cache[old], rows, lanes, here, data, t)
        if chosen == n_states:
            open_slot(state)
            slots.weights[slot], slots.remainder[0] = candidate, left
        attach(state, t, slot, family, data)
        count_run(slots, origin, slot, 1, following, 1)
        n_moved += slot != old
        if has_panel:
            update_panel(family, cache[slot], rows, lanes, chosen, data, t)
    return times.shape[0], n_moved


@kernel
def _take_out(state, family, data, item, slot):
    state.counts[slot] -= 1
    update_cache(family, state.statistics[slot], state.cache[slot], data, item, -1.0)
