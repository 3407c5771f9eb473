"""Gibbs updates of single nodes from the sums of blocks."""

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.moves.gibbs import draw_column
from pymc_nrm.networks.families.networked import pairs_of
from pymc_nrm.networks.moves.block_state import grow_blocks, new_marginals, new_rows, put_in, take_out, weigh_blocks
from pymc_nrm.partitions.clusters import open_slot


@shared_kernel
def block_gibbs(rng, state, weights, family, data, items):
    """Redraw the cluster of each node of ``items``, in their order; nodes with label -1 have no cluster yet.

    It leaves the target given u invariant for any fixed ``items``, and hence for random ones drawn independently of the
    partition.  It is irreducible if ``items`` are all nodes.  A node costs O(K^2) log marginals for K clusters, and the
    number of its neighbours.  Returns the number of nodes that changed their cluster.
    """
    n_done, n_moved = 0, 0
    while n_done < items.shape[0]:
        state = grow_blocks(state, family)
        n_done, moved = _update_while_room(rng, state, weights.join, family, data, items, n_done)
        n_moved += moved
    return state, n_moved


@kernel(inner_loop=True)
def _update_while_room(rng, state, join, family, data, items, start):
    """Update ``items[start:]`` until one empty slot is left; return the next index and the number of moved nodes."""
    clusters, loops = state.clusters, pairs_of(data).loops
    capacity, active, size = clusters.counts.shape[0], clusters.active, clusters.size
    rows, joined = new_rows(state, family), new_marginals(capacity, state, family)
    values = np.empty(whole_lanes(capacity))
    n_moved = 0
    for index in range(start, items.shape[0]):
        check_signals()
        if size[0] + 2 > capacity:
            return index, n_moved
        node = items[index]
        old = take_out(state, family, data, node, rows)
        n_columns = size[0] + 1
        for column in range(n_columns):
            slot = active[column]
            value = join[clusters.counts[slot]] + log_predictive(family, clusters.cache[slot], data, node)
            if value > -np.inf:
                value += weigh_blocks(
                    state, family, loops[node], slot, rows, joined.undirected[slot], joined.out[slot], joined.into[slot]
                )
            values[column] = value
        # A cluster that closed is the first empty slot.
        chosen = draw_column(rng, values, n_columns, size[0] if old < 0 else clusters.position[old])
        if chosen == size[0]:
            open_slot(clusters)
        slot = active[chosen]
        put_in(state, family, data, node, slot, rows, joined.undirected[slot], joined.out[slot], joined.into[slot])
        n_moved += slot != old
    return items.shape[0], n_moved
