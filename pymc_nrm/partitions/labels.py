"""Labels of partitions of n items: canonical form, sizes of clusters, and enumeration."""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.kernels.generic import kernel

_TYPES = (np.uint8, np.uint16, np.uint32)


@kernel
def rename_in_order(labels, n_labels):
    """Rename labels from 0 to ``n_labels - 1`` in order of appearance, in place; return the number of labels used."""
    names = np.full(n_labels, -1, dtype=np.int64)
    n_names = 0
    for i in range(labels.shape[0]):
        if names[labels[i]] < 0:
            names[labels[i]] = n_names
            n_names += 1
        labels[i] = names[labels[i]]
    return n_names


@kernel
def members(labels, n_labels):
    """Items sorted by label, from 0 to ``n_labels - 1``; label k has items ``order[start[k] : start[k + 1]]``."""
    start = np.zeros(n_labels + 1, dtype=np.int64)
    for i in range(labels.shape[0]):
        start[labels[i] + 1] += 1
    for k in range(n_labels):
        start[k + 1] += start[k]
    place = start.copy()
    order = np.empty(labels.shape[0], dtype=np.int64)
    for i in range(labels.shape[0]):
        order[place[labels[i]]] = i
        place[labels[i]] += 1
    return start, order


@kernel
def canonical_columns(values, n_labels):
    """Rename the labels of each column, from 0 to ``n_labels - 1``, in order of appearance, in place."""
    for column in range(values.shape[1]):
        rename_in_order(values[:, column], n_labels)


def canonical_labels(labels: Any, argument: str = "labels") -> np.ndarray:
    """Rename labels in order of appearance: the first item is in cluster 0, the next new cluster is 1, and so on.

    Parameters
    ----------
    labels : array_like of int, shape (n,)
        Any integers; equal integers mean the same cluster.
    argument : str
        Name of the labels in error messages.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError, ValueError
        If the labels are not a vector of whole numbers.

    Examples
    --------
    >>> canonical_labels([7, 7, 2, 7, 5]).tolist()
    [0, 0, 1, 0, 2]
    """
    array = labels if isinstance(labels, np.ndarray) and labels.dtype == np.int64 else _label_array(labels, argument)
    if array.ndim != 1:
        raise ValueError(f"{argument} must have shape (n,); got shape {array.shape}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    whole = array
    if array.dtype != np.int64:
        whole = array.astype(np.int64) if np.isfinite(array).all() else None
        if whole is None or (whole != array).any():
            wrong = array[~np.isfinite(array) | (array != np.floor(array))]
            raise ValueError(f"{argument} must be whole numbers; got {wrong[:5]}")
    least, largest = int(whole.min()), int(whole.max())
    if largest - least > 10 * whole.size + 1000:
        whole = np.unique(whole, return_inverse=True)[1].astype(np.int64)
        least, largest = 0, int(whole.max())
    canonical = whole - least
    rename_in_order(canonical, largest - least + 1)
    return canonical


def _label_array(labels, argument):
    try:
        return numeric_array(argument, labels)
    except TypeError as error:
        got = str(error).split("; ", 1)[1]
        remedy = "pandas.factorize(labels)[0] or np.unique(labels, return_inverse=True)[1]"
        raise TypeError(f"{argument} must be whole numbers; {got}. Convert names of clusters with {remedy}") from None


def is_canonical(labels):
    """Return whether labels are numbered from 0 in order of appearance.

    Parameters
    ----------
    labels : array_like of int, shape (n,)

    Returns
    -------
    bool

    Examples
    --------
    >>> is_canonical([0, 1, 0, 2]), is_canonical([1, 0])
    (True, False)
    """
    return bool((canonical_labels(labels) == np.asarray(labels)).all())


def label_counts(labels):
    """Count the items of each cluster.

    Parameters
    ----------
    labels : array_like of int, shape (n,)
        Canonical labels.

    Returns
    -------
    ndarray of int64, shape (n_clusters,)

    Examples
    --------
    >>> label_counts([0, 1, 0]).tolist()
    [2, 1]
    """
    return np.bincount(np.asarray(labels)).astype(np.int64)


def all_partitions(n: Any) -> np.ndarray:
    """List all partitions of n items as canonical labels, in lexicographic order.

    Parameters
    ----------
    n : int
        At most 13: the number of partitions is the Bell number of n, 27,644,437 for n = 13.

    Returns
    -------
    ndarray of int64, shape (n_partitions, n)

    Raises
    ------
    ValueError
        If n is not between 0 and 13.

    Examples
    --------
    >>> all_partitions(3).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    if not 0 <= n <= 13:
        raise ValueError(f"n must be between 0 and 13; got {n}")
    rows = np.zeros((1, n), dtype=np.int64)
    highest = np.full(1, -1, dtype=np.int64)
    for i in range(n):
        choices = highest + 2
        parents = np.repeat(np.arange(len(rows)), choices)
        value = np.arange(len(parents)) - np.repeat(np.cumsum(choices) - choices, choices)
        rows, highest = rows[parents], np.maximum(highest[parents], value)
        rows[:, i] = value
    return rows


def smallest_type(largest):
    """Return the smallest unsigned integer type that holds labels from 0 to ``largest``."""
    return next(dtype for dtype in _TYPES if largest <= np.iinfo(dtype).max)
