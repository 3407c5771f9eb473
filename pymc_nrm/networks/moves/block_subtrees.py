"""Gibbs updates of the part of a cluster of nodes below a node of a guide tree."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import draw_categorical
from pymc_nrm.moves.guide_trees.guide_tree import draw_leaf
from pymc_nrm.moves.tree_guided import find_block
from pymc_nrm.networks.moves.block_state import grow_blocks, new_marginals
from pymc_nrm.networks.moves.node_units import new_unit, put_unit_in, take_unit_out, weigh_unit
from pymc_nrm.partitions.clusters import open_slot


class SubtreeUpdates(NamedTuple):
    """Options of the kernel: a guide tree, and the number of updates."""

    guide: Any
    n_moves: int


class SubtreeCounts(NamedTuple):
    """Number of units that changed their cluster."""

    n_blocks_moved: Any


@shared_kernel
def block_subtree_gibbs(rng, state, weights, family, data, updates):
    """Draw nodes of the guide tree uniformly, and redraw the cluster of a unit below each.

    The unit consists of the items below a node of the tree in the cluster of a random one of them.  It becomes a
    cluster by itself, or joins a cluster that has no item below the node, in proportion to the target, so that these
    partitions are the same from each of them: :func:`~pymc_nrm.moves.tree_guided.subtree_gibbs`.  The updates leave the
    target given u invariant, and are irreducible by themselves.
    """
    guide, n_moved = updates.guide, 0
    for _ in range(updates.n_moves):
        check_signals()
        state = grow_blocks(state, family)
        state, moved = _update_unit(rng, state, weights, family, data, guide)
        n_moved += moved
    return state, SubtreeCounts(n_moved)


@kernel
def _update_unit(rng, state, weights, family, data, guide):
    """Redraw the cluster of one unit; return the state and whether it moved."""
    clusters, capacity = state.clusters, state.clusters.counts.shape[0]
    node = int(rng.random() * guide.tree.size.shape[0])
    anchor = draw_leaf(rng, guide, node)
    marks = np.zeros(capacity, dtype=np.int64)
    nodes = find_block(clusters, guide, node, anchor, marks, 1)
    unit, joined = new_unit(state, family), new_marginals(capacity, state, family)
    old = take_unit_out(state, family, data, nodes, unit)
    slots, values, n_candidates = np.empty(capacity, dtype=np.int64), np.empty(capacity), 0
    for k in range(clusters.size[0] + 1):
        slot = clusters.active[k]
        # The slot behind the last cluster stands for a new one.
        if k == clusters.size[0] or marks[slot] == 0:
            slots[n_candidates] = slot
            values[n_candidates] = weigh_unit(
                *(state, weights, family, data, nodes, unit, slot),
                *(joined.undirected[slot], joined.out[slot], joined.into[slot]),
            )
            n_candidates += 1
    chosen = slots[draw_categorical(rng, values[:n_candidates])]
    if clusters.counts[chosen] == 0:
        open_slot(clusters)
    put_unit_in(
        state, family, data, nodes, unit, chosen, joined.undirected[chosen], joined.out[chosen], joined.into[chosen]
    )
    return state, chosen != old
