"""Blocks of items that leave a component and join another one as a whole."""

import numpy as np

from pymc_nrm.families.base import add_item, refresh_cache
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import copy_row, sum_rows
from pymc_nrm.partitions.clusters import close_slot


@kernel
def log_marginals(state, family):
    """Log marginal of each component by slot, shape (capacity,)."""
    values = np.zeros(state.counts.shape[0])
    for k in range(state.size[0]):
        slot = state.active[k]
        values[slot] = log_marginal(family, state.statistics[slot])
    return values


@kernel
def take_block(state, items, row, log_m, family, data):
    """Take items out of the component that they share; caches are not kept up to date."""
    for k in range(row.shape[0]):
        row[k] = 0.0
    for item in items:
        add_item(family, row, data, item, 1.0)
    slot = state.labels[items[0]]
    state.counts[slot] -= items.shape[0]
    if state.counts[slot] == 0:
        close_slot(state, slot)
        return
    statistics = state.statistics[slot]
    for k in range(row.shape[0]):
        statistics[k] -= row[k]
    log_m[slot] = log_marginal(family, statistics)


@kernel
def weigh_block(state, row, scratch, log_m, f, family):
    """Write the log predictive density of a block under each component, and under a new one, into ``f``."""
    for k in range(state.size[0]):
        slot = state.active[k]
        sum_rows(scratch, state.statistics[slot], row)
        f[slot] = log_marginal(family, scratch) - log_m[slot]
    f[state.active[state.size[0]]] = log_marginal(family, row)


@kernel
def put_block(state, slot, items, row, log_m, family):
    """Put items that are in no component into one."""
    statistics = state.statistics[slot]
    sum_rows(statistics, statistics, row)
    state.counts[slot] += items.shape[0]
    for item in items:
        state.labels[item] = slot
    log_m[slot] = log_marginal(family, statistics)


@kernel
def refresh_caches(state, family):
    """Bring the caches of all components up to date."""
    for k in range(state.size[0]):
        slot = state.active[k]
        refresh_cache(family, state.statistics[slot], state.cache[slot])


@kernel
def with_room(values, capacity):
    """Return the array, or a longer copy if it has less than ``capacity`` entries."""
    if values.shape[0] >= capacity:
        return values
    longer = np.zeros(capacity)
    copy_row(longer[: values.shape[0]], values)
    return longer
