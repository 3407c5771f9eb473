"""A sweep of three published sub-cluster samplers, none of which leaves the posterior invariant.

Chang & Fisher (2013), "Parallel sampling of DP mixture models using sub-cluster splits", NIPS 26, sections 3 and 4, by
the program that Chang published; DPMM.jl (Akyürek); and DPMMSubClusters.jl, Dinari, Yu, Freifeld & Fisher (2019),
"Distributed MCMC inference in Dirichlet process mixture models using Julia".  The rules are read from the sources of
the programs, which were not run.  Differences from the programs: super-clusters are off, a sweep begins with draws of
the parameters, clusters come in the order of their labels, and halves of DPMM.jl are drawn with the right probability,
where its code uses a logarithm as a probability if the second half is the more probable one.
``docs/explanation/sub-clusters.md`` says where each rule fails.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, parameters_size
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import draw_categorical, draw_log_gamma, draw_probability, sum_rows
from pymc_nrm.moves.gibbs import gibbs_sweep, random_items
from pymc_nrm.moves.slice_labels import jump_law
from pymc_nrm.partitions.clusters import build_state, ordered_labels
from pymc_nrm.partitions.labels import rename_in_order

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
    panel = component_panel(family, whole_lanes(rows.shape[0]))
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
    values = np.empty(whole_lanes(n_clusters))
    half_values = np.empty(whole_lanes(2 * n_clusters))
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


# How much rarer random splits are than random merges in the program of Chang & Fisher.
_MERGES_PER_SPLIT = 100.0


@kernel
def log_merge_factor(n_left, n_right, alpha, program):
    """Prior ratio of a merge times the probability of the split that would undo it, as the programs have them.

    That split would draw a weight from ``Beta(alpha / 2, alpha / 2)`` and the halves of the items given it.  The
    program of Chang & Fisher leaves out the numbers of items of the halves.
    """
    n = n_left + n_right
    value = math.lgamma(alpha) - 2.0 * math.lgamma(0.5 * alpha) - math.log(alpha)
    value += math.lgamma(n) - math.lgamma(n + alpha)
    if program != CHANG_FISHER:
        value += math.lgamma(n_left + 0.5 * alpha) - math.lgamma(n_left)
        value += math.lgamma(n_right + 0.5 * alpha) - math.lgamma(n_right)
    return value if program == DPMM_SUBCLUSTERS else value - math.log(_MERGES_PER_SPLIT)


@kernel
def randomise_halves(rng, clusters, chosen):
    """Put the items of the chosen clusters into random halves."""
    for i in range(clusters.labels.shape[0]):
        if chosen[clusters.labels[i]]:
            clusters.sides[i] = rng.random() < 0.5


@kernel
def separate(rng, clusters, splits, sides, closes):
    """Split clusters: items on side 1 get new clusters; all halves become random."""
    n_before = clusters.size[0]
    new = np.full(n_before, -1)
    for k in range(n_before):
        if splits[k]:
            new[k] = clusters.size[0]
            clusters.size[0] += 1
            close_gate(clusters, new[k])
            was_open = clusters.is_open[k]
            close_gate(clusters, k)
            clusters.is_open[k] = was_open and not closes
    randomised = np.zeros(clusters.size[0], dtype=np.bool_)
    for i in range(clusters.labels.shape[0]):
        k = clusters.labels[i]
        if new[k] >= 0:
            clusters.labels[i] = new[k] if sides[i] else k
            randomised[clusters.labels[i]] = True
    randomise_halves(rng, clusters, randomised)
    drop_empty(clusters)


@kernel
def reset_halves(rng, clusters, counts, rules):
    """Put items into random halves where one half is empty; what happens to the gate differs between programs."""
    chosen = np.zeros(clusters.size[0], dtype=np.bool_)
    for k in range(clusters.size[0]):
        is_considered = clusters.is_open[k] or rules.always_splittable or rules.program == DPMM_SUBCLUSTERS
        chosen[k] = is_considered and min(counts[2 * k], counts[2 * k + 1]) == 0
        if chosen[k] and rules.program != CHANG_FISHER:
            was_open = clusters.is_open[k]
            close_gate(clusters, k)
            clusters.is_open[k] = was_open and rules.program == DPMM_JL
    randomise_halves(rng, clusters, chosen)
    return chosen


@kernel
def split_clusters(rng, clusters, family, data, alpha, rules):
    """Split clusters along their halves with the ratio of the targets, as if the halves had not been drawn."""
    _, counts = half_statistics(clusters, family, data)
    was_reset = reset_halves(rng, clusters, counts, rules)
    rows, counts = half_statistics(clusters, family, data)
    whole = cluster_statistics(rows)
    splits = np.zeros(clusters.size[0], dtype=np.bool_)
    for k in range(clusters.size[0]):
        if (rules.program == CHANG_FISHER and was_reset[k]) or not (clusters.is_open[k] or rules.always_splittable):
            continue
        left, right = counts[2 * k], counts[2 * k + 1]
        if min(left, right) == 0:
            # In DPMM.jl such a split is always accepted: its effect is that items on side 1 cannot merge.
            if right > 0:
                clusters.is_open[k] = False
            continue
        log_ratio = math.log(alpha) + math.lgamma(left) + math.lgamma(right) - math.lgamma(left + right)
        log_ratio += log_marginal(family, rows[2 * k]) + log_marginal(family, rows[2 * k + 1])
        splits[k] = math.log(rng.random()) < log_ratio - log_marginal(family, whole[k])
    separate(rng, clusters, splits, clusters.sides.copy(), rules.program != DPMM_JL)


@kernel
def random_splits(rng, clusters, family, data, alpha):
    """Split clusters at random, as the program of Chang & Fisher does in one sweep of a hundred."""
    halves = np.empty(clusters.size[0])
    for k in range(clusters.size[0]):
        halves[k] = draw_probability(rng, 0.5 * alpha, 0.5 * alpha)
    own_sides = clusters.sides.copy()
    for i in range(own_sides.shape[0]):
        clusters.sides[i] = rng.random() < halves[clusters.labels[i]]
    rows, counts = half_statistics(clusters, family, data)
    whole = cluster_statistics(rows)
    splits = np.zeros(clusters.size[0], dtype=np.bool_)
    for k in range(clusters.size[0]):
        log_ratio = -log_merge_factor(counts[2 * k], counts[2 * k + 1], alpha, CHANG_FISHER)
        log_ratio += log_marginal(family, rows[2 * k]) + log_marginal(family, rows[2 * k + 1])
        splits[k] = math.log(rng.random()) < log_ratio - log_marginal(family, whole[k])
    sides = clusters.sides.copy()
    for i in range(own_sides.shape[0]):
        clusters.sides[i] = own_sides[i]
    separate(rng, clusters, splits, sides, True)


@kernel
def merge_clusters(rng, clusters, family, data, alpha, rules):
    """Merge pairs of clusters in turn, each cluster at most once, with the ratio for random splits."""
    rows, _ = half_statistics(clusters, family, data)
    whole = cluster_statistics(rows)
    n_clusters = clusters.size[0]
    counts, own = np.zeros(n_clusters, dtype=np.int64), np.empty(n_clusters)
    for label in clusters.labels:
        counts[label] += 1
    for k in range(n_clusters):
        own[k] = log_marginal(family, whole[k])
    partner, joint = np.full(n_clusters, -1), np.empty(whole.shape[1])
    for a in range(n_clusters):
        for b in range(a + 1, n_clusters):
            if partner[a] >= 0:
                break
            if partner[b] >= 0 or (rules.program != CHANG_FISHER and not (clusters.is_open[a] and clusters.is_open[b])):
                continue
            sum_rows(joint, whole[a], whole[b])
            log_ratio = log_merge_factor(counts[a], counts[b], alpha, rules.program)
            log_ratio += log_marginal(family, joint) - own[a] - own[b]
            if math.log(rng.random()) < log_ratio:
                partner[a], partner[b] = a, a
                close_gate(clusters, a)
    for i in range(clusters.labels.shape[0]):
        k = clusters.labels[i]
        if partner[k] >= 0:
            clusters.labels[i], clusters.sides[i] = partner[k], partner[k] != k
    drop_empty(clusters)


@kernel
def subcluster_sweep(rng, clusters, weights, family, data, rules):
    """Make a sweep by the rules of one program, in place.  It does not leave the posterior invariant."""
    alpha = math.exp(jump_law(weights).log_scale)
    length = clusters.history.shape[1]
    if rules.program == DPMM_SUBCLUSTERS:
        remember_halves(clusters, family, data, False)
    if rules.program != CHANG_FISHER:
        for k in range(clusters.size[0]):
            if rules.program == DPMM_JL:
                clusters.is_open[k] = gate_of_mean(clusters, k, length)
            elif gate_of_mean(clusters, k, length - 0.1):
                clusters.is_open[k] = True
    means = draw_labels(rng, clusters, family, data, alpha, rules)
    if rules.program == CHANG_FISHER:
        for k in range(clusters.size[0]):
            if means[k] < clusters.history[k, 0]:
                clusters.is_open[k] = True
            clusters.history[k, 0] = means[k]
    drop_empty(clusters)
    if rules.program == CHANG_FISHER:
        if rules.merges and rng.random() * _MERGES_PER_SPLIT < 1.0:
            random_splits(rng, clusters, family, data, alpha)
        if rules.merges:
            merge_clusters(rng, clusters, family, data, alpha, rules)
        if rules.splits:
            split_clusters(rng, clusters, family, data, alpha, rules)
        return
    if rules.program == DPMM_JL:
        remember_halves(clusters, family, data, False)
    if rules.splits:
        split_clusters(rng, clusters, family, data, alpha, rules)
    if rules.merges:
        merge_clusters(rng, clusters, family, data, alpha, rules)
    if rules.program == DPMM_JL:
        remember_halves(clusters, family, data, True)


@kernel
def subcluster_chain(rng, labels, weights, family, data, rules, length, n_gibbs, n_draws):
    """Labels after each of ``n_draws`` sweeps, shape (n_draws, n), from given labels.

    ``n_gibbs`` exact Gibbs sweeps come before each sweep, without which parts of it may not be irreducible; memories
    and halves then stay with labels and items.  With a length of 0, there are only the Gibbs sweeps.
    """
    n = labels.shape[0]
    draws = np.empty((n_draws, n), dtype=np.int64)
    clusters = new_subclusters(rng, labels, max(length, 1))
    for t in range(n_draws):
        if n_gibbs > 0:
            rename_in_order(clusters.labels, n)
            state = build_state(clusters.labels, family, data)
            for _ in range(n_gibbs):
                state, _ = gibbs_sweep(rng, state, weights, family, data, random_items(rng, n, n))
            found = ordered_labels(state)
            for i in range(n):
                clusters.labels[i] = found[i]
            clusters.size[0] = found.max() + 1
        if length > 0:
            subcluster_sweep(rng, clusters, weights, family, data, rules)
        for i in range(n):
            draws[t, i] = clusters.labels[i]
        rename_in_order(draws[t], n)
    return draws
