"""Initial clusters of nodes: the best of some chains of Gibbs updates and of splits and merges.

Some chains put nodes into clusters one by one, one begins with the best cut of the guide tree.
"""

import numpy as np

from pymc_nrm.moves.gibbs import scan_order
from pymc_nrm.networks.moves.block_gibbs import block_gibbs
from pymc_nrm.networks.moves.block_split_merge import SplitMergesOfBlocks, block_split_merge
from pymc_nrm.networks.moves.block_state import build_blocks, log_block_target
from pymc_nrm.partitions.labels import canonical_labels

# Chains that put nodes into clusters one by one, sweeps of each, and split-merge moves after each sweep.
_CHAINS, _SWEEPS, _MOVES = 2, 3, 20
# With more nodes than these, only the chain that begins with the tree.
_FEW_NODES = 2000


def block_start(rng, weights, family, data, guide, cut, first=()):
    """Labels of all nodes, given labels of a cut; the nodes ``first`` are put into clusters before the others."""
    n, best, start = len(weights.moment) - 1, -np.inf, None
    # Nodes of different known labels may share a cluster of the cut.
    starts = [None] * _CHAINS if n <= _FEW_NODES or len(first) else []
    starts += [] if len(first) else [cut]
    for labels in starts:
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
                moves = SplitMergesOfBlocks(guide, 0, _MOVES)
                state, _ = block_split_merge(rng, state, weights, family, data, moves)
            state, _ = block_gibbs(rng, state, weights, family, data, scan_order(rng, n, n))
        value = log_block_target(state, weights, family, data)
        if start is None or value > best:
            best, start = value, canonical_labels(state.labels)
    return start
