"""Turn a forest of incremental clustering into one tree, by greedy clustering of its roots."""

import numpy as np

from pymc_nrm.families.base import add_item
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.moves.guide_trees.forest import post_order
from pymc_nrm.moves.guide_trees.greedy import Units, join_units
from pymc_nrm.moves.guide_trees.potentials import log_dissimilarity
from pymc_nrm.moves.guide_trees.tree import build_tree

# Greedy clustering needs a matrix of all pairs, so more roots than this are joined in groups around seeds.
MOST_UNITS = 1000


def join_forest(rng, forest, weights, family, data):
    """Join the trees of a forest, which do not change, into one tree over all items.

    Greedy clustering joins up to 1000 roots.  If there are more, some are drawn as seeds, each root goes to the seed
    with the smallest d, and greedy clustering joins each group and then the groups.  Memory stays linear.
    """
    merges, log_d, tops = _inner_merges(forest)
    units = _root_units(forest, family, data)
    upper, upper_log_d = _join_all(rng, units, tops, len(forest.roots) + len(merges), weights, family)
    return build_tree(np.concatenate([merges, upper]), np.concatenate([log_d, upper_log_d]))


@kernel
def _inner_merges(forest):
    """Merges inside the trees, numbered in order from n, with their log d, and the numbers of the roots."""
    n = forest.roots.shape[0]
    nodes = post_order(forest)
    name = np.arange(2 * n)
    merges = np.empty((n - forest.n_roots[0], 2), dtype=np.int64)
    log_d = np.empty(merges.shape[0])
    count = 0
    for v in nodes:
        if v >= n:
            merges[count, 0], merges[count, 1] = name[forest.left[v]], name[forest.right[v]]
            log_d[count] = forest.log_dissimilarity[v]
            name[v] = n + count
            count += 1
    tops = np.empty(forest.n_roots[0], dtype=np.int64)
    for k in range(tops.shape[0]):
        tops[k] = name[forest.roots[k]]
    return merges, log_d, tops


@kernel
def _root_units(forest, family, data):
    """Size, log potential and statistics of the roots."""
    n, n_roots = forest.roots.shape[0], forest.n_roots[0]
    statistics = np.zeros((n_roots, forest.statistics.shape[1]))
    log_phi = np.empty(n_roots)
    size = np.empty(n_roots, dtype=np.int64)
    for k in range(n_roots):
        v = forest.roots[k]
        size[k], log_phi[k] = forest.size[v], forest.log_potential[v]
        if v < n:
            add_item(family, statistics[k], data, v, 1.0)
        else:
            for j in range(statistics.shape[1]):
                statistics[k, j] = forest.statistics[forest.row[v], j]
    return Units(size, log_phi, statistics)


def _join_all(rng, units, tops, next_node, weights, family):
    """Merges that join units into one tree, and their log d; ``tops`` are the numbers of the units in the tree."""
    merges, log_d = [np.zeros((0, 2), dtype="int64")], [np.zeros(0)]
    while len(tops) > 1:
        survivors = []
        for group in _groups(rng, units, weights, family):
            part = Units(*(field[group] for field in units))
            rows, values, last = join_units(part, weights, family, np.empty((len(group), len(group))))
            numbers = np.concatenate([tops[group], next_node + np.arange(len(rows))])
            next_node += len(rows)
            merges.append(numbers[rows])
            log_d.append(values)
            survivors.append((part.size[last], part.log_potential[last], part.statistics[last], numbers[-1]))
        size, log_phi, statistics, tops = (np.array(field) for field in zip(*survivors, strict=True))
        units = Units(size, log_phi, statistics)
    return np.concatenate(merges), np.concatenate(log_d)


def _groups(rng, units, weights, family):
    """Lists of at most ``MOST_UNITS`` units; a single list if all units fit into it."""
    k = len(units.size)
    if k <= MOST_UNITS:
        return [np.arange(k)]
    seeds = rng.choice(k, size=min(MOST_UNITS, -(-4 * k // MOST_UNITS)), replace=False)
    nearest = _nearest_seeds(units, seeds, weights.moment, family)
    order = np.argsort(nearest, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(nearest[order])) + 1)
    return [group[i : i + MOST_UNITS] for group in groups for i in range(0, len(group), MOST_UNITS)]


@kernel
def _nearest_seeds(units, seeds, moment, family):
    """The seed with the smallest d to each unit; a seed belongs to itself."""
    k, s = units.statistics.shape
    nearest = np.zeros(k, dtype=np.int64)
    work = np.empty(s)
    for a in range(k):
        check_signals()
        best = np.inf
        for j in range(seeds.shape[0]):
            b = seeds[j]
            if a == b:
                nearest[a] = j
                break
            for m in range(s):
                work[m] = units.statistics[a, m] + units.statistics[b, m]
            together = moment[units.size[a] + units.size[b]] + log_marginal(family, work)
            log_d = log_dissimilarity(units.log_potential[a] + units.log_potential[b], together)
            if log_d < best:
                best, nearest[a] = log_d, j
    return nearest
