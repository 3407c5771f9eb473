"""Exact evidence of a few items, by enumeration."""

import functools
from typing import Any

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.special import log_sum_exp
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.trees.inputs import family_and_data, measure_of_numbers

MOST_ITEMS = 10


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
        If ``measure`` is no measure, ``family`` is no family, or a hyperparameter is a tensor or random variable.
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
    measure = measure_of_numbers(measure)
    family, data, n = family_and_data(family, X, user="log_evidence")
    if n > MOST_ITEMS:
        raise ValueError(f"X must have at most {MOST_ITEMS} items; got {n}")
    clusters, sizes, which = _clusters_and_sizes(n)
    log_p = np.array([log_eppf(measure, row[row > 0]) for row in sizes])[which]
    marginals = _subset_log_marginals(family, data, n)
    for cluster in clusters:
        log_p += marginals[cluster]
    return float(log_sum_exp(log_p))


@functools.cache
def _clusters_and_sizes(n):
    """Clusters of all partitions as bits, shape (n, n_partitions), 0 for none; distinct sizes, and the row of each."""
    partitions = all_partitions(n)
    clusters = np.array([(partitions == cluster) @ (1 << np.arange(n)) for cluster in range(n)])
    counts = np.sort([(partitions == cluster).sum(axis=1) for cluster in range(n)], axis=0)
    _, first, which = np.unique((n + 1) ** np.arange(n) @ counts, return_index=True, return_inverse=True)
    return clusters, counts.T[first], which


def _subset_log_marginals(family, data, n):
    """Log marginals of all sets of items, at the index whose bits are the items; 0 for none, shape (2^n,)."""
    items = np.zeros((n, statistics_size(family)))
    for i in range(n):
        add_item(family, items[i], data, i, 1.0)
    bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    return np.array([log_marginal(family, bits[subset] @ items) if subset else 0.0 for subset in range(1 << n)])
