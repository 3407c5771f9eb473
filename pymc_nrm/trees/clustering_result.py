"""The result of hierarchical clustering, the distribution of partitions consistent with a tree, and predictions."""

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import scipy

from pymc_nrm.families.base import add_item, cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import softplus, sum_rows
from pymc_nrm.measures.base import log_joint_increment, weights
from pymc_nrm.moves.guide_trees.tree import Tree, check_tree, cut_tree, potentials_from_marginals, tree_log_marginals
from pymc_nrm.trees.evidence import u_given_tree
from pymc_nrm.trees.inputs import completed, family_and_data, measure_of_numbers, with_more_rows


@dataclasses.dataclass(frozen=True, eq=False)
class Dendrogram:
    """A binary tree over n items with its potentials, and the clusters at its cut.

    Nodes are numbered as in SciPy: 0, ..., n - 1 are the items and n, ..., 2n - 2 the merges; the last is the root.

    Parameters
    ----------
    tree : Tree
        Children, parents, sizes and order of the leaves.
    labels : ndarray of int64, shape (n,)
        The clusters, which are the largest subtrees with d <= 1, numbered in order of appearance.
    log_marginal : ndarray, shape (2n - 1,)
        Log density of the data below each node as one cluster.
    log_potential : ndarray, shape (2n - 1,)
        ``log phi(X_v | t_v)`` of each node v given u: the logarithm of the sum of ``prod_c kappa(|c|, u) p(X_c)`` over
        the partitions that are consistent with the subtree.
    log_u : float
        Log of the auxiliary variable.
    log_evidence : float
        Lower bound of ``log p(X)`` with u integrated out: the log of the sum of ``p(partition) p(X | partition)`` over
        the partitions that are consistent with the tree.  It is comparable between trees, hyperparameters, measures and
        families.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.trees import bhc
    >>> result = bhc([0.0, 0.1, 5.0], NormalGamma(0.0, 0.1, 2.0, 0.01), DirichletProcess(1.0), random_seed=1)
    >>> result.labels.tolist(), result.log_marginal.shape
    ([0, 0, 1], (5,))
    """

    tree: Tree
    labels: Any
    log_marginal: Any
    log_potential: Any
    log_u: float
    log_evidence: float

    @property
    def dissimilarity(self) -> np.ndarray:
        """Log d between the children of every node, 0 for items, shape (2n - 1,)."""
        return self.tree.log_dissimilarity

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def u(self) -> float:
        """Auxiliary variable; infinite if only its logarithm can be represented."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_u))

    @functools.cached_property
    def _levels(self):
        # asinh is linear near d = 1 and logarithmic far from it, where log d is in the thousands.
        n = len(self.labels)
        levels = np.arcsinh(np.nan_to_num(self.dissimilarity[n:], posinf=1e300, neginf=-1e300))
        lowest = min(float(levels.min(initial=0.0)), 0.0)
        return levels - lowest + 1.0, 1.0 - lowest

    @property
    def cut_height(self) -> float:
        """Height of d = 1 in :meth:`to_linkage`."""
        return self._levels[1]

    def to_linkage(self) -> np.ndarray:
        """Linkage matrix for :mod:`scipy.cluster.hierarchy`.

        SciPy needs positive heights that grow towards the root, but log d may decrease and be negative.  The height of
        a merge is therefore the smallest ``asinh(log d) + a`` among the merge and its ancestors.  The constant a makes
        the smallest height 1, or the height of d = 1 if no d is less.  A cut at :attr:`cut_height` gives
        :attr:`labels`.

        Returns
        -------
        ndarray, shape (n - 1, 4)
            Two nodes, height and number of items of each merge.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.cluster.hierarchy import fcluster
        >>> from pymc_nrm.families import NormalGamma
        >>> from pymc_nrm.measures import DirichletProcess
        >>> from pymc_nrm.trees import bhc
        >>> result = bhc([0.0, 0.1, 5.0], NormalGamma(0.0, 0.1, 2.0, 0.01), DirichletProcess(1.0), random_seed=1)
        >>> fcluster(result.to_linkage(), result.cut_height, criterion="distance").tolist()
        [1, 1, 2]
        """
        n = len(self.labels)
        heights = np.concatenate([np.zeros(n), self._levels[0]])
        for v in range(2 * n - 3, n - 1, -1):
            heights[v] = min(heights[v], heights[self.tree.parent[v]])
        children = np.sort(np.column_stack([self.tree.left[n:], self.tree.right[n:]]), axis=1)
        order = np.argsort(heights[n:], kind="stable")
        name = np.arange(2 * n - 1)
        name[n + order] = n + np.arange(n - 1)
        rows = np.column_stack([np.sort(name[children], axis=1), heights[n:], self.tree.size[n:]])
        return np.ascontiguousarray(rows[order], dtype="float64")


def make_dendrogram(tree, measure, log_u, family, data, *, fixed_u):
    """Compute the potentials of a tree from the data, and its clusters."""
    log_p = tree_log_marginals(tree, family, data)
    quadrature = u_given_tree(measure, tree, log_p, log_u)
    log_u = log_u if fixed_u else quadrature.mode
    potentials = potentials_from_marginals(tree, weights(measure, len(tree.order), log_u).moment, log_p)
    tree = tree._replace(log_dissimilarity=potentials.log_dissimilarity)
    return Dendrogram(tree, cut_tree(tree), log_p, potentials.log_potential, log_u, quadrature.log_integral)


def checked_tree(tree, n):
    """Checked tree, from a dendrogram or a tree; and where to start the search for the mode of log u."""
    log_u = float(np.log(n))
    if isinstance(tree, Dendrogram):
        tree, log_u = tree.tree, tree.log_u
    elif isinstance(tree, Tree):
        check_tree(tree)
    else:
        raise TypeError(f"tree must be a Dendrogram or a Tree; got {tree!r}")
    if len(tree.order) != n:
        raise ValueError(f"tree must have one leaf for each of the {n} rows of data; got {len(tree.order)} leaves")
    return tree, log_u


@kernel
def node_log_probabilities(tree, log_d):
    """Log probabilities, given u, that a node is separate from all other items and that it is a cluster.

    A partition that is consistent with the tree either unites all items of the root, with probability ``1 / (1 + d)``,
    or separates its children, which are then independent of each other. ``log_apart`` is the log probability that no
    item of the node shares a cluster with an item outside: the sum of ``log(d / (1 + d))`` over the ancestors.
    ``log_cluster`` is the log probability that the items of the node are one cluster.
    """
    n = tree.order.shape[0]
    log_apart = np.zeros(2 * n - 1)
    log_cluster = np.empty(2 * n - 1)
    for v in range(2 * n - 2, -1, -1):
        if v < 2 * n - 2:
            up = tree.parent[v]
            log_apart[v] = log_apart[up] - softplus(-log_d[up])
        log_cluster[v] = log_apart[v] - (softplus(log_d[v]) if v >= n else 0.0)
    return log_apart, log_cluster


@shared_kernel
def inner_statistics(tree, family, data):
    """Rows of statistics of the internal nodes n, ..., 2n - 2, shape (n - 1, statistics_size)."""
    n = tree.order.shape[0]
    rows = np.zeros((n - 1, statistics_size(family)))
    for k in range(n - 1):
        if k % 64 == 0:
            check_signals()
        add_node(family, rows[k], data, rows, tree.left[n + k])
        add_node(family, rows[k], data, rows, tree.right[n + k])
    return rows


@kernel
def add_node(family, statistics, data, rows, v):
    """Add the items of a node to a row of statistics; ``rows`` come from :func:`inner_statistics`."""
    n = rows.shape[0] + 1
    if v < n:
        add_item(family, statistics, data, v, 1.0)
    else:
        sum_rows(statistics, statistics, rows[v - n])


@kernel
def log_add(a, b):
    """Logarithm of ``exp(a) + exp(b)``; NaN counts as -inf."""
    if math.isnan(a) or a == -math.inf:
        return -math.inf if math.isnan(b) else b
    if math.isnan(b) or b == -math.inf:
        return a
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def predictive_log_density(tree: Tree | Dendrogram, X: Any, X_new: Any, family: Any, measure: Any) -> np.ndarray:
    """Log density of each new item, given the data and a partition that is consistent with a tree.

    Parameters
    ----------
    tree : Dendrogram or Tree
        Its leaves are the rows of X.
    X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
        Data; NaN means missing, where the family allows it.
    X_new : like X, with m rows
        New items, each predicted separately.  Levels that no row of X has are an error, unless the family gives their
        number.
    family : Family or list of Family
        Hyperparameters are numbers and arrays.  Hyperparameters with one value per item, such as ``total`` of
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
    items is the density for n items times ``c(u) join(n_c, u)`` or, for a new cluster, times ``c(u) join(0, u)``.  Here
    c(u) and the table join are the exponentials of ``log_joint_increment`` and ``weights``.  Summed over u and over the
    partitions that are consistent with the tree, the density is

        sum_v omega_v p(x | X_v) + omega_new p(x),    omega_v = E[c(u) join(n_v, u) P(v | u)],

    where E is over u given the tree and ``omega_new = E[c(u) join(0, u)]``.  The probability that v is a cluster is
    ``P(v | u) = r_v prod (1 - r_w)`` over the ancestors w of v, with ``r = 1 / (1 + d)``.  The weights sum to one.  For
    the Dirichlet process ``omega_v = n_v / (n + alpha) P(v)``.  Heller & Ghahramani (2005), section 2.4, weight nodes
    by ``r_v prod (1 - r_w)`` and allow no new cluster.

    The function computes m times 2n - 1 predictive densities and keeps n rows of statistics.

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
    family = completed(family, X)
    X = with_more_rows(family, X, X_new, "X_new")
    family, data, n_all = family_and_data(family, X, "X and X_new")
    log_omega = _log_weights(tree, measure, tree_log_marginals(tree, family, data), first_u)
    return _mixture(tree, log_omega, family, data, n_all - n)


def _log_weights(tree, measure, log_marginal, log_u):
    """Log weights of all nodes, followed by the log weight of a new cluster, shape (2n,)."""
    n = len(tree.order)
    quadrature = u_given_tree(measure, tree, log_marginal, log_u)
    rows = []
    for s in quadrature.log_u:
        join, moment = weights(measure, n, s)
        _, log_cluster = node_log_probabilities(
            tree, potentials_from_marginals(tree, moment, log_marginal).log_dissimilarity
        )
        rows.append(log_joint_increment(measure, n, s) + np.append(log_cluster + join[tree.size], join[0]))
    log_omega = scipy.special.logsumexp(
        np.array(rows) + (quadrature.log_terms - quadrature.log_integral)[:, None], axis=0
    )
    # They sum to one up to the error of the quadrature.
    return log_omega - scipy.special.logsumexp(log_omega)


@shared_kernel
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
