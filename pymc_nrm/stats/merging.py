"""The tree that fuses clusters of an estimate whose items are closest on average, and its cut."""

from typing import NamedTuple

import numpy as np


class Fusions(NamedTuple):
    """The order in which clusters are fused, down to a single one."""

    # first, second: What is fused: numbers below m are the clusters themselves, m + t is what fusion t has made; int64
    # of shape (m - 1,).
    first: np.ndarray
    second: np.ndarray
    # Mean closeness of the pairs of items that a fusion joins; it never rises from one fusion to the next; shape (m -
    # 1,).
    closeness: np.ndarray


def mean_closeness(sums, sizes):
    """Mean closeness of an item of cluster a and one of cluster b, shape (m, m)."""
    return sums / np.outer(sizes, sizes)


def fuse(sums, sizes):
    """Fuse, again and again, the two clusters whose items are closest on average. Shapes: ``sums`` (m, m), ``sizes``
    (m,).
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
    """Clusters after all fusions of a closeness above a threshold, or down to a number. The result has the label of the
    union of each cluster, in order of appearance.
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
