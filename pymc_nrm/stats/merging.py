"""The tree that fuses clusters of an estimate whose items are closest on average, and its cut."""

from typing import NamedTuple

import numpy as np

__all__ = ["Fusions", "cut_fusions", "fuse", "mean_closeness"]


class Fusions(NamedTuple):
    """The order in which clusters are fused, down to a single one.

    Parameters
    ----------
    first, second : ndarray of int64, shape (m - 1,)
        What is fused: numbers below m are the clusters themselves, m + t is what fusion t has made.
    closeness : ndarray, shape (m - 1,)
        Mean closeness of the pairs of items that a fusion joins; it never rises from one fusion to the next.
    """

    first: np.ndarray
    second: np.ndarray
    closeness: np.ndarray


def mean_closeness(sums, sizes):
    """Mean closeness of an item of cluster a and one of cluster b, shape (m, m).

    Examples
    --------
    >>> mean_closeness(np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([2, 1]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    return sums / np.outer(sizes, sizes)


def fuse(sums, sizes):
    """Fuse, again and again, the two clusters whose items are closest on average.

    Parameters
    ----------
    sums : ndarray, shape (m, m)
        Closeness, from 0 to 1, summed over all pairs of an item of cluster a and one of cluster b; symmetric.
    sizes : ndarray of int, shape (m,)
        Numbers of items.

    Returns
    -------
    Fusions

    Examples
    --------
    >>> fuse(np.array([[4.0, 0.2, 1.0], [0.2, 1.0, 0.1], [1.0, 0.1, 1.0]]), np.array([2, 1, 1]))
    Fusions(first=array([0, 1]), second=array([2, 3]), closeness=array([0.5, 0.1]))
    """
    total, counts = np.array(sums, dtype=float), np.array(sizes, dtype=float)
    m = len(total)
    node, alive = np.arange(m), np.ones(m, dtype=bool)
    pairs, closeness = np.empty((m - 1, 2), dtype=np.int64), np.empty(m - 1)
    for t in range(m - 1):
        here = np.flatnonzero(alive)
        between = mean_closeness(total[np.ix_(here, here)], counts[here])
        np.fill_diagonal(between, -1.0)
        a, b = here[list(np.unravel_index(between.argmax(), between.shape))]
        pairs[t], closeness[t] = np.sort(node[[a, b]]), between.max()
        total[a] += total[b]
        total[:, a] += total[:, b]
        counts[a] += counts[b]
        node[a], alive[b] = m + t, False
    return Fusions(pairs[:, 0], pairs[:, 1], closeness)


def cut_fusions(fusions, threshold=None, n_clusters=None):
    """Clusters after all fusions of a closeness above a threshold, or down to a number.

    Parameters
    ----------
    fusions : Fusions
    threshold : float, optional
    n_clusters : int, optional
        Used if given.

    Returns
    -------
    ndarray of int64, shape (m,)
        For each cluster the label of its union, in order of appearance.

    Examples
    --------
    >>> fusions = Fusions(np.array([0, 1]), np.array([2, 3]), np.array([0.4, 0.1]))
    >>> cut_fusions(fusions, 0.2), cut_fusions(fusions, n_clusters=1)
    (array([0, 1, 0]), array([0, 0, 0]))
    """
    m = len(fusions.closeness) + 1
    n_fusions = int((fusions.closeness > threshold).sum()) if n_clusters is None else m - n_clusters
    members = {k: [k] for k in range(m)}
    for t in range(n_fusions):
        members[m + t] = members.pop(int(fusions.first[t])) + members.pop(int(fusions.second[t]))
    result = np.empty(m, dtype=np.int64)
    for label, group in enumerate(sorted(members.values(), key=min)):
        result[group] = label
    return result
