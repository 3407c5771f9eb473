"""Contingency tables of pairs of partitions, and labels in the form that compiled loops read."""

import numpy as np
import scipy

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.stats.draws import relabel_rows


def as_labels(name, labels):
    """Labels (n,) or (S, n) of partitions, renamed in order of appearance; returns (1, n) or (S, n)."""
    array = numeric_array(name, labels)
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise ValueError(f"{name} must have shape (n,) or (S, n) with n > 0; got shape {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must hold integers; got {array.dtype}")
    rows = np.atleast_2d(array)
    if len(rows) == 0:
        return np.zeros(rows.shape, dtype=np.int32)
    least, largest = int(rows.min()), int(rows.max())
    if largest - least > 10 * rows.shape[1] + 1000:
        values, rows = np.unique(rows, return_inverse=True)
        least, largest = 0, len(values) - 1
    rows = np.ascontiguousarray(rows.reshape(-1, array.shape[-1]), dtype=np.int64) - least
    return relabel_rows(rows, largest - least + 1).astype(np.int32)


def counts_by_row(labels, n_labels):
    """How often each label is in each row. Shapes: ``labels`` (S, n); returns (S, n_labels)."""
    flat = (labels + n_labels * np.arange(len(labels))[:, None]).ravel()
    return np.bincount(flat, minlength=len(labels) * n_labels).reshape(len(labels), n_labels)


def contingency_table(a, b, n_a=None, n_b=None):
    """How many items have each pair of labels of two partitions, shape (n_a, n_b); by default all labels that occur."""
    n_a, n_b = (int(labels.max()) + 1 if n is None else n for labels, n in ((a, n_a), (b, n_b)))
    return np.bincount(a * n_b + b, minlength=n_a * n_b).reshape(n_a, n_b)


def match_clusters(table):
    """The cluster to which each cluster is matched, one to one, or -1, so that matched pairs share most items.

    Shapes: ``table`` (n_a, n_b), as in :func:`contingency_table`; returns (n_a,).
    """
    rows, columns = scipy.optimize.linear_sum_assignment(-table)
    match = np.full(len(table), -1)
    overlapping = table[rows, columns] > 0
    match[rows[overlapping]] = columns[overlapping]
    return match


def cluster_sizes(labels):
    """Sizes (S, K) of the clusters of partitions (S, n), largest first, zeros last."""
    n_rows, n = labels.shape
    n_labels = int(labels.max()) + 1 if labels.size else 0
    sizes = np.empty((n_rows, n_labels), dtype=np.int64)
    step = max(1, 2**22 // max(n, 1))
    for start in range(0, n_rows, step):
        counts = counts_by_row(labels[start : start + step], n_labels)
        sizes[start : start + step] = -np.sort(-counts, axis=1)
    return sizes


def entropy_table(n, base=2):
    """Table of x log x for x = 0, ..., n."""
    counts = np.arange(n + 1, dtype="float64")
    counts[1:] *= np.log(counts[1:]) / np.log(base)
    return counts


def pair_table(n):
    """Table of x (x - 1) / 2 for x = 0, ..., n."""
    counts = np.arange(n + 1, dtype="float64")
    return counts * (counts - 1) / 2


@kernel
def order_by_cluster(labels, order, start):
    """Sort items by cluster: the items of cluster k become ``order[start[k] : start[k + 1]]``."""
    n_clusters = start.shape[0] - 1
    start[:] = 0
    for i in range(labels.shape[0]):
        start[labels[i] + 1] += 1
    for k in range(n_clusters):
        start[k + 1] += start[k]
    for i in range(labels.shape[0]):
        order[start[labels[i]]] = i
        start[labels[i]] += 1
    for k in range(n_clusters, 0, -1):
        start[k] = start[k - 1]
    start[0] = 0


@kernel
def cell_sums(a, b, table):
    """Sums of ``table[count]`` over the cells of contingency tables, and over their margins.

    This takes O(n) time per pair: if there are many cells, one cluster of ``a`` is counted at a time. Returns sums over
    cells, over clusters of ``a`` and over clusters of ``b``. Shapes: ``a`` (S, n) or (1, n), ``b`` (S, n) or (1, n),
    ``table`` (n + 1,); returns (S, 3).
    """
    n = a.shape[1]
    sums = np.zeros((max(a.shape[0], b.shape[0]), 3))
    order = np.empty(n, dtype=np.int64)
    start = np.zeros(1, dtype=np.int64)
    most = b.max() + 1 if b.size else 0
    margin = np.zeros(most, dtype=np.int64)
    cells = np.zeros(4 * n + most, dtype=np.int64)
    over_a = 0.0
    for s in range(sums.shape[0]):
        check_signals()
        x = a[s if a.shape[0] > 1 else 0]
        y = b[s if b.shape[0] > 1 else 0]
        if s == 0 or a.shape[0] > 1:
            start = np.empty(x.max() + 2, dtype=np.int64)
            order_by_cluster(x, order, start)
            over_a = 0.0
            for k in range(start.shape[0] - 1):
                over_a += table[start[k + 1] - start[k]]
        n_x, n_y = start.shape[0] - 1, y.max() + 1
        joint = 0.0
        if n_x * n_y <= 4 * n:
            for i in range(n):
                cells[x[i] * n_y + y[i]] += 1
            for cell in range(n_x * n_y):
                joint += table[cells[cell]]
                cells[cell] = 0
        else:
            for k in range(n_x):
                for q in range(start[k], start[k + 1]):
                    cells[y[order[q]]] += 1
                for q in range(start[k], start[k + 1]):
                    joint += table[cells[y[order[q]]]]
                    cells[y[order[q]]] = 0
        over_b = 0.0
        for i in range(n):
            margin[y[i]] += 1
        for k in range(n_y):
            over_b += table[margin[k]]
            margin[k] = 0
        sums[s, 0], sums[s, 1], sums[s, 2] = joint, over_a, over_b
    return sums
