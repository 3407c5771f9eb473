"""Clusters with two halves each: statistics, restricted Gibbs draws, and gates that splits and merges wait for."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, parameters_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import draw_categorical, draw_log_gamma, sum_rows

# Programs whose rules a sweep follows.
CHANG_FISHER, DPMM_JL, DPMM_SUBCLUSTERS = 0, 1, 2


class Rules(NamedTuple):
    """The rules of a sweep; with the last three, one of its parts can be studied alone."""

    program: Any
    # Whether clusters of the program of Chang & Fisher may be split at any time.
    always_splittable: Any
    relabels: Any = True
    splits: Any = True
    merges: Any = True


class Subclusters(NamedTuple):
    """Clusters 0 to ``size[0] - 1``, none of them empty between sweeps, and what a program remembers of them."""

    # labels, sides: Cluster of each item, and its half, 0 or 1; int64 of shape (n,).
    labels: Any
    sides: Any
    # Int64 of shape (1,).
    size: Any
    # Whether the cluster may be split and merged; bool of shape (capacity,).
    is_open: Any
    # What the gate compares, the latest value last, -inf if there is none; shape (capacity, length).
    history: Any


@kernel
def new_subclusters(rng, labels, length):
    """Clusters whose items are in random halves, with an empty memory of so many values."""
    n = labels.shape[0]
    # Random splits may leave halves empty for a moment.
    capacity = 2 * n
    sides = np.empty(n, dtype=np.int64)
    for i in range(n):
        sides[i] = rng.random() < 0.5
    size = np.full(1, labels.max() + 1)
    history = np.full((capacity, length), -np.inf)
    return Subclusters(labels.copy(), sides, size, np.zeros(capacity, dtype=np.bool_), history)


@kernel
def half_statistics(clusters, family, data):
    """Statistics of halves ``2 k`` and ``2 k + 1`` of each cluster k, and their numbers of items."""
    rows = np.zeros((2 * clusters.size[0], statistics_size(family)))
    counts = np.zeros(2 * clusters.size[0], dtype=np.int64)
    for i in range(clusters.labels.shape[0]):
        half = 2 * clusters.labels[i] + clusters.sides[i]
        add_item(family, rows[half], data, i, 1.0)
        counts[half] += 1
    return rows, counts


@kernel
def cluster_statistics(rows):
    """Statistics of clusters from those of their halves."""
    whole = np.empty((rows.shape[0] // 2, rows.shape[1]))
    for k in range(whole.shape[0]):
        sum_rows(whole[k], rows[2 * k], rows[2 * k + 1])
    return whole


@kernel
def _panel_of(rng, rows, family):
    """Components with parameters drawn given rows of statistics."""
    panel = component_panel(family, (rows.shape[0] + LANES - 1) // LANES * LANES)
    parameters = np.empty(parameters_size(family))
    for k in range(rows.shape[0]):
        draw_parameters(family, rows[k], rng, parameters)
        write_component(family, parameters, panel, k)
    return panel


@kernel
def draw_labels(rng, clusters, family, data, alpha, rules):
    """Draw the clusters of all items given weights and parameters of the clusters that are there, then their halves.

    Clusters that this leaves empty are for the caller to drop.  Returns the mean log density by cluster of its items in
    their halves.
    """
    rows, counts = half_statistics(clusters, family, data)
    n_clusters = clusters.size[0]
    panel, half_panel = _panel_of(rng, cluster_statistics(rows), family), _panel_of(rng, rows, family)
    log_weights, log_shares = np.empty(n_clusters), np.empty(2 * n_clusters)
    # Unlike the others, the program of Chang & Fisher halves the numbers of items, not only alpha.
    items_each = 0.5 if rules.program == CHANG_FISHER else 1.0
    for k in range(n_clusters):
        log_weights[k] = draw_log_gamma(rng, counts[2 * k] + counts[2 * k + 1])
        left = draw_log_gamma(rng, items_each * counts[2 * k] + 0.5 * alpha)
        right = draw_log_gamma(rng, items_each * counts[2 * k + 1] + 0.5 * alpha)
        total = np.logaddexp(left, right)
        log_shares[2 * k], log_shares[2 * k + 1] = left - total, right - total
    values = np.empty((n_clusters + LANES - 1) // LANES * LANES)
    half_values = np.empty((2 * n_clusters + LANES - 1) // LANES * LANES)
    totals, sizes = np.zeros(n_clusters), np.zeros(n_clusters)
    for i in range(clusters.labels.shape[0]):
        check_signals()
        if rules.relabels:
            values.fill(0.0)
            add_component_densities(family, panel, data, i, values.shape[0], values)
            for k in range(n_clusters):
                values[k] += log_weights[k]
            clusters.labels[i] = draw_categorical(rng, values[:n_clusters])
        k = clusters.labels[i]
        half_values.fill(0.0)
        add_component_densities(family, half_panel, data, i, half_values.shape[0], half_values)
        left, right = half_values[2 * k] + log_shares[2 * k], half_values[2 * k + 1] + log_shares[2 * k + 1]
        clusters.sides[i] = rng.random() >= 1.0 / (1.0 + math.exp(min(right - left, 700.0)))
        totals[k] += right if clusters.sides[i] else left
        sizes[k] += 1.0
    return totals / sizes


@kernel
def drop_empty(clusters):
    """Forget clusters without items; those after them move up."""
    n_clusters = clusters.size[0]
    new = np.full(n_clusters, -1)
    for label in clusters.labels:
        new[label] = 0
    size = 0
    for k in range(n_clusters):
        if new[k] == 0:
            new[k] = size
            clusters.is_open[size] = clusters.is_open[k]
            for t in range(clusters.history.shape[1]):
                clusters.history[size, t] = clusters.history[k, t]
            size += 1
    for i in range(clusters.labels.shape[0]):
        clusters.labels[i] = new[clusters.labels[i]]
    clusters.size[0] = size


@kernel
def close_gate(clusters, k):
    """Forbid splits and merges of a cluster until its gate opens again."""
    clusters.is_open[k] = False
    for t in range(clusters.history.shape[1]):
        clusters.history[k, t] = -math.inf


@kernel
def remember_halves(clusters, family, data, only_new):
    """Append the log marginal density of the two halves to the history of clusters, or only to empty histories."""
    rows, _ = half_statistics(clusters, family, data)
    last = clusters.history.shape[1] - 1
    for k in range(clusters.size[0]):
        if only_new and clusters.history[k, last] > -math.inf:
            continue
        for t in range(last):
            clusters.history[k, t] = clusters.history[k, t + 1]
        clusters.history[k, last] = log_marginal(family, rows[2 * k]) + log_marginal(family, rows[2 * k + 1])


@kernel
def gate_of_mean(clusters, k, length):
    """Whether the last value is not below the mean of the history, whose sum is divided by ``length``."""
    history = clusters.history[k]
    total = 0.0
    for value in history:
        total += value / length
    return total > -math.inf and total - history[history.shape[0] - 1] < 0.01
