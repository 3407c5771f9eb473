"""Lower bounds of the evidence from a tree."""

from typing import Any

import numpy as np

from pymc_nrm.measures.base import log_joint_term, weights
from pymc_nrm.moves.guide_trees.potentials import potentials_from_marginals, tree_log_marginals
from pymc_nrm.moves.guide_trees.tree import Tree
from pymc_nrm.trees.clustering import checked_log_u
from pymc_nrm.trees.clustering_result import Dendrogram
from pymc_nrm.trees.evidence import u_given_tree
from pymc_nrm.trees.inputs import family_and_data, measure_of_numbers
from pymc_nrm.trees.tree_posterior import checked_tree


def log_evidence_lower_bound(
    tree: Tree | Dendrogram, X: Any, family: Any, measure: Any, *, u: float | None = None
) -> float:
    """Lower bound of the log evidence: the sum over the partitions that are consistent with a tree.

    Parameters
    ----------
    tree : Dendrogram or Tree
        Its leaves are the rows of X; it may have been grown with other hyperparameters, another measure or family.
    X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
        Data; NaN means missing, where the family allows it.
    family : Family or list of Family
        Hyperparameters are numbers and arrays.
    measure : Measure
        Hyperparameters are numbers.
    u : positive float, optional
        By default u is integrated out.

    Returns
    -------
    float
        A logarithm, at most ``log p(X)``, or ``log p(X, u)`` if u is given.

    Raises
    ------
    TypeError, ValueError
        If arguments are of the wrong kind or outside their support, or the tree does not fit the data.

    See Also
    --------
    alternative_trees : A tighter bound.

    Notes
    -----
    Given u the bound is ``exp(log_joint_term(n, u)) phi(X | t)``.  For the Dirichlet process its integral over u
    is ``d_k Gamma(alpha) / Gamma(n + alpha) p(D_k | T_k)`` at the root k, with ``d_k = alpha`` at leaves and
    ``d_k = alpha Gamma(n_k) + d_left d_right`` elsewhere (Heller & Ghahramani 2005, section 3).
    :attr:`Dendrogram.log_evidence` is the same number for the hyperparameters with which a tree was grown.

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
    tree, start = checked_tree(tree, n), start_of_search(tree, n)
    log_p = tree_log_marginals(tree, kernel_family, data)
    if u is None:
        return u_given_tree(measure, tree, log_p, start).log_integral
    log_u = checked_log_u(u)
    phi = potentials_from_marginals(tree, weights(measure, n, log_u).moment, log_p).log_potential[-1]
    return float(log_joint_term(measure, n, log_u) + phi)


def start_of_search(tree, n):
    """Where to start the search for the mode of log u: at the log u of a dendrogram, otherwise at log n."""
    return float(tree.log_u if isinstance(tree, Dendrogram) else np.log(n))
