"""Kernels for the predictive densities of items in the clusters of one draw."""

import numpy as np

from pymc_nrm.families.base import add_item, log_predictive, refresh_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.partitions.clusters import build_state


def log_predictive_table(labels, family, data, points, n_points):
    """Log predictive density of new items in each cluster, and in a new one, shape (n_points, n_clusters + 1)."""
    table = np.empty((n_points, labels.max(initial=-1) + 2))
    _fill_predictive(labels, family, data, points, table)
    return table


def log_leave_one_out_table(labels, family, data, points):
    """Log predictive density of each item in each cluster without it, and in a new one, shape (n, n_clusters + 1).

    ``points`` are the data of which these are densities: the data of the clusters, or the same with gaps.
    """
    table = np.empty((len(labels), labels.max(initial=-1) + 2))
    _fill_leave_one_out(labels, family, data, points, table)
    return table


@kernel
def _fill_predictive(labels, family, data, points, table):
    state = build_state(labels, family, data)
    for k in range(table.shape[1]):
        check_signals()
        # The slot after the last occupied one holds the cache of a cluster without data.
        cache = state.cache[state.active[k]]
        for j in range(table.shape[0]):
            table[j, k] = log_predictive(family, cache, points, j)


@kernel
def _fill_leave_one_out(labels, family, data, points, table):
    state = build_state(labels, family, data)
    n, n_clusters = labels.shape[0], state.size[0]
    statistics = np.empty(state.statistics.shape[1])
    cache = np.empty(state.cache.shape[1])
    for i in range(n):
        check_signals()
        for k in range(n_clusters + 1):
            table[i, k] = log_predictive(family, state.cache[state.active[k]], points, i)
        own = labels[i]
        if state.counts[own] == 1:
            table[i, own] = table[i, n_clusters]
            continue
        copy_row(statistics, state.statistics[own])
        add_item(family, statistics, data, i, -1.0)
        refresh_cache(family, statistics, cache)
        table[i, own] = log_predictive(family, cache, points, i)


def log_sum_rows(table):
    """Log of the sum of exponentials of each row; -inf if all entries of the row are. Shapes: ``table`` (m, k); returns
    (m,).
    """
    largest = table.max(axis=1)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return shift + np.log(np.exp(table - shift[:, None]).sum(axis=1))
