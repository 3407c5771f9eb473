"""Gibbs updates of the part of a cluster below a node of a guide tree, and cycles of all moves."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, log_predictive, refresh_cache
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import draw_categorical, sum_rows
from pymc_nrm.moves.gibbs import gibbs_sweep
from pymc_nrm.moves.guide_trees.guide_tree import draw_leaf
from pymc_nrm.moves.split_merge import cluster_weights, empty_tally, log_weight
from pymc_nrm.moves.tree_split_merge import tree_split_merge_moves
from pymc_nrm.partitions.clusters import close_slot, grow, open_slot


@kernel
def block_weight(weights, family, data, state, log_weights, slot, items, block, scratch):
    """Log of L(c + b) / L(c) for a block b and a cluster c that does not contain it and may be empty."""
    size, count = items.shape[0], state.counts[slot]
    if size == 1:
        return weights.join[count] + log_predictive(family, state.cache[slot], data, items[0])
    sum_rows(scratch, state.statistics[slot], block)
    return log_weight(weights, family, count + size, scratch) - log_weights[slot]


@kernel
def change_cluster(state, weights, family, data, log_weights, slot, items, block, sign):
    """Add a block to a cluster, or remove it; close the cluster if nothing is left."""
    state.counts[slot] += sign * items.shape[0]
    if state.counts[slot] == 0:
        close_slot(state, slot)
        log_weights[slot] = 0.0
        return
    if items.shape[0] == 1:
        update_cache(family, state.statistics[slot], state.cache[slot], data, items[0], float(sign))
    else:
        for k in range(block.shape[0]):
            state.statistics[slot, k] += sign * block[k]
        refresh_cache(family, state.statistics[slot], state.cache[slot])
    # The remaining items may be impossible without the block, which the greatest ratio then restores.
    log_weights[slot] = max(log_weight(weights, family, state.counts[slot], state.statistics[slot]), -1e300)


@kernel
def find_block(state, guide, node, anchor, marks, stamp):
    """Find the items below a node in the anchor's cluster; set ``marks`` to ``stamp`` at the slots of all others."""
    anchor_slot = state.labels[anchor]
    items = np.empty(guide.tree.size[node], dtype=np.int64)
    size = 0
    for p in range(guide.tree.first[node], guide.tree.first[node] + guide.tree.size[node]):
        item = guide.tree.order[p]
        slot = state.labels[item]
        if slot == anchor_slot:
            items[size] = item
            size += 1
        else:
            marks[slot] = stamp
    return items[:size]


@kernel
def redraw_block(rng, state, weights, family, data, log_weights, items, block, slots):
    """Draw a slot among ``slots`` for a block that is in no cluster, assign the block to it, and return the slot.

    An empty slot among them represents a new cluster.
    """
    scratch = np.empty(block.shape[0])
    values = np.empty(slots.shape[0])
    for k in range(slots.shape[0]):
        values[k] = block_weight(weights, family, data, state, log_weights, slots[k], items, block, scratch)
    chosen = slots[draw_categorical(rng, values)]
    if state.counts[chosen] == 0:
        open_slot(state)
    change_cluster(state, weights, family, data, log_weights, chosen, items, block, 1)
    for item in items:
        state.labels[item] = chosen
    return chosen


@kernel
def sum_block(family, data, items, block):
    """Write the statistics of a block, or zeros if it has one item, whose statistics nothing reads."""
    for k in range(block.shape[0]):
        block[k] = 0.0
    if items.shape[0] > 1:
        for item in items:
            add_item(family, block, data, item, 1.0)


@kernel
def subtree_gibbs(rng, state, weights, family, data, guide, n_moves):
    """Draw nodes uniformly, and redraw the cluster of a block below each.

    Each move draws a node v and a leaf i below it.  The block b consists of the items below v in the cluster of i.  It
    becomes a cluster by itself, or joins a cluster c of the other items that has no item below v, with probability
    proportional to L(b) or L(c + b) / L(c).  In each of these partitions the cluster of i has exactly the items of b
    below v.  Starting from any of them, b, the remaining clusters and the alternatives are therefore the same, and the
    move is a Gibbs update::

        item       1  2  3 | 4  5      i is 1 or 2, so b = {1, 2}
        cluster    A  A  B | A  C      b may join {4}, {5} or neither, but not {3}, which is below v
                   below v | outside

    The moves leave the target given u invariant.  They are irreducible by themselves, since nodes may be leaves, and a
    block may always become a cluster by itself. Returns the number of blocks that changed their cluster.
    """
    n_moved = 0
    block = np.empty(state.statistics.shape[1])
    marks, log_weights = np.empty(0, dtype=np.int64), np.empty(0)
    for move in range(n_moves):
        check_signals()
        state = grow(state, family)
        if marks.shape[0] < state.counts.shape[0]:
            marks = np.full(state.counts.shape[0], -1, dtype=np.int64)
            log_weights = cluster_weights(weights, family, state)
        node = int(rng.random() * guide.tree.size.shape[0])
        anchor = draw_leaf(rng, guide, node)
        old = state.labels[anchor]
        items = find_block(state, guide, node, anchor, marks, move)
        if state.counts[old] == items.shape[0]:
            # Removing the block frees its slot, which is then the slot of a new cluster: list it once.
            marks[old] = move
        slots = np.empty(state.size[0] + 1, dtype=np.int64)
        n_candidates = 0
        for slot in state.active[: state.size[0]]:
            if marks[slot] != move:
                slots[n_candidates] = slot
                n_candidates += 1
        sum_block(family, data, items, block)
        change_cluster(state, weights, family, data, log_weights, old, items, block, -1)
        slots[n_candidates] = state.active[state.size[0]]
        n_moved += old != redraw_block(
            rng, state, weights, family, data, log_weights, items, block, slots[: n_candidates + 1]
        )
    return state, n_moved


class MovesPerCycle(NamedTuple):
    """Number of moves of each kind in a cycle, in the order of the cycle; for ``marginal_gibbs``, number of items."""

    informed_split_merge: int
    tree_split_merge: int
    subtree_gibbs: int
    marginal_gibbs: int


class Cycles(NamedTuple):
    """Options of cycles: their guide tree, the numbers of moves of each kind, and a row of items for the Gibbs updates
    of each cycle.
    """

    guide: Any
    n_moves: Any
    items: Any


class CycleCounts(NamedTuple):
    """Numbers of blocks and of items that changed their cluster in Gibbs moves, and the fields of a tally."""

    n_blocks_moved: Any
    n_moved: Any
    proposed: Any
    accepted: Any
    log_ratio: Any
    n_ratios: Any


@shared_kernel
def tree_guided_cycles(rng, state, weights, family, data, cycles):
    """Make cycles of moves of each kind along the guide tree and of Gibbs updates of items; return state and counts.

    All cycles are one kernel, since each call from Python costs some ten microseconds.  It leaves the target given u
    invariant, and is irreducible if it includes Gibbs moves of any kind.
    """
    guide, n_moves, tally = cycles.guide, cycles.n_moves, empty_tally()
    n, m = n_moves.informed_split_merge, n_moves.tree_split_merge
    n_blocks = n_items = 0
    for k in range(cycles.items.shape[0]):
        state = tree_split_merge_moves(rng, state, weights, family, data, guide, n, True, tally)
        state = tree_split_merge_moves(rng, state, weights, family, data, guide, m, False, tally)
        state, n_moved = subtree_gibbs(rng, state, weights, family, data, guide, n_moves.subtree_gibbs)
        n_blocks += n_moved
        state, n_moved = gibbs_sweep(rng, state, weights, family, data, cycles.items[k])
        n_items += n_moved
    return state, CycleCounts(n_blocks, n_items, tally.proposed, tally.accepted, tally.log_ratio, tally.n_ratios)
