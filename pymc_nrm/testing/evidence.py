"""Exact evidence of a few items, by enumeration."""

import numpy as np

from pymc_nrm.families.base import add_item, log_marginal, statistics_size
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions import all_partitions
from pymc_nrm.special import log_sum_exp
from pymc_nrm.trees.inputs import family_and_data, measure_of_numbers

MOST_ITEMS = 10


def log_evidence(X, family, measure):
    """Log density of the data of a few items, all partitions summed over.

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
        If measure or family are none, or a hyperparameter is a tensor or random variable.
    ValueError
        If there are more than 10 items, or data or hyperparameters are outside their support.

    See Also
    --------
    pymc_nrm.trees.log_evidence_lower_bound : What a tree gives, for any number of items.

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> round(log_evidence([0, 9], PoissonGamma(1.0, 1.0), DirichletProcess(1.0)), 4)
    -8.2837
    """
    measure = measure_of_numbers(measure)
    family, data, n = family_and_data(family, X)
    if n > MOST_ITEMS:
        raise ValueError(f"enumeration is for 1 to {MOST_ITEMS} items; got {n}")
    partitions = all_partitions(n)
    log_p = _log_eppfs(partitions, measure)
    marginals = _subset_log_marginals(family, data, n)
    place = 1 << np.arange(n)
    for cluster in range(n):
        log_p += marginals[(partitions == cluster) @ place]
    return float(log_sum_exp(log_p))


def _log_eppfs(partitions, measure):
    """Log prior probabilities; partitions with equal sizes share one."""
    n = partitions.shape[1]
    counts = np.sort((partitions[:, :, None] == np.arange(n)).sum(axis=1), axis=1)
    sizes, which = np.unique(counts, axis=0, return_inverse=True)
    return np.array([log_eppf(measure, row[row > 0]) for row in sizes])[which.ravel()]


def _subset_log_marginals(family, data, n):
    """Log marginals of all sets of items, at the index whose bits are the items; 0 for none, shape (2^n,)."""
    items = np.zeros((n, statistics_size(family)))
    for i in range(n):
        add_item(family, items[i], data, i, 1.0)
    bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    return np.array([log_marginal(family, bits[subset] @ items) if subset else 0.0 for subset in range(1 << n)])
