"""Exact posterior and evidence of a few items, by enumeration of their partitions."""

import functools
from typing import Any

import numpy as np

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE
from pymc_nrm.kernels.special import log_sum_exp
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.trees.inputs import family_and_data, measure_of_numbers

MOST_ITEMS = 10


def kernel_inputs(family: Any, X: Any) -> tuple[Any, Any]:
    """Convert a family and data from the user's form to the form that kernels read.

    Parameters
    ----------
    family : Family or list of Family
        Hyperparameters are numbers and arrays.  A list stands for several data sets on the same items.
    X : array_like or sparse matrix, shape (n, d) or (n,), or list of them

    Returns
    -------
    family, data : NamedTuple

    Raises
    ------
    ValueError
        If data are outside the support of their family, or there are not as many families as data sets.

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> family, data = kernel_inputs(PoissonGamma(1.0, 1.0), [0, 1, 8])
    >>> family.alpha.tolist(), data.values.shape
    ([1.0], (3, 1))
    """
    family, data, _ = family_and_data(family, X, needs=PREDICTIVE)
    return family, data


def exact_posterior(measure: Any, family: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of all partitions of a few items given their data, by enumeration.

    Parameters
    ----------
    measure : Measure
        With fields that are numbers.
    family : Family or list of Family
        With fields that are numbers and arrays.  A list stands for several data sets on the same items.
    X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
        Data of at most 10 items.

    Returns
    -------
    partitions : ndarray of int64, shape (n_partitions, n)
        In the order of :func:`all_partitions`.
    probabilities : ndarray, shape (n_partitions,)

    Raises
    ------
    ValueError
        If there are more than 10 items, or data are outside the support of their family.

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> partitions, probabilities = exact_posterior(DirichletProcess(1.0), PoissonGamma(1.0, 1.0), [0, 9])
    >>> partitions.tolist(), probabilities.round(3).tolist()
    ([[0, 0], [0, 1]], [0.034, 0.966])
    """
    partitions, log_p = _log_joint(measure, family, X, "exact_posterior")
    probabilities = np.exp(log_p - log_p.max())
    return partitions, probabilities / probabilities.sum()


def log_evidence(X: Any, family: Any, measure: Any) -> float:
    """Log density of the data of a few items, summed over all partitions.

    Parameters
    ----------
    X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
        Data of at most 10 items.
    family : Family or list of Family
        With fields that are numbers and arrays.  A list stands for several data sets on the same items.
    measure : Measure
        With fields that are numbers.

    Returns
    -------
    float
        ``log p(X)``, the log of the sum over partitions of ``p(partition) prod_c p(X_c)``.

    Raises
    ------
    TypeError
        If ``measure`` is not a measure, ``family`` is not a family, or a hyperparameter is a tensor or random variable.
    ValueError
        If there are more than 10 items, or data or hyperparameters are outside their support.

    See Also
    --------
    pymc_nrm.trees.log_evidence_lower_bound : A bound from a tree, for any number of items.

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> round(log_evidence([0, 9], PoissonGamma(1.0, 1.0), DirichletProcess(1.0)), 4)
    -8.2837
    """
    return float(log_sum_exp(_log_joint(measure, family, X, "log_evidence")[1]))


def _log_joint(measure, family, X, user):
    """All partitions of the items, and ``log p(partition) prod_c p(X_c)`` of each partition."""
    measure = measure_of_numbers(measure)
    family, data, n = family_and_data(family, X, user=user)
    if n > MOST_ITEMS:
        raise ValueError(f"X must have at most {MOST_ITEMS} items; got {n}")
    clusters, sizes, which = _clusters_and_sizes(n)
    log_p = np.array([log_eppf(measure, row[row > 0]) for row in sizes])[which]
    marginals = _subset_log_marginals(family, data, n)
    for cluster in clusters:
        log_p += marginals[cluster]
    return all_partitions(n), log_p


@functools.cache
def _clusters_and_sizes(n):
    """Clusters of all partitions as bits, shape (n, n_partitions), 0 for none; distinct sizes, and each size's row."""
    partitions = all_partitions(n)
    clusters = np.array([(partitions == cluster) @ (1 << np.arange(n)) for cluster in range(n)])
    counts = np.sort([(partitions == cluster).sum(axis=1) for cluster in range(n)], axis=0)
    _, first, which = np.unique((n + 1) ** np.arange(n) @ counts, return_index=True, return_inverse=True)
    return clusters, counts.T[first], which


def _subset_log_marginals(family, data, n):
    """Log marginals of all sets of items, shape (2^n,), at the index whose bits are the items; 0 for the empty set."""
    items = np.zeros((n, statistics_size(family)))
    for i in range(n):
        add_item(family, items[i], data, i, 1.0)
    bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    return np.array([log_marginal(family, bits[subset] @ items) if subset else 0.0 for subset in range(1 << n)])


def total_variation(p: Any, q: Any) -> float:
    """Total variation distance between two distributions on the same finite set.

    Parameters
    ----------
    p, q : array_like, shape (m,)
        Probabilities.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        If they are not vectors of real numbers, or their lengths differ.

    Examples
    --------
    >>> total_variation([0.5, 0.5, 0.0], [0.25, 0.5, 0.25])
    0.25
    """
    p, q = numeric_array("p", p), numeric_array("q", q)
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError(f"p and q must have the same shape (m,); got shapes {p.shape} and {q.shape}")
    return float(0.5 * np.abs(p.astype("float64") - q).sum())
