"""Initial clusters of nodes: the best of some chains of Gibbs updates and of splits and merges.

Some chains put nodes into clusters one by one, one begins with clusters of the leading eigenvectors of the matrix of
pairs, of which there are more than blocks may need: merges are easier than splits.
"""

import numpy as np
import scipy.sparse
from scipy.cluster.vq import kmeans2
from scipy.sparse.linalg import ArpackError, eigsh

from pymc_nrm.moves.gibbs import scan_order
from pymc_nrm.networks.families.networked import pairs_of
from pymc_nrm.networks.moves.block_gibbs import block_gibbs
from pymc_nrm.networks.moves.block_split_merge import block_split_merge
from pymc_nrm.networks.moves.block_state import build_blocks, log_block_target
from pymc_nrm.partitions.labels import canonical_labels

# Chains that put nodes into clusters one by one, sweeps of each, and split-merge moves after each sweep.
_CHAINS, _SWEEPS, _MOVES = 2, 3, 20
# With more nodes than these, only the chain that begins with eigenvectors; with fewer than the second, none.
_FEW_NODES, _FEWEST = 2000, 20
# Numbers of eigenvectors and of their clusters.
_VECTORS, _CLUSTERS = 16, 20


def block_start(rng, weights, family, data, first=()):
    """Labels of all nodes; the nodes ``first`` are put into clusters before the others."""
    n, best, start = len(weights.moment) - 1, -np.inf, None
    spectral = None if len(first) or n < _FEWEST else spectral_labels(rng, pairs_of(data))
    n_chains = _CHAINS if n <= _FEW_NODES or spectral is None else 0
    for labels in [*[None] * n_chains, *([] if spectral is None else [spectral])]:
        if labels is None:
            order = scan_order(rng, n, n)
            if len(first):
                order = np.concatenate([first, order[~np.isin(order, first)]])
            state = build_blocks(np.empty(0, dtype=np.int64), family, data)
            state = state._replace(clusters=state.clusters._replace(labels=np.full(n, -1)))
            state, _ = block_gibbs(rng, state, weights, family, data, order)
        else:
            state = build_blocks(labels, family, data)
        for _ in range(_SWEEPS):
            if n > 1:
                state, _ = block_split_merge(rng, state, weights, family, data, _MOVES)
            state, _ = block_gibbs(rng, state, weights, family, data, scan_order(rng, n, n))
        value = log_block_target(state, weights, family, data)
        if start is None or value > best:
            best, start = value, canonical_labels(state.labels)
    return start


def spectral_labels(rng, pairs):
    """Clusters of nodes by the leading eigenvectors of the first statistic of pairs; None if they are not found."""
    n = len(pairs.sizes)
    if not len(pairs.other):
        return None
    matrix = scipy.sparse.csr_array((pairs.rows[pairs.out, 0], pairs.other, pairs.start), shape=(n, n))
    degrees = np.maximum(np.abs(matrix).sum(axis=1), 1e-300) + np.abs(matrix).sum() / n
    scale = scipy.sparse.diags_array(1.0 / np.sqrt(degrees))
    try:
        values, vectors = eigsh(scale @ (matrix + matrix.T) @ scale, min(_VECTORS, n - 2), v0=np.ones(n), which="LM")
    except ArpackError:
        return None
    # Rounding must not decide which starts are drawn.
    points = np.round(vectors * np.abs(values), 9)
    centers = points[rng.choice(n, min(_CLUSTERS, n // 4), replace=False)]
    _, labels = kmeans2(points, centers, iter=30, minit="matrix", missing="warn")
    return canonical_labels(labels.astype(np.int64))
