"""Greedy and incremental Bayesian hierarchical clustering, of all data at once or in batches."""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count, check_number, random_generator
from pymc_nrm.measures.base import draw_log_auxiliary, weights
from pymc_nrm.moves.guide_trees.greedy import item_units, join_forest, join_units
from pymc_nrm.moves.guide_trees.incremental import BALANCE_DEPTH, extend_forest, grow_forest
from pymc_nrm.moves.guide_trees.tree import build_tree
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
    """Greedy Bayesian hierarchical clustering: join the least dissimilar pair until one tree is left.

    This is the algorithm of Heller & Ghahramani (2005) for the Dirichlet process, extended to every normalized random
    measure by its auxiliary variable u.  Merging continues where d > 1, and the tree is cut afterwards.

    Parameters
    ----------
    %(tree_inputs)s
    u : positive float, optional
        Auxiliary variable.  By default the tree is grown with a typical u for n items and as many clusters as a pilot
        run finds among up to 500 of them, then cut with the most probable u given the tree.  Trees of the Dirichlet
        process do not depend on u.
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
    merges, log_d, _ = join_units(units, table, kernel_family, np.empty((n, n)))
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
    dissimilarities decides whether the item goes below or beside it.  Potentials are updated up to the root; a node
    with d > 1 is dissolved and its smaller child reinserted.  Finally greedy clustering joins the roots, and its merges
    with d <= 1 unite clusters.

    Parameters
    ----------
    %(tree_inputs)s
    n_passes : int
        Passes over the data, each with a new order and a new tree; u is redrawn given the number of clusters of the
        best tree so far.  The best tree, which is returned, has the largest lower bound of the evidence: its potential
        with u integrated out.
    u : positive float, optional
        Auxiliary variable of every pass.  By default the first tree is grown with a typical u for n items and as many
        clusters as a pilot run finds among up to 500 of them, and every tree is cut with the most probable u given the
        tree.  Trees of the Dirichlet process do not depend on u.
    balance_depth : int or None
        From this depth on, items prefer a much smaller child if its d <= 1.  With None they never do.  That is the
        published algorithm, which builds a chain of each cluster, so that time grows with the square of its size.
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
    With K trees it computes about n (K + depth) predictive densities.  It keeps n rows of statistics and cache: about
    8 (d + 1) (d + 4) bytes per item for normal families with full covariances, but 24 bytes per item and word for
    :class:`~pymc_nrm.families.MultinomialDirichlet`, or 450 MB for 1500 documents with 12,419 words.

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

    Each batch is inserted into the forest of the earlier ones, as in :func:`~pymc_nrm.trees.ibhc`.  First, u is redrawn
    for the new number of items, all potentials are recomputed under it, and nodes that now have d > 1 are dissolved.

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
    Besides inserting its own items, a batch takes time in proportion to all items so far.  All data are kept.

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
        """Insert further items.

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
            raise ValueError("there are no data yet; call partial_fit first")
        log_u, table, family, data = self._inputs
        tree = join_forest(self._rng, self._forest, table, family, data)
        return make_dendrogram(tree, self.measure, log_u, family, data, fixed_u=self._fixed_log_u is not None)


def pilot_log_u(rng, measure, family, X, grow, n_items=500, n_trees=2):
    """Log u for growing a first tree, from small trees over some of the items, each grown by ``grow``.

    The first tree expects two clusters, the next as many as the one before has at its most probable u.  The number of
    trees that incremental clustering leaves is no guide: if u is too large, items that belong together stay alone, and
    more trees suggest an even larger u.
    """
    n = as_rows(X[0] if isinstance(family, list) else X).shape[0]
    family, data, n_pilot = family_and_data(*select_items(family, X, rng.permutation(n)[:n_items]))
    n_clusters = min(2, n_pilot)
    for _ in range(n_trees):
        log_u = typical_log_u(rng, measure, n_pilot, n_clusters)
        n_clusters = grow(rng, measure, log_u, family, data, n_pilot, fixed_u=False).n_clusters
    return typical_log_u(rng, measure, n, n_clusters)


def grow(rng, measure, log_u, family, data, n, balance_depth=BALANCE_DEPTH, *, fixed_u):
    """One pass of incremental clustering."""
    table = weights(measure, n, log_u)
    forest = grow_forest(rng, table, family, data, n, balance_depth)
    tree = join_forest(rng, forest, table, family, data)
    return make_dendrogram(tree, measure, log_u, family, data, fixed_u=fixed_u)


def typical_log_u(rng, measure, n, n_clusters):
    """Median of nine draws given the number of clusters."""
    return float(np.median([draw_log_auxiliary(measure, n, n_clusters, rng) for _ in range(9)]))


def checked_log_u(u):
    """Logarithm of a user's auxiliary variable, checked."""
    return float(np.log(check_number("u", u, lambda value: 0.0 < value < np.inf, "a finite number above 0")))


def checked_depth(depth):
    """Balance depth for kernels; None becomes a depth that is never reached."""
    if depth is None:
        return np.iinfo("int64").max
    check_count("balance_depth", depth, 0)
    return int(depth)
