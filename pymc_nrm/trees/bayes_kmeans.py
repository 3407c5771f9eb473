"""Greedy clustering of many items: groups around random seeds, a tree over each group, and a tree over the groups."""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.families.base import cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees.greedy import Units, item_units, join_groups, join_units
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.partitions.clusters import build_state
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
    %(tree_inputs)s
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

    %(errors_of_inputs)s

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
    members = _assign(family, data, rng.permutation(n), n_clusters or round(n**0.5))
    groups = np.split(np.argsort(members, kind="stable"), np.cumsum(np.bincount(members))[:-1])
    merges, log_d, tops, units = _group_units(table, family, data, [group for group in groups if len(group)])
    upper, upper_log_d, _ = join_units(units, table, family, np.empty((len(tops), len(tops))))
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


def _group_units(table, family, data, groups):
    """Trees over groups of items, and the units into which they are split.

    As long as roots have d > 1 and there are fewer than ``_UNITS_PER_GROUP`` units per group, the root with the largest
    d is replaced by its children. Merges are those below the units, numbered from n; ``tops`` has the nodes of units.
    """
    n = sum(len(group) for group in groups)
    items = item_units(table, family, data, np.arange(n))
    merges, merge_log_d, _, roots = join_groups(items, groups, np.arange(n), n, table, family)
    log_d, kept = np.concatenate([np.zeros(n), merge_log_d]), np.ones(len(merges), dtype="bool")
    tops, n_units = np.resize(roots, _UNITS_PER_GROUP * len(groups)), len(groups)
    while n_units < len(tops):
        worst = log_d[tops[:n_units]].argmax()
        if log_d[tops[worst]] <= 0.0:
            break
        split = tops[worst] - n
        kept[split] = False
        tops[worst], tops[n_units] = merges[split]
        n_units += 1
    # Nodes that were split are left out; the others keep their order, children before parents.
    number = np.concatenate([np.arange(n), n + np.cumsum(kept) - 1])
    tops, merges, merge_log_d = number[tops[:n_units]], number[merges[kept]], merge_log_d[kept]
    unit = np.empty(n + len(merges), dtype="int64")
    unit[tops] = np.arange(n_units)
    for k in range(len(merges) - 1, -1, -1):
        unit[merges[k]] = unit[n + k]
    # A node adds log(1 + 1/d) to the log potentials of its children.
    log_phi = np.bincount(unit[:n], items.log_potential, n_units)
    log_phi += np.bincount(unit[n:], np.logaddexp(0.0, -merge_log_d), n_units)
    statistics = build_state(unit[:n], family, data).statistics[:n_units]
    return merges, merge_log_d, tops, Units(np.bincount(unit[:n]), log_phi, statistics)
