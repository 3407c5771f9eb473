"""Gibbs sampling of labels over a random pool of slots: all occupied slots, and a few empty ones."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.base import cache_size as size_of_cache
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.moves.gibbs import draw_column


class Pool(NamedTuple):
    """Columns of a table, one for each slot of the pool; kernels change it in place."""

    # Column of each item; int64 of shape (n,).
    columns: Any
    # Number of items of each column; int64 of shape (n_columns,).
    counts: Any
    # statistics, cache: Rows of the conjugate mixtures over the partition; the last row is a cluster without data;
    # shape (n_columns + 1, ...).
    statistics: Any
    cache: Any


@shared_kernel
def build_pool(columns, n_columns, family, data):
    """Pool with items in these columns, with all statistics summed from the data."""
    statistics = np.zeros((n_columns + 1, statistics_size(family)))
    cache = np.zeros((n_columns + 1, size_of_cache(family)))
    counts = np.zeros(n_columns, dtype=np.int64)
    for i in range(columns.shape[0]):
        if i % 64 == 0:
            check_signals()
        counts[columns[i]] += 1
        if statistics.shape[1] > 0:
            add_item(family, statistics[columns[i]], data, i, 1.0)
    for column in range(n_columns + 1):
        refresh_cache(family, statistics[column], cache[column])
    return Pool(columns.copy(), counts, statistics, cache)


def log_truncation(max_clusters, mean):
    """Differences of the log probability that a Poisson variable is at most m, for the weights of empty slots. Entry k
    is ``log Z(K - k) - log Z(K - k - 1)``, with ``Z(m)`` the sum of ``mean**j / j!`` for j up to m.
    """
    steps = np.arange(1, max_clusters + 1)
    log_terms = np.concatenate([[0.0], np.cumsum(math.log(mean) - np.log(steps))])
    return np.diff(np.logaddexp.accumulate(log_terms))[::-1].copy()


@kernel
def draw_pool(rng, counts, mean):
    """Draw a pool: all occupied slots, and j of the m empty ones.

    j has the Poisson distribution given that it is at most m, and the empty slots are uniformly random. The occupied
    slots come first.
    """
    K = counts.shape[0]
    slots = np.empty(K, dtype=np.int64)
    k = 0
    for s in range(K):
        if counts[s] > 0:
            slots[k] = s
            k += 1
    m = k
    for s in range(K):
        if counts[s] == 0:
            slots[m] = s
            m += 1
    # Invert the distribution function of j.
    term = total = 1.0
    for j in range(1, K - k + 1):
        term *= mean / j
        total += term
    threshold = rng.random() * total
    term = 1.0
    n_empty = 0
    while threshold >= term and n_empty < K - k:
        threshold -= term
        n_empty += 1
        term *= mean / n_empty
    for j in range(n_empty):
        other = k + j + rng.integers(0, K - k - j)
        slots[k + j], slots[other] = slots[other], slots[k + j]
    return slots[: k + n_empty].copy(), k


@shared_kernel
def pool_sweep(rng, pool, weights, family, data, table, log_empty, items):
    """Redraw the slot of each item of ``items`` within the pool, in their order.

    Let B be the pool and k the number of slots that other items occupy.  The joint density of the labels, u and B is,
    as a function of labels in B, proportional to

        prod_c kappa(n_c, u) f(y_c | theta_c)  mean^(-k) / Z(K - k)

    so an occupied slot of n_s other items has the weight ``join[n_s] f(y_i | theta_s)``, and an empty slot
    ``join[0] / mean  Z(K - k) / Z(K - k - 1)  f(y_i | theta_s)``.  The sweep leaves the target given u and the
    parameters of all slots invariant for any fixed ``items``.  It is irreducible only together with draws of the pool
    and of the parameters (Neal 2000, algorithm 8, with a random number of empty slots). Returns the number of items
    that changed their slot. Shapes: ``table`` (n, width), ``log_empty`` (max_clusters,).
    """
    columns, counts, statistics, cache, join = pool.columns, pool.counts, pool.statistics, pool.cache, weights.join
    n_columns = counts.shape[0]
    width = whole_lanes(n_columns)
    has_data = statistics.shape[1] > 0
    prior = np.full(width, -np.inf)
    values = np.empty(width)
    k = 0
    for c in range(n_columns):
        k += counts[c] > 0
    _write_prior(prior, counts, join, log_empty, k)
    n_moved = 0
    for index in range(items.shape[0]):
        if index % 64 == 0:
            check_signals()
        item = items[index]
        old = columns[item]
        counts[old] -= 1
        alone = counts[old] == 0
        if alone:
            k -= 1
            _write_prior(prior, counts, join, log_empty, k)
        else:
            prior[old] = join[counts[old]]
        if has_data:
            _take_out(pool, family, data, item, old, alone)
        for c in range(width):
            values[c] = prior[c] + table[item, c]
        if has_data:
            for c in range(n_columns):
                values[c] += log_predictive(family, cache[c], data, item)
        new = draw_column(rng, values, n_columns, old)
        n_moved += new != old
        counts[new] += 1
        columns[item] = new
        if has_data:
            update_cache(family, statistics[new], cache[new], data, item, 1.0)
        if counts[new] == 1:
            k += 1
            _write_prior(prior, counts, join, log_empty, k)
        else:
            prior[new] = join[counts[new]]
    return n_moved


@kernel
def _write_prior(prior, counts, join, log_empty, k):
    """Write log weights of all columns before the data of an item are seen, if k slots are occupied without it."""
    # With all slots occupied there is no empty slot, and no item is drawn before one is vacated.
    empty = log_empty[k] if k < log_empty.shape[0] else -np.inf
    for c in range(counts.shape[0]):
        prior[c] = join[counts[c]] if counts[c] > 0 else empty


@kernel
def _take_out(pool, family, data, item, column, alone):
    if alone:
        # Rounding may have left residues in the rows.
        copy_row(pool.statistics[column], pool.statistics[-1])
        copy_row(pool.cache[column], pool.cache[-1])
    else:
        update_cache(family, pool.statistics[column], pool.cache[column], data, item, -1.0)


@kernel
def sum_of_items(table, columns):
    """Sum of the entries of a table in the columns of its rows."""
    total = 0.0
    for i in range(columns.shape[0]):
        total += table[i, columns[i]]
    return total
