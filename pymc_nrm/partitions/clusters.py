"""The state of kernels: the items, sufficient statistics and cache of every cluster."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_all, cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.conjugate import draw_item, draw_parameters, log_marginal, parameters_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, generic, kernel
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.partitions.labels import rename_in_order


class State(NamedTuple):
    """Clusters in slots, which kernels change in place; ``active`` lists the occupied slots first.

    The slots after the first ``size[0]`` entries of ``active`` are empty.  Their rows equal the rows of a cluster
    without data, so the first empty slot serves as the candidate for a new cluster::

        active   [ 3   0   4 | 1   2 ]        size[0] = 3: slots 3, 0 and 4 are clusters
                   occupied    ^ candidate for a new cluster
    """

    # Slot of each item; int64 of shape (n,).
    labels: Any
    # Int64 of shape (capacity,).
    counts: Any
    # statistics, cache: shape (capacity, ...).
    statistics: Any
    cache: Any
    # active, position: A permutation of the slots, and its inverse: `position[active[k]] = k`; int64 of shape
    # (capacity,).
    active: Any
    position: Any
    # Number of clusters, always less than the capacity; int64 of shape (1,).
    size: Any


@shared_kernel
def build_state(labels, family, data):
    """State for canonical labels, with all statistics summed from the data."""
    n_clusters = labels.max() + 1 if labels.shape[0] else 0
    capacity = n_clusters + 8 + n_clusters // 4
    state = empty_state(labels.copy(), capacity, family)
    for i in range(labels.shape[0]):
        state.counts[labels[i]] += 1
    add_all(family, state.statistics, data, state.labels)
    for slot in range(n_clusters):
        refresh_cache(family, state.statistics[slot], state.cache[slot])
    state.size[0] = n_clusters
    return state


@kernel
def empty_state(labels, capacity, family):
    """State with these labels, which are not copied, and without clusters."""
    statistics = np.zeros((capacity, statistics_size(family)))
    cache = np.zeros((capacity, cache_size(family)))
    refresh_cache(family, statistics[0], cache[0])
    for slot in range(1, capacity):
        copy_row(cache[slot], cache[0])
    return State(
        labels,
        np.zeros(capacity, dtype=np.int64),
        statistics,
        cache,
        np.arange(capacity),
        np.arange(capacity),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def grow(state, family):
    """Return the state if it has at least two empty slots, else a copy with over twice the capacity."""
    capacity = state.counts.shape[0]
    if state.size[0] + 2 <= capacity:
        return state
    return copied_state(state, state.labels, 2 * capacity + 2, family)


@kernel
def copied_state(state, labels, capacity, family):
    """A copy of a state with these labels, which are not copied, and at least as many slots."""
    larger = empty_state(labels, capacity, family)
    for slot in range(state.counts.shape[0]):
        larger.counts[slot] = state.counts[slot]
        larger.active[slot] = state.active[slot]
        larger.position[slot] = state.position[slot]
        copy_row(larger.statistics[slot], state.statistics[slot])
        copy_row(larger.cache[slot], state.cache[slot])
    larger.size[0] = state.size[0]
    return larger


@kernel
def open_slot(state):
    """Turn the first empty slot into a cluster and return it; the caller ensures capacity and fills its rows."""
    slot = state.active[state.size[0]]
    state.size[0] += 1
    return slot


@kernel
def close_slot(state, slot):
    """Remove an empty cluster: move its slot behind the occupied slots and reset its rows."""
    last = state.size[0] - 1
    here, other = state.position[slot], state.active[last]
    state.active[here], state.active[last] = other, slot
    state.position[other], state.position[slot] = here, last
    state.size[0] = last
    state.counts[slot] = 0
    # Rounding may have left residues in the rows, so copy the rows of another empty slot.
    pristine = state.active[last + 1]
    copy_row(state.statistics[slot], state.statistics[pristine])
    copy_row(state.cache[slot], state.cache[pristine])


@kernel
def attach(state, item, slot, family, data):
    """Assign an item that is in no cluster to a slot."""
    update_cache(family, state.statistics[slot], state.cache[slot], data, item, 1.0)
    state.counts[slot] += 1
    state.labels[item] = slot


@kernel
def ordered_labels(state):
    """Return the canonical labels of a state, shape (n,)."""
    labels = state.labels.copy()
    rename_in_order(labels, state.counts.shape[0])
    return labels


@generic
def cluster_size(family, statistics, count):
    """Size of a cluster as the measure counts items, given the number of items that kernels see."""
    return count


@generic
def stays(family, data, item):
    """Whether an item keeps its cluster while the slice sampler draws the labels of others."""
    return False


@generic
def opens_clusters(family):
    """Whether items may open clusters."""
    return True


@shared_kernel
def log_target(state, weights, family, data):
    """Log target given u, up to terms in n and u: the sum over clusters of log kappa(size, u) + log marginal."""
    total = 0.0
    for k in range(state.size[0]):
        slot = state.active[k]
        total += weights.moment[state.counts[slot]] + log_marginal(family, state.statistics[slot])
    return total


@shared_kernel
def log_target_by_items(state, weights, family, data):
    """Compute :func:`log_target` item by item from predictives, for families without log marginals."""
    capacity = state.counts.shape[0]
    fresh = empty_state(state.labels, capacity, family)
    total = 0.0
    for item in range(state.labels.shape[0]):
        if item % 64 == 0:
            check_signals()
        slot = state.labels[item]
        total += weights.join[fresh.counts[slot]] + log_predictive(family, fresh.cache[slot], data, item)
        update_cache(family, fresh.statistics[slot], fresh.cache[slot], data, item, 1.0)
        fresh.counts[slot] += 1
    return total


@kernel
def draw_data(family, labels, rng, n_features):
    """Draw data given the partition, shape (n, d): first the parameters of all clusters, then their items."""
    n_clusters = labels.max() + 1 if labels.shape[0] else 0
    empty = np.zeros(statistics_size(family))
    parameters = np.empty((n_clusters, parameters_size(family)))
    for cluster in range(n_clusters):
        draw_parameters(family, empty, rng, parameters[cluster])
    values = np.empty((labels.shape[0], n_features))
    for item in range(labels.shape[0]):
        if item % 64 == 0:
            check_signals()
        draw_item(family, parameters[labels[item]], rng, item, values[item])
    return values
