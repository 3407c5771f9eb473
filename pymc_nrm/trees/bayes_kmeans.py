"""Greedy clustering of many items: groups around random seeds, a tree over each group, and a tree over the groups."""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.families.base import add_item, cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees.greedy import Units, item_units, join_units
from pymc_nrm.moves.guide_trees.potentials import log_potential
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.trees.clustering import checked_log_u, pilot_log_u
from pymc_nrm.trees.clustering_result import Dendrogram, make_dendrogram
from pymc_nrm.trees.inputs import family_and_data, measure_of_numbers

# Trees over groups are split into at most this many units per group.
_UNITS_PER_GROUP = 4


def bayes_kmeans_bhc(
    X: Any, family: Any, measure: Any, *, n_clusters: int | None = None, u: float | None = None, random_seed: Any = None
) -> Dendrogram:
    """Bayesian hierarchical clustering of groups of items, in time ``n^(3/2)``.

    Groups grow from random items as seeds: one after another, each item joins the group under which it has the largest
    predictive density.  Greedy clustering makes a tree of each group.  The largest subtrees with d <= 1 are then the
    units of a greedy clustering of the whole, which merges those that belong together.

    Parameters
    ----------
    X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
        Data; NaN means missing, where the family allows it.
    family : Family or list of Family
        Hyperparameters are numbers and arrays; give a list for several data sets on the same items.
    measure : Measure
        Hyperparameters are numbers.
    n_clusters : int, optional
        Number of seeds; by default the square root of n.
    u : positive float, optional
        Auxiliary variable.  By default the tree is grown with a typical u for n items and as many clusters as a pilot
        run finds among up to 250 of them, then cut with the most probable u given the tree.
    random_seed : int, numpy.random.Generator, optional
        Used for the seeds, the order of items and the default of u.

    Returns
    -------
    Dendrogram
        A tree over all items.

    Raises
    ------
    TypeError, ValueError
        If arguments are of the wrong kind or outside their support.

    Notes
    -----
    Xu, Heller & Ghahramani use the groups as leaves, so their bound is that of a tree in which every group is one
    cluster.  Here each group has a tree below it: the result is a tree over items, the bound is larger, and a group
    that mixes several clusters is split.  A group that reaches twice the mean size is closed and an empty one opened.
    No group therefore costs more than greedy clustering of ``2 n / k`` items, and there are at most ``3 k / 2`` groups.

    With k seeds it computes at most ``3/2 n k`` predictive densities and ``4 n^2 / k + 36 k^2`` log marginals.

    References
    ----------
    Xu, Heller & Ghahramani (2009), "Tree-based inference for Dirichlet process mixtures".

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> family = NormalGamma(mu=5.0, kappa=0.01, alpha=2.0, beta=0.1)
    >>> bayes_kmeans_bhc([0.0, 9.0, 0.3, 9.1], family, DirichletProcess(1.0), random_seed=1).labels.tolist()
    [0, 1, 0, 1]
    """
    measure = measure_of_numbers(measure)
    kernel_family, data, n = family_and_data(family, X)
    if n_clusters is not None:
        check_count("n_clusters", n_clusters, 1, n)
    rng = random_generator(random_seed)
    log_u = pilot_log_u(rng, measure, family, X, _grow, 250, 1) if u is None else checked_log_u(u)
    return _grow(rng, measure, log_u, kernel_family, data, n, n_clusters, fixed_u=u is not None)


def _grow(rng, measure, log_u, family, data, n, n_clusters=None, *, fixed_u):
    table = weights(measure, n, log_u)
    group = _assign(family, data, rng.permutation(n), n_clusters or round(n**0.5))
    members = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group))
    merges, log_d, tops, units = _group_units(table, family, data, members, ends[np.diff(ends, prepend=0) > 0])
    upper, upper_log_d, _ = join_units(units, table, family, np.empty((len(units.size), len(units.size))))
    numbers = np.concatenate([tops, n + len(merges) + np.arange(len(upper))])
    tree = build_tree(np.concatenate([merges, numbers[upper]]), np.concatenate([log_d, upper_log_d]))
    return make_dendrogram(tree, measure, log_u, family, data, fixed_u=fixed_u)


@kernel
def _assign(family, data, order, n_seeds):
    """Group of every item, shape (n,); some groups may be empty."""
    n = order.shape[0]
    most = max(2 * n // n_seeds, 2)
    n_groups, n_open = n_seeds + 1 + n // most, n_seeds
    statistics = np.zeros((n_groups, statistics_size(family)))
    cache = np.zeros((n_groups, cache_size(family)))
    count = np.zeros(n_groups, dtype=np.int64)
    group = np.empty(n, dtype=np.int64)
    for k in range(n_groups):
        refresh_cache(family, statistics[k], cache[k])
    for j in range(n):
        check_signals()
        i = order[j]
        best, log_best = -1, -np.inf
        if j < n_seeds:
            best = j
        else:
            for k in range(n_open):
                if count[k] < most:
                    log_p = log_predictive(family, cache[k], data, i)
                    if best < 0 or log_p > log_best:
                        best, log_best = k, log_p
        update_cache(family, statistics[best], cache[best], data, i, 1.0)
        count[best] += 1
        group[i] = best
        if count[best] == most:
            n_open += 1
    return group


@kernel
def _group_units(weights, family, data, members, ends):
    """Trees over groups, and the units into which they are split.

    Items of group g are ``members[ends[g - 1] : ends[g]]``.  As long as roots have d > 1 and there are fewer than
    ``_UNITS_PER_GROUP`` units per group, the root with the largest d is replaced by its children. Merges are those
    below the units, numbered from n; ``tops`` has the node of each unit.
    """
    n, n_groups = members.shape[0], ends.shape[0]
    left, right = np.full(2 * n, -1, dtype=np.int64), np.full(2 * n, -1, dtype=np.int64)
    log_d, log_phi = np.zeros(2 * n), np.empty(2 * n)
    size = np.ones(2 * n, dtype=np.int64)
    roots = np.empty(_UNITS_PER_GROUP * n_groups, dtype=np.int64)
    node, first = n, 0
    for g in range(n_groups):
        items = members[first : ends[g]]
        units = item_units(weights, family, data, items)
        for j in range(items.shape[0]):
            log_phi[items[j]] = units.log_potential[j]
        m, offset = items.shape[0], node
        merges, merge_log_d, _ = join_units(units, weights, family, np.empty((m, m)))
        for j in range(m - 1):
            a, b = merges[j, 0], merges[j, 1]
            left[node] = items[a] if a < m else offset + a - m
            right[node] = items[b] if b < m else offset + b - m
            log_d[node] = merge_log_d[j]
            log_phi[node] = log_potential(log_phi[left[node]] + log_phi[right[node]], log_d[node])
            size[node] = size[left[node]] + size[right[node]]
            node += 1
        roots[g] = node - 1 if m > 1 else items[0]
        first = ends[g]
    n_units = n_groups
    while n_units < roots.shape[0]:
        worst = 0
        for k in range(n_units):
            if log_d[roots[k]] > log_d[roots[worst]]:
                worst = k
        v = roots[worst]
        if log_d[v] <= 0.0:
            break
        roots[worst], roots[n_units] = left[v], right[v]
        left[v] = -1
        n_units += 1
    # Leave out the nodes that were split; the others keep their order, children before parents.
    merges = np.empty((n - n_units, 2), dtype=np.int64)
    kept_log_d = np.empty(n - n_units)
    number, unit = np.arange(2 * n), np.full(2 * n, -1, dtype=np.int64)
    count = 0
    for v in range(n, node):
        if left[v] >= 0:
            merges[count, 0], merges[count, 1] = number[left[v]], number[right[v]]
            kept_log_d[count] = log_d[v]
            number[v] = n + count
            count += 1
    tops = np.empty(n_units, dtype=np.int64)
    for k in range(n_units):
        tops[k] = number[roots[k]]
        unit[roots[k]] = k
    for v in range(node - 1, n - 1, -1):
        if left[v] >= 0:
            unit[left[v]] = unit[right[v]] = unit[v]
    statistics = np.zeros((n_units, statistics_size(family)))
    for i in range(n):
        add_item(family, statistics[unit[i]], data, i, 1.0)
    return merges, kept_log_d, tops, Units(size[roots[:n_units]], log_phi[roots[:n_units]], statistics)
