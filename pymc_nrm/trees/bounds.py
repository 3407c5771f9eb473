"""Lower bounds of the evidence from a tree, and from alternative trees with one branch moved (Xu et al. 2009)."""

import dataclasses
from typing import Any

import numpy as np

from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import softplus
from pymc_nrm.measures.base import log_joint_term, weights
from pymc_nrm.moves.guide_trees.tree import Tree, potentials_from_marginals, tree_log_marginals
from pymc_nrm.trees.clustering import checked_log_u
from pymc_nrm.trees.clustering_result import (
    Dendrogram,
    add_node,
    checked_tree,
    inner_statistics,
    log_add,
    node_log_probabilities,
)
from pymc_nrm.trees.evidence import Quadrature, integrate_log_u, u_given_tree
from pymc_nrm.trees.inputs import family_and_data, measure_of_numbers


def log_evidence_lower_bound(
    tree: Tree | Dendrogram, X: Any, family: Any, measure: Any, *, u: float | None = None
) -> float:
    """Lower bound of the log evidence: the sum over the partitions that are consistent with a tree.

    Parameters
    ----------
    tree : Dendrogram or Tree
        Its leaves are the rows of X; its hyperparameters, measure and family may differ from those below.
    %(tree_inputs)s
    u : positive float, optional
        By default u is integrated out.

    Returns
    -------
    float
        Lower bound of ``log p(X)``, or of ``log p(X, u)`` if u is given.

    %(errors_of_tree)s

    See Also
    --------
    alternative_trees : A tighter bound.

    Notes
    -----
    Given u the bound is ``exp(log_joint_term(n, u)) phi(X | t)``.  For the Dirichlet process its integral over u
    is ``d_k Gamma(alpha) / Gamma(n + alpha) p(D_k | T_k)`` at the root k, with ``d_k = alpha`` at leaves and
    ``d_k = alpha Gamma(n_k) + d_left d_right`` elsewhere (Heller & Ghahramani 2005, section 3).
    :attr:`Dendrogram.log_evidence` is the same number for the hyperparameters that the tree was grown with.

    References
    ----------
    Heller & Ghahramani (2005), "Bayesian hierarchical clustering".

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma
    >>> from pymc_nrm.trees import bhc
    >>> X, family = [0.0, 9.0, 0.3, 9.1], NormalGamma(mu=5.0, kappa=0.01, alpha=2.0, beta=0.1)
    >>> tree = bhc(X, family, DirichletProcess(1.0), random_seed=1)
    >>> round(log_evidence_lower_bound(tree, X, family, DirichletProcess(1.0)) - tree.log_evidence, 9)
    0.0
    >>> round(log_evidence_lower_bound(tree, X, family, NormalizedGeneralizedGamma(1.0, 0.5)), 2)
    -11.34
    """
    measure = measure_of_numbers(measure)
    kernel_family, data, n = family_and_data(family, X)
    tree, start = checked_tree(tree, n)
    log_p = tree_log_marginals(tree, kernel_family, data)
    if u is None:
        return u_given_tree(measure, tree, log_p, start).log_integral
    log_u = checked_log_u(u)
    phi = potentials_from_marginals(tree, weights(measure, n, log_u).moment, log_p).log_potential[-1]
    return float(log_joint_term(measure, n, log_u) + phi)


@dataclasses.dataclass(frozen=True, eq=False)
class AlternativeTrees:
    """A lower bound of the evidence from a tree and its alternatives.

    Parameters
    ----------
    log_bound : float
        Lower bound of ``log p(X)``, or of ``log p(X, u)`` if u was given.
    log_gain : float
        Log of the ratio of this bound to the bound of the tree alone; never negative.
    node_gains : ndarray, shape (2n - 1,)
        Log of the same ratio if branches are moved at a single node only; 0 if no branch can move there, or if the node
        was excluded.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.trees import bhc
    >>> X, family = [0.0, 2.0, 1.0, 3.5], NormalGamma(mu=1.0, kappa=0.1, alpha=2.0, beta=1.0)
    >>> tree = bhc(X, family, DirichletProcess(1.0), random_seed=1)
    >>> result = alternative_trees(tree, X, family, DirichletProcess(1.0))
    >>> round(result.log_gain, 3), result.node_gains.shape
    (0.452, (7,))
    """

    log_bound: float
    log_gain: float
    node_gains: Any


def alternative_trees(
    tree: Tree | Dendrogram, X: Any, family: Any, measure: Any, *, start: Any = None, u: float | None = None
) -> AlternativeTrees:
    """Lower bound of the log evidence from a tree and the alternatives in which a grandchild gets another sibling.

    Parameters
    ----------
    tree : Dendrogram or Tree
        Its leaves are the rows of X; its hyperparameters, measure and family may differ from those below.
    %(tree_inputs)s
    start : int, optional
        Branches are moved at this node and its ancestors, as in the paper.  By default they are moved at all nodes.
    u : positive float, optional
        By default u is integrated out.

    Returns
    -------
    AlternativeTrees

    %(errors_of_tree)s

    Notes
    -----
    Let v have the children a and b, and let a have the children a1 and a2::

             v                  v'
           .   .              .   .
          a     b            .     a2
         . .                . .
        a1  a2             a1  b

    The alternative ``v' = ((a1, b), a2)`` is consistent with all partitions that separate a1, a2 and b, like the tree,
    and with all partitions in which ``a1 + b`` is a cluster.  The latter are new, and their weight is
    ``L(a1 + b) phi(a2)`` with ``L(c) = kappa(|c|, u) p(X_c)``.  The same holds for ``((a2, b), a1)`` and, with the
    children of b, for ``((b1, a), b2)`` and ``((b2, a), b1)``.  No partition is in two of these sets, since any two of
    the four clusters share items.  Hence the recursion

        chi(v) = L(v) + chi(a) chi(b) + L(a1 + b) chi(a2) + L(a2 + b) chi(a1) + L(b1 + a) chi(b2) + L(b2 + a) chi(b1)

    counts every partition once: v is one cluster, or no cluster has items on both sides of v, or exactly one does, and
    that cluster determines the term of the partition.  The bound is ``exp(log_joint_term(n, u)) chi(root)``, integrated
    over u.  For three items it is the evidence itself.

    The paper adds the gains of one alternative tree at a time.  The recursion includes them, and also partitions with
    branches moved at several nodes.  The sum of the former alone has the log gain
    ``log(1 + sum_v expm1(node_gains[v]))``.

    The time is O(n) plus four log marginals per node; n rows of statistics are kept.

    References
    ----------
    Xu, Heller & Ghahramani (2009), "Tree-based inference for Dirichlet process mixtures", section 3.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.trees import bhc
    >>> X, family = [0.0, 2.0, 1.0, 3.5], NormalGamma(mu=1.0, kappa=0.1, alpha=2.0, beta=1.0)
    >>> tree = bhc(X, family, DirichletProcess(1.0), random_seed=1)
    >>> result = alternative_trees(tree, X, family, DirichletProcess(1.0))
    >>> round(tree.log_evidence, 3), round(result.log_bound, 3)
    (-9.446, -8.993)
    """
    measure = measure_of_numbers(measure)
    kernel_family, data, n = family_and_data(family, X)
    tree, first_u = checked_tree(tree, n)
    included = _included_nodes(tree, start)
    log_p = tree_log_marginals(tree, kernel_family, data)
    log_moved = _moved_log_marginals(tree, kernel_family, data)

    def at(log_u):
        """Log density of the tree alone given u, log gain, and log gains of the nodes."""
        moment = weights(measure, n, log_u).moment
        potentials = potentials_from_marginals(tree, moment, log_p)
        gain, node_log_shares = _gains(tree, moment, potentials, log_moved, included)
        return log_joint_term(measure, n, log_u) + potentials.log_potential[-1], gain, node_log_shares

    if u is not None:
        log_u = checked_log_u(u)
        quadrature = Quadrature(log_u, np.array([log_u]), np.array([at(log_u)[0]]))
    else:
        quadrature = u_given_tree(measure, tree, log_p, first_u)
    if len(quadrature.log_u) == 1:  # u is given, or nothing depends on it
        log_bound = quadrature.log_integral + at(quadrature.mode)[1]
    else:
        log_bound = integrate_log_u(lambda s: s + sum(at(s)[:2]), quadrature.mode).log_integral
    gain = max(log_bound - quadrature.log_integral, 0.0)
    shares = sum(p * np.exp(at(s)[2]) for p, s in zip(quadrature.probabilities, quadrature.log_u, strict=True))
    return AlternativeTrees(float(log_bound), float(gain), np.log1p(shares))


def _included_nodes(tree, start):
    """Mask of the nodes at which branches may be moved."""
    n = len(tree.order)
    if start is None:
        return np.ones(2 * n - 1, dtype=np.bool_)
    if not isinstance(start, int | np.integer) or isinstance(start, bool) or not 0 <= start < 2 * n - 1:
        raise ValueError(f"start must be a node of the tree, 0 to {2 * n - 2}; got {start!r}")
    included = np.zeros(2 * n - 1, dtype=np.bool_)
    while start >= 0:
        included[start] = True
        start = tree.parent[start]
    return included


@kernel
def _relatives(tree, v, j):
    """The j-th way to move a branch at v: the grandchild that moves, its new sibling, and its old sibling."""
    n = tree.order.shape[0]
    a, b = (tree.left[v], tree.right[v]) if j < 2 else (tree.right[v], tree.left[v])
    if a < n:
        return -1, -1, -1
    return (tree.left[a], b, tree.right[a]) if j % 2 == 0 else (tree.right[a], b, tree.left[a])


@shared_kernel
def _moved_log_marginals(tree, family, data):
    """Log marginals of a moved branch and its new sibling as one cluster, shape (2n - 1, 4); -inf if none moves."""
    n = tree.order.shape[0]
    log_moved = np.full((2 * n - 1, 4), -np.inf)
    rows = inner_statistics(tree, family, data)
    work = np.empty(rows.shape[1])
    for v in range(n, 2 * n - 1):
        check_signals()
        for j in range(4):
            moved, sibling, _ = _relatives(tree, v, j)
            if moved >= 0:
                work[:] = 0.0
                add_node(family, work, data, rows, moved)
                add_node(family, work, data, rows, sibling)
                log_moved[v, j] = log_marginal(family, work)
    return log_moved


@kernel
def _gains(tree, moment, potentials, log_moved, included):
    """``log chi(root) / phi(root)``, and the log of each node's own contribution, relative to phi(root)."""
    n = tree.order.shape[0]
    log_phi, log_d = potentials.log_potential, potentials.log_dissimilarity
    log_apart, _ = node_log_probabilities(tree, log_d)
    gain = np.zeros(2 * n - 1)
    share = np.full(2 * n - 1, -np.inf)
    for v in range(n, 2 * n - 1):
        apart = -softplus(-log_d[v]) + gain[tree.left[v]] + gain[tree.right[v]]
        total = log_add(-softplus(log_d[v]), apart)
        if included[v]:
            for j in range(4):
                moved, sibling, remaining = _relatives(tree, v, j)
                if moved >= 0:
                    term = (
                        moment[tree.size[moved] + tree.size[sibling]]
                        + log_moved[v, j]
                        + log_phi[remaining]
                        - log_phi[v]
                    )
                    share[v] = log_add(share[v], log_apart[v] + term)
                    total = log_add(total, term + gain[remaining])
        # Rounding may leave the sum of probabilities just below one.
        gain[v] = max(total, 0.0)
    return gain[2 * n - 2], share
