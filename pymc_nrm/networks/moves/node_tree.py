"""Guide trees of nodes: cells of near nodes by eigenvectors, which merge greedily by the log joint density.

They follow from the data, pilot hyperparameters and a random generator, and never from the partition.
"""

import warnings

import numpy as np
import scipy.sparse
from scipy.cluster.vq import kmeans2
from scipy.sparse.linalg import ArpackError, svds

from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals
from pymc_nrm.moves.guide_trees.guide_tree import join_groups_of_items
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.networks.families.networked import pairs_of
from pymc_nrm.networks.moves.block_split_merge import log_merge_ratio, merge_clusters
from pymc_nrm.networks.moves.block_state import build_blocks
from pymc_nrm.partitions.labels import canonical_labels

# Number of cells at most, and nodes of each on average at least.
_MOST_CELLS, _NODES_OF_CELL = 64, 4
# Numbers of leading eigenvectors; of networks with fewer nodes all are computed.
_VECTORS, _FEW_NODES = 16, 200


def node_tree(rng, weights, family, data):
    """Guide tree of nodes, and the labels of its best cut."""
    n, pairs = len(weights.moment) - 1, pairs_of(data)
    if n < len(pairs.sizes):
        # The step compiles on two nodes.
        return build_tree(np.array([[0, 1]])), np.zeros(n, dtype=np.int64)
    cells = node_cells(rng, pairs)
    state = build_blocks(cells, family, data)
    merges, log_ratios, labels = greedy_merges(state, weights, family, data)
    order, starts = np.argsort(cells, kind="stable"), np.append(0, np.cumsum(np.bincount(cells)))
    below, tops = join_groups_of_items(order, starts)
    # Cells are their tops; nodes that join cells come after all nodes within cells.
    names = np.append(tops, n + len(below) + np.arange(len(merges)))
    log_d = np.append(np.full(len(below), -np.inf), -log_ratios)
    return build_tree(np.concatenate([below, names[merges]]), log_d), canonical_labels(labels)


@shared_kernel
def greedy_merges(state, weights, family, data):
    """Merge clusters, each time the pair with the greatest target; ``data`` is not used.

    Returns merges (K - 1, 2), numbered from K after the clusters, their log ratios of the target, and the labels with
    the greatest target.
    """
    clusters = state.clusters
    n_clusters = clusters.size[0]
    names = np.arange(clusters.counts.shape[0])
    merges, log_ratios = np.empty((n_clusters - 1, 2), dtype=np.int64), np.empty(n_clusters - 1)
    labels, total, greatest = clusters.labels.copy(), 0.0, 0.0
    for step in range(n_clusters - 1):
        first, second, best = clusters.active[0], clusters.active[1], -np.inf
        for k in range(clusters.size[0]):
            check_signals()
            for m in range(k):
                ratio = log_merge_ratio(state, weights, family, clusters.active[m], clusters.active[k])
                if ratio > best:
                    first, second, best = clusters.active[m], clusters.active[k], ratio
        merge_clusters(state, family, first, second)
        merges[step, 0], merges[step, 1], log_ratios[step] = names[first], names[second], best
        names[first] = n_clusters + step
        total += best
        if total > greatest:
            labels, greatest = clusters.labels.copy(), total
    return merges, log_ratios, labels


def node_cells(rng, pairs):
    """Cells of near nodes, canonical labels (n,), all of the same size where pairs tell nothing."""
    n = len(pairs.sizes)
    n_cells, points = max(1, min(_MOST_CELLS, n // _NODES_OF_CELL)), spectral_points(pairs)
    if points is None or n_cells == 1:
        return canonical_labels(rng.permutation(n) % n_cells)
    centers = points[rng.choice(n, n_cells, replace=False)]
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        # A cell without nodes is none.
        _, labels = kmeans2(points, centers, iter=10, minit="matrix", missing="warn")
    return canonical_labels(labels.astype(np.int64))


def spectral_points(pairs):
    """Coordinates of nodes by the leading singular vectors of the matrix of pairs; None if there are none."""
    n, n_entries = len(pairs.sizes), len(pairs.other)
    if n < 4 or not n_entries:
        return None
    values = _informative_values(pairs.rows[pairs.out], n_entries == n * (n - 1))
    matrix = scipy.sparse.csr_array((values, pairs.other, pairs.start), shape=(n, n))
    total = np.abs(matrix).sum()
    if not total > 0.0:
        return None
    # Degrees of both directions, with the mean degree added: nodes of few ties come near 0.
    out, into = (1.0 / np.sqrt(np.abs(matrix).sum(axis=axis) + total / n) for axis in (1, 0))
    matrix = scipy.sparse.diags_array(out) @ matrix @ scipy.sparse.diags_array(into)
    n_vectors = min(_VECTORS, n - 2)
    if n <= _FEW_NODES:
        left, sizes, right = np.linalg.svd(matrix.toarray())
        left, sizes, right = left[:, :n_vectors], sizes[:n_vectors], right[:n_vectors]
    else:
        try:
            left, sizes, right = svds(matrix, n_vectors, v0=np.ones(n))
        except ArpackError:
            return None
    points = [left * sizes]
    if pairs.n_undirected == 0:
        points.append(right.T * sizes)
    # Rounding must not decide which cells are drawn.
    return np.round(np.concatenate(points, axis=1), 9)


def _informative_values(rows, is_complete):
    """The first statistic of entries that differs between pairs, and from the pairs that have no entry."""
    for column in rows.T:
        values = column - column.mean() if is_complete else column
        if np.abs(values).max() > 1e-9 * np.abs(column).max():
            return values
    return np.zeros(len(rows))
