"""Overlap of clusters, and the tree that fuses those that overlap most."""

from typing import NamedTuple

import numpy as np

from pymc_nrm.checks import check_number

__all__ = ["Fusions", "companion_shares", "cut_fusions", "expected_companions", "fuse", "overlap_matrix"]


class Fusions(NamedTuple):
    """The order in which clusters are fused, as far as a single one.

    Parameters
    ----------
    first, second : ndarray of int64, shape (m - 1,)
        What is fused: numbers below m are the clusters themselves, m + t is what fusion t has made.
    overlap : ndarray, shape (m - 1,)
        The larger of the two overlaps of what is fused.
    """

    first: np.ndarray
    second: np.ndarray
    overlap: np.ndarray


def expected_companions(labels, partitions):
    """Expected number of items in each cluster that have their companion in each other cluster.

    The companion of an item in a draw is a random member of its cluster there, possibly itself.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        A partition into m clusters, labels from 0.
    partitions : ndarray of int64, shape (S, n)
        Draws, labels from 0.

    Returns
    -------
    ndarray, shape (m, m)
        The mean over draws of ``sum_k N[k, a] N[k, b] / size[k]``, where ``N[k, a]`` counts the items of cluster k of
        the draw in cluster a.  It is symmetric, rows add up to the sizes of clusters, and rows and columns of a union
        are sums.

    Examples
    --------
    >>> expected_companions(np.array([0, 0, 1]), np.array([[0, 0, 1], [0, 1, 1]]))
    array([[1.75, 0.25],
           [0.25, 0.75]])
    """
    m = int(labels.max()) + 1
    total = np.zeros((m, m))
    for row in partitions:
        table = _counts(row, labels, m)
        total += table.T @ (table / table.sum(axis=1, keepdims=True))
    return total / len(partitions)


def companion_shares(labels, partitions):
    """Probability that the companion of each item is in each cluster, shape (n, m); rows add up to one.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
    partitions : ndarray of int64, shape (S, n)

    Examples
    --------
    >>> companion_shares(np.array([0, 0, 1]), np.array([[0, 0, 1], [0, 1, 1]]))
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75]])
    """
    m = int(labels.max()) + 1
    total = np.zeros((len(labels), m))
    for row in partitions:
        table = _counts(row, labels, m)
        total += (table / table.sum(axis=1, keepdims=True))[row]
    return total / len(partitions)


def _counts(row, labels, m):
    n_clusters = int(row.max()) + 1
    return np.bincount(row * m + labels, minlength=n_clusters * m).reshape(n_clusters, m).astype(float)


def overlap_matrix(companions):
    """Probability that the companion of a random item of cluster a is in cluster b, shape (m, m).

    Examples
    --------
    >>> overlap_matrix(np.array([[1.75, 0.25], [0.25, 0.75]]))
    array([[0.875, 0.125],
           [0.25 , 0.75 ]])
    """
    return companions / companions.sum(axis=1, keepdims=True)


def fuse(companions):
    """Fuse, again and again, the two clusters of which one overlaps most with the other.

    Parameters
    ----------
    companions : ndarray, shape (m, m)
        From :func:`expected_companions`.

    Returns
    -------
    Fusions

    Notes
    -----
    Overlaps with a union follow from sums, so that they are exact after every fusion.  They need not fall from one
    fusion to the next.

    Examples
    --------
    >>> fuse(np.array([[8.0, 0.0, 2.0], [0.0, 9.0, 1.0], [2.0, 1.0, 2.0]]))
    Fusions(first=array([0, 1]), second=array([2, 3]), overlap=array([0.4, 0.1]))
    """
    flow = np.array(companions, dtype=float)
    m = len(flow)
    node, alive = np.arange(m), np.ones(m, dtype=bool)
    pairs, overlaps = np.empty((m - 1, 2), dtype=np.int64), np.empty(m - 1)
    for t in range(m - 1):
        here = np.flatnonzero(alive)
        shares = overlap_matrix(flow[np.ix_(here, here)])
        either = np.maximum(shares, shares.T)
        np.fill_diagonal(either, -1.0)
        a, b = here[list(np.unravel_index(either.argmax(), either.shape))]
        pairs[t], overlaps[t] = np.sort(node[[a, b]]), either.max()
        flow[a] += flow[b]
        flow[:, a] += flow[:, b]
        node[a], alive[b] = m + t, False
    return Fusions(pairs[:, 0], pairs[:, 1], overlaps)


def cut_fusions(fusions, threshold=None, n_clusters=None):
    """Clusters after the fusions before the first whose overlap is below a threshold, or down to a number.

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
    m = len(fusions.overlap) + 1
    if n_clusters is not None:
        n_fusions = m - n_clusters
    else:
        below = np.flatnonzero(fusions.overlap < threshold)
        n_fusions = int(below[0]) if len(below) else m - 1
    members = {k: [k] for k in range(m)}
    for t in range(n_fusions):
        members[m + t] = members.pop(int(fusions.first[t])) + members.pop(int(fusions.second[t]))
    result = np.empty(m, dtype=np.int64)
    for label, group in enumerate(sorted(members.values(), key=min)):
        result[group] = label
    return result


def check_overlap(value):
    """Check the argument ``overlap``: a probability above 0 and at most 1.

    Examples
    --------
    >>> check_overlap(2)
    Traceback (most recent call last):
    ValueError: overlap must be above 0 and at most 1; got 2
    """
    return check_number("overlap", value, lambda p: 0.0 < p <= 1.0, "above 0 and at most 1")
