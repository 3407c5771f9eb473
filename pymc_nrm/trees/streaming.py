"""Incremental clustering of data that arrive in batches."""

from typing import Any

import numpy as np
from scipy import sparse

from pymc_nrm.common.checks import random_generator
from pymc_nrm.measures.base import draw_log_auxiliary, weights
from pymc_nrm.moves.guide_trees.greedy import join_forest
from pymc_nrm.moves.guide_trees.incremental import BALANCE_DEPTH, extend_forest, grow_forest
from pymc_nrm.trees.clustering import checked_depth, checked_log_u, pilot_log_u
from pymc_nrm.trees.clustering_result import Dendrogram, make_dendrogram
from pymc_nrm.trees.inputs import as_rows, check_numeric_family, family_and_data, measure_of_numbers


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
        X = _append(self.family, self._X, X)
        family, data, n = family_and_data(self.family, X)
        rng = self._rng
        log_u = self._fixed_log_u
        if self._forest is None:
            log_u = pilot_log_u(rng, self.measure, self.family, X) if log_u is None else log_u
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


def _append(family, old, new):
    """Append rows to the data, or to each data set of a list of families."""
    if isinstance(family, list):
        if not isinstance(new, list) or len(new) != len(family):
            raise ValueError("a list of families needs a list of as many data sets")
        parts = [None] * len(new) if old is None else old
        return [_append(*triple) for triple in zip(family, parts, new, strict=True)]
    rows = as_rows(new)
    if old is None:
        return rows
    if old.shape[1] != rows.shape[1]:
        raise ValueError(f"new data must have {old.shape[1]} features like those before; got {rows.shape[1]}")
    return sparse.vstack([old, rows], format="csr") if sparse.issparse(old) else np.concatenate([old, rows])
