"""Kernels of one draw of a block model: densities of pairs in their blocks, draws of parameters, ties of new nodes.

Cells are blocks in the order of their table, (K, L) clusters of rows and columns.
"""

import numpy as np

from pymc_nrm.families.base import (
    add_all,
    add_item,
    cache_size,
    log_marginal,
    log_predictive,
    refresh_cache,
    statistics_size,
)
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals
from pymc_nrm.kernels.special import copy_row


@shared_kernel
def fill_without(cells, items, statistics, family, data, values):
    """Log density of pairs, each given all others of its block.

    Shapes: ``cells`` and ``items`` (m,), the block of a pair and its item of the data; ``statistics`` (n_cells, p);
    ``values`` (m,).
    """
    marginals = np.empty(statistics.shape[0])
    for cell in range(statistics.shape[0]):
        marginals[cell] = log_marginal(family, statistics[cell])
    others = np.empty(statistics.shape[1])
    for i in range(values.shape[0]):
        if i % 1024 == 0:
            check_signals()
        copy_row(others, statistics[cells[i]])
        add_item(family, others, data, items[i], -1.0)
        values[i] = marginals[cells[i]] - log_marginal(family, others)


@shared_kernel
def fill_predictive(cells, statistics, family, data, points, values):
    """Log density of further pairs given the observed pairs of their blocks. Shapes: ``cells`` and ``values`` (m,)."""
    cache = np.empty((statistics.shape[0], cache_size(family)))
    for cell in range(statistics.shape[0]):
        refresh_cache(family, statistics[cell], cache[cell])
    for j in range(values.shape[0]):
        if j % 1024 == 0:
            check_signals()
        values[j] = log_predictive(family, cache[cells[j]], points, j)


@shared_kernel(draws=True)
def draw_blocks(rng, statistics, family, data):
    """Draw the parameters of each block. Shapes: ``statistics`` (n_cells, p); returns (n_cells, n_parameters)."""
    rows = np.empty((statistics.shape[0], parameters_size(family)))
    for cell in range(statistics.shape[0]):
        if cell % 64 == 0:
            check_signals()
        draw_parameters(family, statistics[cell], rng, rows[cell])
    return rows


@shared_kernel
def sum_ties(labels, n_labels, family, data, points):
    """Sums of the statistics of further pairs by their labels, shape (n_labels, p)."""
    statistics = np.zeros((n_labels, statistics_size(family)))
    add_all(family, statistics, points, labels)
    return statistics


@shared_kernel
def weigh_blocks(statistics, out, into, family, data, table):
    """Add the log density of the ties of new nodes that join each cluster or, last, a new one.

    Shapes: ``statistics`` (K, L, p) of blocks; ``out`` and ``into`` (m, L, p), sums of the ties of each new node by
    cluster, the latter of ties to it in directed networks, else (0, L, p); ``table`` (m, K + 1).
    """
    n_clusters, n_columns, size = statistics.shape
    nothing, is_directed = np.zeros(size), into.shape[0] > 0
    for k in range(n_clusters + 1):
        is_new = k == n_clusters
        check_signals()
        for s in range(n_columns):
            row = nothing if is_new else statistics[k, s]
            before = log_marginal(family, row)
            for j in range(out.shape[0]):
                both = row + out[j, s]
                if is_directed and s == k:
                    both += into[j, s]
                table[j, k] += log_marginal(family, both) - before
            if is_directed and s != k:
                column = nothing if is_new else statistics[s, k]
                before = log_marginal(family, column)
                for j in range(out.shape[0]):
                    table[j, k] += log_marginal(family, column + into[j, s]) - before
