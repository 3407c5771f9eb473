"""Kernels of one draw: densities of items in its clusters, and draws of parameters and of data given these."""

from contextlib import contextmanager

import numpy as np

from pymc_nrm.families.base import add_item, log_predictive, refresh_cache
from pymc_nrm.families.conjugate import draw_item, draw_parameters, parameters_size, restore_parameters
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.grouped import GroupedRows, family_of_rows


def log_predictive_table(labels, family, data, points, n_points):
    """Log predictive density of new items in each cluster, and in a new one, shape (n_points, n_clusters + 1)."""
    table = np.empty((n_points, labels.max(initial=-1) + 2))
    _fill_predictive(labels, family, data, points, table)
    return table


def log_leave_one_out_table(labels, family, data, points):
    """Log predictive density of each item of ``points``, the data of the clusters or the same with gaps, in each
    cluster without it and in a new one, shape (n, n_clusters + 1).
    """
    table = np.empty((len(labels), labels.max(initial=-1) + 2))
    _fill_leave_one_out(labels, family, data, points, table)
    return table


@shared_kernel
def _fill_predictive(labels, family, data, points, table):
    state = build_state(labels, family, data)
    for k in range(table.shape[1]):
        check_signals()
        # The slot after the last occupied one holds the cache of a cluster without data.
        cache = state.cache[state.active[k]]
        for j in range(table.shape[0]):
            table[j, k] = log_predictive(family, cache, points, j)


@shared_kernel
def _fill_leave_one_out(labels, family, data, points, table):
    state = build_state(labels, family, data)
    n, n_clusters = labels.shape[0], state.size[0]
    statistics = np.empty(state.statistics.shape[1])
    cache = np.empty(state.cache.shape[1])
    for i in range(n):
        check_signals()
        for k in range(n_clusters + 1):
            table[i, k] = log_predictive(family, state.cache[state.active[k]], points, i)
        cluster = labels[i]
        if state.counts[cluster] == 1:
            table[i, cluster] = table[i, n_clusters]
            continue
        copy_row(statistics, state.statistics[cluster])
        add_item(family, statistics, data, i, -1.0)
        refresh_cache(family, statistics, cache)
        table[i, cluster] = log_predictive(family, cache, points, i)


def log_sum_rows(table):
    """Log of the sum of exponentials of each row, -inf if all entries are. Shapes: ``table`` (m, k); returns (m,)."""
    return log_of_sums(table, lambda densities: densities.sum(axis=1, keepdims=True))[:, 0]


def log_of_sums(table, add):
    """Log of sums of exponentials of each row, where ``add`` makes (m, l) of them of (m, k)."""
    largest = table.max(axis=1, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return shift + np.log(add(np.exp(table - shift)))


@contextmanager
def covariances_held(what):
    """Say that ``what`` is impossible where a covariance has no Cholesky factor in doubles."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise ValueError(
            f"{what}: doubles do not hold the covariance of a cluster, far longer in one direction than in others. "
            "Choose mu nearer to the data, or a wider Psi"
        ) from None


@shared_kernel(draws=True)
def draw_cluster_rows(rng, labels, family, data, n_new, n_draws):
    """Draw the parameters of every cluster given its items, and the parameters of ``n_new`` clusters without items.

    The rows are means of ``n_draws`` draws.
    """
    state = build_state(labels, family, data)
    n_clusters = state.size[0]
    empty = state.active[n_clusters]
    sums = np.zeros((n_clusters + n_new, parameters_size(family)))
    row = np.empty(sums.shape[1])
    for _ in range(n_draws):
        for k in range(n_clusters + n_new):
            check_signals()
            slot = k if k < n_clusters else empty
            draw_parameters(family, state.statistics[slot], rng, row)
            for j in range(row.shape[0]):
                sums[k, j] += row[j]
    return sums / n_draws


@kernel
def _draw_items(rng, family, labels, parameters, values):
    """Draw data of items given their labels and the parameters of clusters, and write them into ``values``."""
    for item in range(labels.shape[0]):
        if item % 64 == 0:
            check_signals()
        draw_item(family, parameters[labels[item]], rng, item, values[item])


def draw_data_of_clusters(rng, layout, family, data, old_labels, labels):
    """Data of items, or of their rows, given their clusters, whose parameters are drawn given the data of old items.
    A new item has one row.
    """
    n_new, n_new_items = int(labels.max()) - int(old_labels.max()), len(labels) - len(old_labels)
    if isinstance(data, GroupedRows):
        labels = np.concatenate([labels[data.items], labels[len(old_labels) :]])
    parameters = restore_parameters(family, data, draw_cluster_rows(rng, old_labels, family, data, n_new, 1))
    values = np.empty((len(labels), layout.n_features(family)))
    with covariances_held(f"data of {layout.name!r} cannot be drawn"):
        _draw_items(rng, _with_new_items(family_of_rows(family), n_new_items), labels, parameters, values)
    return values


def _with_new_items(family, new_items):
    """The family of old and new items, if it has hyperparameters with one value per item."""
    if not new_items:
        return family
    changed = {}
    for name, spec in family.hyperparameters.items():
        if "n" in spec.core:
            values = np.moveaxis(getattr(family, name), spec.core.index("n"), 0)
            if (values != values[:1]).any():
                raise ValueError(
                    f"{name} of {type(family).__name__} differs between items: new items have no value of it; use "
                    "new_items=0"
                )
            longer = np.concatenate([values, np.repeat(values[:1], new_items, axis=0)])
            changed[name] = np.ascontiguousarray(np.moveaxis(longer, 0, spec.core.index("n")))
    return family._replace(**changed)
