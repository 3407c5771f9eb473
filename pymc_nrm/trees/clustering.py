"""Bayesian hierarchical clustering: greedy, incremental, by k-means of groups, of all data at once or in batches."""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count, check_number, random_generator
from pymc_nrm.families.base import cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals
from pymc_nrm.measures.base import draw_log_auxiliary, weights
from pymc_nrm.moves.guide_trees.greedy import Units, item_units, join_forest, join_groups, join_units
from pymc_nrm.moves.guide_trees.incremental import BALANCE_DEPTH, extend_forest, grow_forest
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.trees.clustering_result import Dendrogram, make_dendrogram
from pymc_nrm.trees.inputs import (
    as_rows,
    check_numeric_family,
    family_and_data,
    measure_of_numbers,
    select_items,
    with_more_rows,
)


def bhc(X: Any, family: Any, measure: Any, *, u: float | None = None, random_seed: Any = None) -> Dendrogram:
    """Greedy Bayesian hierarchical clustering: join the least dissimilar pair until one tree remains.

    This is the algorithm of Heller & Ghahramani (2005) for the Dirichlet process, extended to every normalized random
    measure by its auxiliary variable u.  Merging continues where d > 1, and the tree is cut afterwards.

    Parameters
    ----------
    %(tree_inputs)s
    u : positive float, optional
        Auxiliary variable.  By default the tree is grown with a typical u for n items and the number of clusters that a
        pilot run finds among up to 500 of them, then cut with the most probable u given the tree.  Trees of the
        Dirichlet process do not depend on u.
    random_seed : int, numpy.random.Generator, optional
        Used for the default of u; nothing else is random.

    Returns
    -------
    Dendrogram

    %(errors_of_inputs)s

    Notes
    -----
    Time grows as n^2, and memory is 8 n^2 bytes, 32 MB for n = 2000.  Use :func:`ibhc` for more items.

    References
    ----------
    Heller & Ghahramani (2005), "Bayesian hierarchical clustering"; Lee & Choi (2014), "Incremental tree-based inference
    with dependent normalized random measures".

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> family = NormalGamma(mu=5.0, kappa=0.01, alpha=2.0, beta=0.1)
    >>> bhc([0.0, 9.0, 0.3, 9.1], family, DirichletProcess(1.0), random_seed=1).labels.tolist()
    [0, 1, 0, 1]
    """
    measure = measure_of_numbers(measure)
    kernel_family, data, n = family_and_data(family, X)
    rng = random_generator(random_seed)
    log_u = pilot_log_u(rng, measure, family, X, grow) if u is None else checked_log_u(u)
    table = weights(measure, n, log_u)
    units = item_units(table, kernel_family, data, np.arange(n))
    merges, log_d, _ = join_units(units, table, kernel_family, data, np.empty((n, n)))
    return make_dendrogram(build_tree(merges, log_d), measure, log_u, kernel_family, data, fixed_u=u is not None)


def ibhc(
    X: Any,
    family: Any,
    measure: Any,
    *,
    n_passes: int = 1,
    u: float | None = None,
    balance_depth: int = BALANCE_DEPTH,
    random_seed: Any = None,
) -> Dendrogram:
    """Incremental Bayesian hierarchical clustering: items are inserted one after another, in random order.

    An item joins the nearest tree if d <= 1, and otherwise starts a tree.  At each node the smallest of three
    dissimilarities decides whether the item is inserted below or beside it.  Potentials are updated up to the root; a
    node with d > 1 is dissolved and its smaller child reinserted.  Finally greedy clustering joins the roots, and its
    merges with d <= 1 unite clusters.

    Parameters
    ----------
    %(tree_inputs)s
    n_passes : int
        Passes over the data, each with a new order and a new tree; u is redrawn given the number of clusters of the
        best tree so far.  The result is the best tree, with the largest lower bound of the evidence: its potential with
        u integrated out.
    u : positive float, optional
        Auxiliary variable of every pass.  By default the first tree is grown with a typical u for n items and the
        number of clusters that a pilot run finds among up to 500 of them, and every tree is cut with the most probable
        u given the tree.  Trees of the Dirichlet process do not depend on u.
    balance_depth : int or None
        From this depth on, items prefer a much smaller child if its d <= 1.  With None they never do.  This is the
        published algorithm, which builds a chain for each cluster, so that time grows with the square of its size.
    random_seed : int, numpy.random.Generator, optional

    Returns
    -------
    Dendrogram

    %(errors_of_inputs)s

    See Also
    --------
    IncrementalClustering : The same algorithm for data that arrive in batches.

    Notes
    -----
    With K trees the algorithm computes about n (K + depth) predictive densities.  It keeps n rows of statistics and
    cache: about 8 (d + 1) (d + 4) bytes per item for normal families with full covariances, but 24 bytes per item and
    word for :class:`~pymc_nrm.families.MultinomialDirichlet`, or 450 MB for 1500 documents with 12,419 words.

    References
    ----------
    Lee & Choi (2014), "Incremental tree-based inference with dependent normalized random measures".

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> family = NormalGamma(mu=5.0, kappa=0.01, alpha=2.0, beta=0.1)
    >>> ibhc([0.0, 9.0, 0.3, 9.1], family, DirichletProcess(1.0), random_seed=1).labels.tolist()
    [0, 1, 0, 1]
    """
    measure = measure_of_numbers(measure)
    check_count("n_passes", n_passes, 1)
    balance_depth = checked_depth(balance_depth)
    kernel_family, data, n = family_and_data(family, X)
    rng = random_generator(random_seed)
    log_u = pilot_log_u(rng, measure, family, X, grow) if u is None else checked_log_u(u)
    best = None
    for _ in range(n_passes):
        result = grow(rng, measure, log_u, kernel_family, data, n, balance_depth, fixed_u=u is not None)
        if best is None or result.log_evidence > best.log_evidence:
            best = result
        if u is None:
            log_u = float(draw_log_auxiliary(measure, n, best.n_clusters, rng))
    return best


class IncrementalClustering:
    """Incremental Bayesian hierarchical clustering of a stream of data.

    Each batch is inserted into the forest of the earlier batches, as in :func:`~pymc_nrm.trees.ibhc`.  First, u is
    redrawn for the new number of items, all potentials are recomputed with it, and nodes that now have d > 1 are
    dissolved.

    Parameters
    ----------
    family : Family or list of Family
        Hyperparameters are numbers and arrays.
    measure : Measure
        Hyperparameters are numbers.
    u : positive float, optional
        Auxiliary variable, by default redrawn for each batch.
    balance_depth : int or None
        As in :func:`~pymc_nrm.trees.ibhc`.
    random_seed : int, numpy.random.Generator, optional

    Notes
    -----
    In addition to inserting its own items, a batch takes time proportional to all items so far.  All data are kept.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> family = NormalGamma(mu=5.0, kappa=0.01, alpha=2.0, beta=0.1)
    >>> clustering = IncrementalClustering(family, DirichletProcess(1.0), random_seed=1)
    >>> clustering.partial_fit([0.0, 9.0]).partial_fit([0.3, 9.1]).dendrogram().labels.tolist()
    [0, 1, 0, 1]
    """

    def __init__(
        self,
        family: Any,
        measure: Any,
        *,
        u: float | None = None,
        balance_depth: int = BALANCE_DEPTH,
        random_seed: Any = None,
    ) -> None:
        check_numeric_family(family)
        self.family = family
        self.measure = measure_of_numbers(measure)
        self._fixed_log_u = None if u is None else checked_log_u(u)
        self._balance_depth = checked_depth(balance_depth)
        self._rng = random_generator(random_seed)
        self._X = self._forest = self._inputs = None

    def partial_fit(self, X: Any) -> "IncrementalClustering":
        """Insert new items.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
            One row for each new item.

        Returns
        -------
        IncrementalClustering
            The object itself.

        Raises
        ------
        TypeError, ValueError
            If data or hyperparameters are outside their support; earlier items are kept.
        """
        X = with_more_rows(self.family, self._X, X, "X")
        family, data, n = family_and_data(self.family, X)
        rng = self._rng
        log_u = self._fixed_log_u
        if self._forest is None:
            log_u = pilot_log_u(rng, self.measure, self.family, X, grow) if log_u is None else log_u
            table = weights(self.measure, n, log_u)
            forest = grow_forest(rng, table, family, data, n, self._balance_depth)
        else:
            if log_u is None:
                log_u = float(draw_log_auxiliary(self.measure, n, int(self._forest.n_roots[0]), rng))
            table = weights(self.measure, n, log_u)
            forest = extend_forest(rng, self._forest, table, family, data, n, self._balance_depth)
        self._X, self._forest, self._inputs = X, forest, (log_u, table, family, data)
        return self

    def dendrogram(self) -> Dendrogram:
        """The forest so far, with its roots joined by greedy clustering.

        Returns
        -------
        Dendrogram

        Raises
        ------
        ValueError
            If there are no data yet.
        """
        if self._forest is None:
            raise ValueError("partial_fit must be called before dendrogram; there are no data yet")
        log_u, table, family, data = self._inputs
        tree = join_forest(self._rng, self._forest, table, family, data)
        return make_dendrogram(tree, self.measure, log_u, family, data, fixed_u=self._fixed_log_u is not None)


def pilot_log_u(rng, measure, family, X, grow, n_items=500, n_trees=2):
    """Log u for growing a first tree, from small trees over a subset of the items, each grown by ``grow``.

    The first small tree assumes two clusters, the next assumes the number of clusters of the previous tree at its most
    probable u.  The number of trees of incremental clustering is not used: if u is too large, items of one cluster
    stay alone, and more trees suggest an even larger u.
    """
    n = as_rows(X[0] if isinstance(family, list) else X).shape[0]
    family, data, n_pilot = family_and_data(*select_items(family, X, rng.permutation(n)[:n_items]))
    n_clusters = min(2, n_pilot)
    for _ in range(n_trees):
        log_u = typical_log_u(rng, measure, n_pilot, n_clusters)
        n_clusters = grow(rng, measure, log_u, family, data, n_pilot, fixed_u=False).n_clusters
    return typical_log_u(rng, measure, n, n_clusters)


def grow(rng, measure, log_u, family, data, n, balance_depth=BALANCE_DEPTH, *, fixed_u):
    """Make one pass of incremental clustering."""
    table = weights(measure, n, log_u)
    forest = grow_forest(rng, table, family, data, n, balance_depth)
    tree = join_forest(rng, forest, table, family, data)
    return make_dendrogram(tree, measure, log_u, family, data, fixed_u=fixed_u)


def typical_log_u(rng, measure, n, n_clusters):
    """Median of nine draws given the number of clusters."""
    return float(np.median([draw_log_auxiliary(measure, n, n_clusters, rng) for _ in range(9)]))


def checked_log_u(u):
    """Checked logarithm of a user's auxiliary variable."""
    return float(np.log(check_number("u", u, lambda value: 0.0 < value < np.inf, "a finite number above 0")))


def checked_depth(depth):
    """Balance depth for kernels; None becomes a depth that no tree reaches."""
    if depth is None:
        return np.iinfo("int64").max
    check_count("balance_depth", depth, 0)
    return int(depth)


# Trees over groups are split into at most this many units per group.
_UNITS_PER_GROUP = 4


def bayes_kmeans_bhc(
    X: Any, family: Any, measure: Any, *, n_clusters: int | None = None, u: float | None = None, random_seed: Any = None
) -> Dendrogram:
    """Bayesian hierarchical clustering of groups of items, in time ``n^(3/2)``.

    Groups grow from random items as seeds: one after another, each item joins the group under which it has the largest
    predictive density.  Greedy clustering makes a tree of each group.  The largest subtrees with d <= 1 are then the
    units of a greedy clustering of all items, which merges units of the same cluster.

    Parameters
    ----------
    %(tree_inputs)s
    n_clusters : int, optional
        Number of seeds; by default the square root of n.
    u : positive float, optional
        Auxiliary variable.  By default the tree is grown with a typical u for n items and the number of clusters that a
        pilot run finds among up to 250 of them, then cut with the most probable u given the tree.
    random_seed : int, numpy.random.Generator, optional
        Used for the seeds, the order of items and the default of u.

    Returns
    -------
    Dendrogram
        A tree over all items.

    %(errors_of_inputs)s

    Notes
    -----
    Xu, Heller & Ghahramani use the groups as leaves, so their bound belongs to a tree in which every group is one
    cluster.  Here each group has its own tree: the result is a tree over items, the bound is larger, and a group that
    mixes several clusters is split.  A group that reaches twice the mean size is closed and an empty one opened.  No
    group therefore costs more than greedy clustering of ``2 n / k`` items, and there are at most ``3 k / 2`` groups.

    With k seeds the algorithm computes at most ``3/2 n k`` predictive densities and ``4 n^2 / k + 36 k^2`` log
    marginals.

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
    check_count("n_clusters", n_clusters, 1, n, optional=True)
    rng = random_generator(random_seed)
    log_u = pilot_log_u(rng, measure, family, X, _grow, 250, 1) if u is None else checked_log_u(u)
    return _grow(rng, measure, log_u, kernel_family, data, n, n_clusters, fixed_u=u is not None)


def _grow(rng, measure, log_u, family, data, n, n_clusters=None, *, fixed_u):
    table = weights(measure, n, log_u)
    members = _assign(family, data, rng.permutation(n), n_clusters or round(n**0.5))
    groups = np.split(np.argsort(members, kind="stable"), np.cumsum(np.bincount(members))[:-1])
    merges, log_d, tops, units = _group_units(table, family, data, [group for group in groups if len(group)])
    upper, upper_log_d, _ = join_units(units, table, family, data, np.empty((len(tops), len(tops))))
    numbers = np.concatenate([tops, n + len(merges) + np.arange(len(upper))])
    tree = build_tree(np.concatenate([merges, numbers[upper]]), np.concatenate([log_d, upper_log_d]))
    return make_dendrogram(tree, measure, log_u, family, data, fixed_u=fixed_u)


@shared_kernel
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
    """Trees over groups of items, and the units into which they are split."""
    # As long as roots have d > 1 and there are fewer than _UNITS_PER_GROUP units per group, the root with the largest d
    # is replaced by its children. Merges below the units are numbered from n; `tops` has the nodes of units.
    n = sum(len(group) for group in groups)
    items = item_units(table, family, data, np.arange(n))
    merges, merge_log_d, _, roots = join_groups(items, groups, np.arange(n), n, table, family, data)
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
    # Nodes that were split are removed; the others keep their order, children before parents.
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
