"""Predictive densities from a tree."""

from typing import Any

import numpy as np
import scipy

from pymc_nrm.families.base import cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.measures.base import log_joint_increment, weights
from pymc_nrm.moves.guide_trees.potentials import potentials_from_marginals, tree_log_marginals
from pymc_nrm.moves.guide_trees.tree import Tree
from pymc_nrm.trees.clustering_result import (
    Dendrogram,
    add_node,
    checked_tree,
    inner_statistics,
    log_add,
    node_log_probabilities,
)
from pymc_nrm.trees.evidence import u_given_tree
from pymc_nrm.trees.inputs import family_and_data, measure_of_numbers, names_per_item, with_more_rows


def predictive_log_density(tree: Tree | Dendrogram, X: Any, X_new: Any, family: Any, measure: Any) -> np.ndarray:
    """Log density of each new item, given the data and that their partition is consistent with a tree.

    Parameters
    ----------
    tree : Dendrogram or Tree
        Its leaves are the rows of X.
    X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
        Data; NaN means missing, where the family allows it.
    X_new : like X, with m rows
        New items, each predicted by itself.
    family : Family or list of Family
        Hyperparameters are numbers and arrays.  Those with one value per item, such as ``total`` of
        :class:`~pymc_nrm.families.MultinomialDirichlet`, are taken from the data instead.
    measure : Measure
        Hyperparameters are numbers.

    Returns
    -------
    ndarray, shape (m,)
        Log densities, or log probabilities of discrete data.

    %(errors_of_tree)s

    Notes
    -----
    The new item joins a cluster c of a partition or starts a new one.  The joint density of partition and u for n + 1
    items is that for n items times ``c(u) join(n_c, u)`` or, for a new cluster, times ``c(u) join(0, u)``, where c(u)
    and the table join are the exponentials of ``log_joint_increment`` and ``weights``.  Summed over the partitions that
    are consistent with the tree, and over u, the density is

        sum_v omega_v p(x | X_v) + omega_new p(x),    omega_v = E[c(u) join(n_v, u) P(v | u)],

    where E is over u given the tree and ``omega_new = E[c(u) join(0, u)]``.  The probability that v is a cluster is
    ``P(v | u) = r_v prod (1 - r_w)`` over the nodes w above v, with ``r = 1 / (1 + d)``.  The weights sum to one.  For
    the Dirichlet process ``omega_v = n_v / (n + alpha) P(v)``.  Heller & Ghahramani (2005), section 2.4, weigh nodes by
    ``r_v prod (1 - r_w)`` and allow no new cluster.

    It computes m times 2n - 1 predictive densities and keeps n rows of statistics.

    References
    ----------
    Heller & Ghahramani (2005), "Bayesian hierarchical clustering"; James, Lijoi & Prünster (2009), "Posterior analysis
    for normalized random measures with independent increments", proposition 2.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.trees import bhc
    >>> X, family = [0.0, 9.0, 0.3, 9.1], NormalGamma(mu=5.0, kappa=0.01, alpha=2.0, beta=0.1)
    >>> tree = bhc(X, family, DirichletProcess(1.0), random_seed=1)
    >>> predictive_log_density(tree, X, [0.1, 5.0], family, DirichletProcess(1.0)).round(2).tolist()
    [-0.84, -3.4]
    """
    measure = measure_of_numbers(measure)
    n = family_and_data(family, X)[2]
    tree, first_u = checked_tree(tree, n)
    X = with_more_rows(family, X, X_new, "X_new")
    family, data, n_all = family_and_data(_without_values_per_item(family), X)
    log_omega = _log_weights(tree, measure, tree_log_marginals(tree, family, data), first_u)
    return _mixture(tree, log_omega, family, data, n_all - n)


def _without_values_per_item(family):
    """A family, or each of a list, with None for hyperparameters that have one value per item of the data."""
    if isinstance(family, list):
        return [_without_values_per_item(one) for one in family]
    return family._replace(**dict.fromkeys(names_per_item(family)))


def _log_weights(tree, measure, log_marginal, log_u):
    """Log weights of all nodes, followed by that of a new cluster, shape (2n,)."""
    n = len(tree.order)
    law = u_given_tree(measure, tree, log_marginal, log_u)
    rows = []
    for s in law.log_u:
        join, moment = weights(measure, n, s)
        _, log_cluster = node_log_probabilities(
            tree, potentials_from_marginals(tree, moment, log_marginal).log_dissimilarity
        )
        rows.append(log_joint_increment(measure, n, s) + np.append(log_cluster + join[tree.size], join[0]))
    log_omega = scipy.special.logsumexp(np.array(rows) + (law.log_terms - law.log_integral)[:, None], axis=0)
    # They sum to one up to the error of the quadrature.
    return log_omega - scipy.special.logsumexp(log_omega)


@kernel
def _mixture(tree, log_omega, family, data, n_new):
    """Log densities of the items n, n + 1, ... under the mixture of all nodes and a new cluster."""
    n = tree.order.shape[0]
    total = np.full(n_new, -np.inf)
    rows = inner_statistics(tree, family, data)
    statistics, cache = np.empty(statistics_size(family)), np.empty(cache_size(family))
    for v in range(2 * n):
        check_signals()
        if log_omega[v] == -np.inf:
            continue
        statistics[:] = 0.0
        if v < 2 * n - 1:
            add_node(family, statistics, data, rows, v)
        refresh_cache(family, statistics, cache)
        for i in range(n_new):
            total[i] = log_add(total[i], log_omega[v] + log_predictive(family, cache, data, n + i))
    return total
