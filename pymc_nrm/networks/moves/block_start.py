"""Initial clusters of nodes: the best of some chains of Gibbs updates that put them into clusters one by one."""

import numpy as np

from pymc_nrm.moves.gibbs import scan_order
from pymc_nrm.networks.moves.block_gibbs import block_gibbs
from pymc_nrm.networks.moves.block_split_merge import block_split_merge
from pymc_nrm.networks.moves.block_state import build_blocks, log_block_target
from pymc_nrm.partitions.labels import canonical_labels

# Chains, sweeps of each, and split-merge moves after each sweep; with more nodes than these, one chain.
_CHAINS, _SWEEPS, _MOVES, _FEW_NODES = 3, 3, 5, 2000


def block_start(rng, weights, family, data, first=()):
    """Labels of all nodes; the nodes ``first`` are put into clusters before the others."""
    n, best, start = len(weights.moment) - 1, -np.inf, None
    for _ in range(_CHAINS if n <= _FEW_NODES else 1):
        order = scan_order(rng, n, n)
        if len(first):
            order = np.concatenate([first, order[~np.isin(order, first)]])
        state = build_blocks(np.empty(0, dtype=np.int64), family, data)
        state = state._replace(clusters=state.clusters._replace(labels=np.full(n, -1)))
        state, _ = block_gibbs(rng, state, weights, family, data, order)
        for _ in range(_SWEEPS):
            if n > 1:
                state, _ = block_split_merge(rng, state, weights, family, data, _MOVES)
            state, _ = block_gibbs(rng, state, weights, family, data, scan_order(rng, n, n))
        value = log_block_target(state, weights, family, data)
        if start is None or value > best:
            best, start = value, canonical_labels(state.labels)
    return start
