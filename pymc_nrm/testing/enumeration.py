"""Posterior laws of partitions of a few items, by enumeration."""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.labels import all_partitions, label_counts
from pymc_nrm.trees.inputs import family_and_data, measure_of_numbers


def kernel_inputs(family: Any, X: Any) -> tuple[Any, Any]:
    """Convert a family and data from the form that users write to the form that kernels read.

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
    measure = measure_of_numbers(measure)
    family, data, n = family_and_data(family, X, user="exact_posterior")
    if n > 10:
        raise ValueError(f"X must have at most 10 items; got {n}")
    partitions = all_partitions(n)
    bits = 1 << np.arange(n)
    marginals = {}
    eppf = {}
    log_p = np.zeros(len(partitions))
    for row, labels in enumerate(partitions):
        counts = label_counts(labels)
        sizes = tuple(np.sort(counts).tolist())
        if sizes not in eppf:
            eppf[sizes] = log_eppf(measure, counts)
        log_p[row] = eppf[sizes]
        for cluster in range(len(counts)):
            members = labels == cluster
            subset = int(bits[members].sum())
            if subset not in marginals:
                marginals[subset] = _log_marginal_of(family, data, np.flatnonzero(members))
            log_p[row] += marginals[subset]
    probabilities = np.exp(log_p - log_p.max())
    return partitions, probabilities / probabilities.sum()


def _log_marginal_of(family, data, items):
    statistics = np.zeros(statistics_size(family))
    for item in items:
        add_item(family, statistics, data, item, 1.0)
    return log_marginal(family, statistics)


def total_variation(p: Any, q: Any) -> float:
    """Total variation distance of two laws on the same finite set.

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
        If they are no vectors of real numbers, or have different lengths.

    Examples
    --------
    >>> total_variation([0.5, 0.5, 0.0], [0.25, 0.5, 0.25])
    0.25
    """
    p, q = numeric_array("p", p), numeric_array("q", q)
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError(f"p and q must have the same shape (m,); got shapes {p.shape} and {q.shape}")
    return float(0.5 * np.abs(p.astype("float64") - q).sum())
