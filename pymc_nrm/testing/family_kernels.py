"""Computations of the checks of a family, compiled or in plain Python."""

import numpy as np

from pymc_nrm.families.base import add_item, cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_item, draw_parameters, log_density, log_marginal
from pymc_nrm.families.fast import (
    add_log_predictives,
    log_predictive_without,
    panel_shape,
    update_cache,
    update_panel,
    write_panel,
)
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES


@kernel
def sum_statistics(family, data, items):
    """Statistics of a cluster."""
    statistics = np.zeros(statistics_size(family))
    for item in items:
        add_item(family, statistics, data, item, 1.0)
    return statistics


@kernel
def marginal(family, statistics):
    """Log marginal of a cluster."""
    return log_marginal(family, statistics)


@kernel
def fresh_predictives(family, statistics, data, n):
    """Log predictive densities of the first n items given a cluster, from a new cache."""
    cache, values = np.zeros(cache_size(family)), np.empty(n)
    refresh_cache(family, statistics, cache)
    for item in range(n):
        values[item] = log_predictive(family, cache, data, item)
    return values


@kernel
def walk(family, data, order, n_removed):
    """Add items one by one, then remove the first ``n_removed``. Returns the log predictive densities of the items when
    added, given all items, and given the remaining items; and the statistics of the remaining items.
    """
    n = order.shape[0]
    statistics, cache = np.zeros(statistics_size(family)), np.zeros(cache_size(family))
    refresh_cache(family, statistics, cache)
    chain = 0.0
    added, removed = np.empty(n), np.empty(n)
    for item in order:
        chain += log_predictive(family, cache, data, item)
        update_cache(family, statistics, cache, data, item, 1.0)
    for k in range(n):
        added[k] = log_predictive(family, cache, data, order[k])
    for item in order[:n_removed]:
        update_cache(family, statistics, cache, data, item, -1.0)
    for k in range(n):
        removed[k] = log_predictive(family, cache, data, order[k])
    return chain, added, removed, statistics


@kernel
def leave_one_out(family, data, items):
    """Log predictive density of each item of a cluster given the others, by formula and by removal, (2, n_items)."""
    values = np.empty((2, items.shape[0]))
    statistics, sum_of_others = np.zeros(statistics_size(family)), np.zeros(statistics_size(family))
    cache = np.zeros(cache_size(family))
    for item in items:
        add_item(family, statistics, data, item, 1.0)
    for k in range(items.shape[0]):
        refresh_cache(family, statistics, cache)
        values[0, k] = log_predictive_without(family, statistics, cache, data, items[k])
        sum_of_others[:] = 0.0
        for i in range(items.shape[0]):
            if i != k:
                add_item(family, sum_of_others, data, items[i], 1.0)
        refresh_cache(family, sum_of_others, cache)
        values[1, k] = log_predictive(family, cache, data, items[k])
    return values


@kernel
def panel_values(family, statistics, prior, data, item):
    """Prior plus log predictive density of an item under several clusters, before and after the item joins them.
    Returns values before and after, by the panel and one by one. Shapes: returns (2, 2, width).
    """
    n_rows, n_sets, n_lane_rows = panel_shape(family)
    width = prior.shape[0]
    rows, lanes = np.empty((n_rows, width)), np.empty((n_sets, width // LANES, n_lane_rows, LANES))
    values = np.empty((2, 2, width))
    for after in range(2):
        for k in range(width):
            row, cache = statistics[k].copy(), np.zeros(cache_size(family))
            refresh_cache(family, row, cache)
            if after == 0:
                write_panel(family, cache, rows, lanes, k)
            else:
                update_cache(family, row, cache, data, item, 1.0)
                update_panel(family, cache, rows, lanes, k, data, item)
            values[after, 0, k] = prior[k]
            values[after, 1, k] = prior[k] + log_predictive(family, cache, data, item)
        add_log_predictives(family, rows, lanes, data, item, width, values[after, 0])
    return values


@kernel
def draw_pairs(rng, family, statistics, rows, values):
    """Draw parameters of a cluster into each row of ``rows``, and two items per row into two rows of ``values``."""
    for draw in range(rows.shape[0]):
        draw_parameters(family, statistics, rng, rows[draw])
        draw_item(family, rows[draw], rng, 0, values[2 * draw])
        draw_item(family, rows[draw], rng, 0, values[2 * draw + 1])


@kernel
def draw_each(rng, family, rows, values):
    """Draw each item once, under one of the rows of parameters."""
    for item in range(values.shape[0]):
        draw_item(family, rows[item % rows.shape[0]], rng, item, values[item])


@kernel
def pair_log_densities(family, statistics, data, n_pairs):
    """Log density of items 2 i and 2 i + 1 together, and of item 2 i, given a cluster, shape (2, n_pairs)."""
    values = np.empty((2, n_pairs))
    row, cache, pair = statistics.copy(), np.zeros(cache_size(family)), np.zeros(cache_size(family))
    refresh_cache(family, statistics, cache)
    for k in range(n_pairs):
        row[:] = statistics
        values[1, k] = log_predictive(family, cache, data, 2 * k)
        add_item(family, row, data, 2 * k, 1.0)
        refresh_cache(family, row, pair)
        values[0, k] = values[1, k] + log_predictive(family, pair, data, 2 * k + 1)
    return values


@kernel
def panel_log_densities(family, rows, data, n):
    """Log density of n items under each row of parameters, a multiple of LANES, from a panel, shape (n_rows, n)."""
    width = rows.shape[0]
    panel = component_panel(family, width)
    values, item_values = np.empty((width, n)), np.empty(width)
    for k in range(width):
        write_component(family, rows[k], panel, k)
    for item in range(n):
        item_values[:] = 0.0
        add_component_densities(family, panel, data, item, width, item_values)
        values[:, item] = item_values
    return values


@kernel
def row_log_densities(family, rows, data, n):
    """The same by ``log_density``."""
    values = np.empty((rows.shape[0], n))
    for k in range(rows.shape[0]):
        for item in range(n):
            values[k, item] = log_density(family, rows[k], data, item)
    return values
