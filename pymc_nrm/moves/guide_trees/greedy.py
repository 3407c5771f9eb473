"""Greedy Bayesian hierarchical clustering (Heller & Ghahramani 2005) for any measure, of items or of trees."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import sum_rows
from pymc_nrm.moves.guide_trees.incremental import inner_merges
from pymc_nrm.moves.guide_trees.tree import build_tree, log_dissimilarity, log_potential


class Units(NamedTuple):
    """Trees to be joined, described by the inputs of their potentials."""

    # Numbers of leaves; int64 of shape (k,).
    size: Any
    # Shape (k,).
    log_potential: Any
    # Sums over the leaves; shape (k, s).
    statistics: Any


@shared_kernel
def item_units(weights, family, data, items):
    """Make each item of ``items`` a tree."""
    k = items.shape[0]
    statistics = np.zeros((k, statistics_size(family)))
    log_phi = np.empty(k)
    for a in range(k):
        check_signals()
        add_item(family, statistics[a], data, items[a], 1.0)
        log_phi[a] = weights.moment[1] + log_marginal(family, statistics[a])
    return Units(np.ones(k, dtype=np.int64), log_phi, statistics)


@kernel
def _unit_log_d(units, moment, family, a, b, work):
    """Log d of two trees."""
    sum_rows(work, units.statistics[a], units.statistics[b])
    together = moment[units.size[a] + units.size[b]] + log_marginal(family, work)
    return log_dissimilarity(units.log_potential[a] + units.log_potential[b], together)


@kernel
def _nearest(log_d, active, n_active, a):
    """The active unit with the smallest log d to a unit."""
    best = -1
    for k in range(n_active):
        b = active[k]
        if b != a and (best < 0 or log_d[a, b] < log_d[a, best]):
            best = b
    return best


@shared_kernel
def join_units(units, weights, family, data, log_d):
    """Join the pair with the smallest d until one tree is left; ``units`` is overwritten.

    The dissimilarity of two trees depends on nothing else, so its matrix is filled once, and after each merge only one
    row and column change: k^2 log marginals in all.  Every unit stores its nearest unit, and searches for a new one
    only when that unit has been merged.  Time grows as k^2, and memory is 8 k^2 bytes. In ``merges``, units have the
    numbers 0 to k - 1, and row j makes node k + j; ``last`` is the entry of ``units`` that holds the whole tree.
    Shapes: ``log_d`` (k, k); returns ``merges`` (k - 1, 2), ``log_d`` (k - 1,).
    """
    k = units.size.shape[0]
    moment = weights.moment
    merges = np.empty((max(k - 1, 0), 2), dtype=np.int64)
    merge_log_d = np.empty(max(k - 1, 0))
    work = np.empty(units.statistics.shape[1])
    for a in range(k):
        check_signals()
        for b in range(a):
            log_d[a, b] = log_d[b, a] = _unit_log_d(units, moment, family, a, b, work)
    active, node, nearest = np.arange(k), np.arange(k), np.empty(k, dtype=np.int64)
    for a in range(k):
        nearest[a] = _nearest(log_d, active, k, a)
    for step in range(k - 1):
        check_signals()
        n_active = k - step
        a = active[0]
        for j in range(n_active):
            if log_d[active[j], nearest[active[j]]] < log_d[a, nearest[a]]:
                a = active[j]
        b = nearest[a]
        if node[b] < node[a]:
            a, b = b, a
        merges[step, 0], merges[step, 1] = node[a], node[b]
        merge_log_d[step] = log_d[a, b]
        units.log_potential[a] = log_potential(units.log_potential[a] + units.log_potential[b], log_d[a, b])
        units.size[a] += units.size[b]
        sum_rows(units.statistics[a], units.statistics[a], units.statistics[b])
        node[a] = k + step
        # The others keep their order, so that the smaller number wins ties.
        place = np.searchsorted(active[:n_active], b)
        n_active -= 1
        for j in range(place, n_active):
            active[j] = active[j + 1]
        for j in range(n_active):
            c = active[j]
            if c != a:
                log_d[a, c] = log_d[c, a] = _unit_log_d(units, moment, family, a, c, work)
        for j in range(n_active):
            c = active[j]
            if c == a or nearest[c] == a or nearest[c] == b:
                nearest[c] = _nearest(log_d, active, n_active, c)
            elif log_d[c, a] < log_d[c, nearest[c]]:
                nearest[c] = a
    return merges, merge_log_d, active[0]


# Greedy clustering needs a matrix of all pairs, so more roots than this are joined in groups around seeds.
MOST_UNITS = 1000


def join_forest(rng, forest, weights, family, data):
    """Join the trees of a forest, which is not changed, into one tree over all items, by greedy clustering."""
    return build_tree(*forest_merges(rng, forest, weights, family, data))


def forest_merges(rng, forest, weights, family, data):
    """Merges of the tree of :func:`join_forest`, numbered from the number of items that may be in the forest, and their
    log d.
    """
    merges, log_d, tops = inner_merges(forest, len(forest.roots))
    roots = forest.roots[: forest.n_roots[0]]
    units = Units(forest.size[roots], forest.log_potential[roots], forest.statistics[forest.row[roots]])
    upper, upper_log_d = _join_all(rng, units, tops, len(forest.roots) + len(merges), weights, family, data)
    return np.concatenate([merges, upper]), np.concatenate([log_d, upper_log_d])


def _join_all(rng, units, tops, next_node, weights, family, data):
    """Merges that join units into one tree, and their log d; ``tops`` are the numbers of the units in the tree."""
    merges, log_d = [], []
    # A single unit takes the same path without a merge, so that a step compiles everything on few items.
    while not merges or len(tops) > 1:
        groups = _groups(rng, units, weights, family, data)
        rows, values, units, tops = join_groups(units, groups, tops, next_node, weights, family, data)
        next_node += len(rows)
        merges.append(rows)
        log_d.append(values)
    return np.concatenate(merges), np.concatenate(log_d)


def join_groups(units, groups, tops, next_node, weights, family, data):
    """Join each group of units into one tree; return merges, their log d, the trees as units, and their roots."""
    merges, log_d, joined = [], [], []
    for group in groups:
        part = Units(*(field[group] for field in units))
        rows, values, last = join_units(part, weights, family, data, np.empty((len(group), len(group))))
        numbers = np.concatenate([tops[group], next_node + np.arange(len(rows))])
        next_node += len(rows)
        merges.append(numbers[rows])
        log_d.append(values)
        joined.append((part.size[last], part.log_potential[last], part.statistics[last], numbers[-1]))
    *fields, tops = (np.array(field) for field in zip(*joined, strict=True))
    return np.concatenate(merges), np.concatenate(log_d), Units(*fields), tops


def _groups(rng, units, weights, family, data):
    """Lists of at most ``MOST_UNITS`` units; a single list if all units fit into it."""
    k = len(units.size)
    if k <= MOST_UNITS:
        return [np.arange(k)]
    seeds = rng.choice(k, size=min(MOST_UNITS, -(-4 * k // MOST_UNITS)), replace=False)
    nearest = _nearest_seeds(units, seeds, weights.moment, family, data)
    order = np.argsort(nearest, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(nearest[order])) + 1)
    return [group[i : i + MOST_UNITS] for group in groups for i in range(0, len(group), MOST_UNITS)]


@shared_kernel
def _nearest_seeds(units, seeds, moment, family, data):
    """Seed with the smallest d to each unit; a seed belongs to itself."""
    k = units.size.shape[0]
    nearest, work = np.zeros(k, dtype=np.int64), np.empty(units.statistics.shape[1])
    for a in range(k):
        check_signals()
        best = np.inf
        for j in range(seeds.shape[0]):
            b = seeds[j]
            if a == b:
                nearest[a] = j
                break
            log_d = _unit_log_d(units, moment, family, a, b, work)
            if log_d < best:
                best, nearest[a] = log_d, j
    return nearest
