"""Split-merge moves of clusters of nodes, by sequential allocation of units of nodes about two anchors.

The nodes of the two clusters that are not placed yet are left out of the network, while the others are placed unit by
unit in random order: a unit has the weights of its pairs with all other clusters and with what is placed of the two.  A
merge keeps each unit on its present side, and computes the probability q that a split makes these sides.  Both
directions leave the same nodes out, so that q is exact for every order.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import refresh_cache, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import copy_row, sum_rows
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.moves.guide_trees.guide_tree import draw_internal_node, draw_leaf, draw_level
from pymc_nrm.moves.split_merge import accept, choose_side, draw_pair, empty_tally, log_weight
from pymc_nrm.networks.families.networked import network_of
from pymc_nrm.networks.moves.block_state import clear_tables, forget_one_more, grow_blocks, new_marginals, refresh_block
from pymc_nrm.networks.moves.node_units import new_unit, put_unit_in, sum_unit, weigh_unit
from pymc_nrm.partitions.clusters import close_slot, open_slot


class SplitMergesOfBlocks(NamedTuple):
    """Options of the kernel: a guide tree, and numbers of moves with random anchors and along the tree."""

    guide: Any
    n_random: int
    n_along_tree: int


@kernel(inner_loop=True)
def log_merge_ratio(state, weights, family, slot, other):
    """Log ratio of the target with two clusters joined to the present target."""
    network, clusters, sums = network_of(family), state.clusters, state.sums
    n = statistics_size(network.undirected)
    first, second, joined = np.empty(n), np.empty(sums.shape[2] - n), np.empty(clusters.statistics.shape[1])
    sum_rows(joined, clusters.statistics[slot], clusters.statistics[other])
    total = log_weight(weights, family, clusters.counts[slot] + clusters.counts[other], joined)
    for cluster in (slot, other):
        total -= log_weight(weights, family, clusters.counts[cluster], clusters.statistics[cluster])
    for k in range(clusters.size[0]):
        third = clusters.active[k]
        if third in (slot, other):
            continue
        if n > 0:
            sum_rows(first, sums[slot, third, :n], sums[other, third, :n])
            total += log_marginal(network.undirected, first)
            total -= state.undirected[slot, third] + state.undirected[other, third]
        if second.shape[0] > 0:
            sum_rows(second, sums[slot, third, n:], sums[other, third, n:])
            total += log_marginal(network.directed, second)
            sum_rows(second, sums[third, slot, n:], sums[third, other, n:])
            total += log_marginal(network.directed, second)
            total -= state.directed[slot, third] + state.directed[other, third]
            total -= state.directed[third, slot] + state.directed[third, other]
    # Pairs within and between both.
    if n > 0:
        sum_rows(first, sums[slot, slot, :n], sums[other, other, :n])
        sum_rows(first, first, sums[slot, other, :n])
        total += log_marginal(network.undirected, first)
        total -= state.undirected[slot, slot] + state.undirected[other, other] + state.undirected[slot, other]
    if second.shape[0] > 0:
        sum_rows(second, sums[slot, slot, n:], sums[other, other, n:])
        sum_rows(second, second, sums[slot, other, n:])
        sum_rows(second, second, sums[other, slot, n:])
        total += log_marginal(network.directed, second)
        total -= state.directed[slot, slot] + state.directed[other, other]
        total -= state.directed[slot, other] + state.directed[other, slot]
    return total


@kernel
def merge_clusters(state, family, slot, other):
    """Move all nodes of the cluster ``other`` to the cluster in ``slot``."""
    clusters, sums = state.clusters, state.sums
    n_undirected = statistics_size(network_of(family).undirected)
    for node in range(clusters.labels.shape[0]):
        if clusters.labels[node] == other:
            clusters.labels[node] = slot
    for p in range(sums.shape[2]):
        sums[slot, slot, p] += sums[other, other, p] + sums[slot, other, p]
        if p >= n_undirected:
            sums[slot, slot, p] += sums[other, slot, p]
    for k in range(clusters.size[0]):
        third = clusters.active[k]
        if third != slot and third != other:
            for p in range(sums.shape[2]):
                sums[slot, third, p] += sums[other, third, p]
                sums[third, slot, p] += sums[third, other, p]
    sizes = state.sizes[slot] + state.sizes[other]
    forget_one_more(state, slot)
    sum_rows(clusters.statistics[slot], clusters.statistics[slot], clusters.statistics[other])
    clusters.counts[slot] += clusters.counts[other]
    refresh_cache(family, clusters.statistics[slot], clusters.cache[slot])
    clear_tables(state, other)
    close_slot(clusters, other)
    state.sizes[slot] = sizes
    for k in range(clusters.size[0]):
        third = clusters.active[k]
        refresh_block(state, family, slot, third)
        if third != slot:
            refresh_block(state, family, third, slot)


class Allocation(NamedTuple):
    """Nodes of one or two clusters, except two anchors, in units: their parts in the blocks of a level."""

    # Nodes of all units, one unit after the other, and where each begins; int64 of shapes (n,) and (n_units + 1,).
    nodes: Any
    start: Any
    # 0 or 1 if a unit shares its block with the first or second anchor, else -1; int64 of shape (n_units,).
    glued: Any
    # Side that a unit must take, -1 if it is drawn; int64 of shape (n_units,).
    goals: Any


@kernel
def make_allocation(labels, guide, level, first, second):
    """Units of the clusters of two anchors, with present sides as goals if they are two.

    Returns also whether a split could produce these sides: no unit has nodes of both clusters, nor shares its block
    with the anchor of the other side.
    """
    order, block = guide.tree.order, guide.block[level]
    n, slot, other = labels.shape[0], labels[first], labels[second]
    with_anchors = block[guide.position[first]], block[guide.position[second]]
    nodes, start = np.empty(n, np.int64), np.empty(n, np.int64)
    glued, goals = np.empty(n, np.int64), np.empty(n, np.int64)
    count, n_units, last, possible = 0, 0, -1, True
    for p in range(n):
        node = order[p]
        if labels[node] not in (slot, other) or node in (first, second):
            continue
        goal = -1 if slot == other else int(labels[node] == other)
        if block[p] != last:
            last, start[n_units], goals[n_units] = block[p], count, goal
            glued[n_units] = 0 if last == with_anchors[0] else (1 if last == with_anchors[1] else -1)
            n_units += 1
        nodes[count] = node
        count += 1
        unit = n_units - 1
        possible &= goal < 0 or (goal == goals[unit] and (glued[unit] < 0 or goal == glued[unit]))
    ends = np.append(start[:n_units], count)
    return Allocation(nodes[:count], ends, glued[:n_units], goals[:n_units]), possible


@kernel
def empty_cluster(state, slot):
    """Take all nodes out of a slot that stays open, but for their labels."""
    clusters = state.clusters
    pristine = clusters.active[clusters.size[0]]
    clear_tables(state, slot)
    clusters.counts[slot] = 0
    copy_row(clusters.statistics[slot], clusters.statistics[pristine])
    copy_row(clusters.cache[slot], clusters.cache[pristine])


@kernel
def allocate_units(rng, state, weights, family, data, anchors, slots, allocation):
    """Put anchors into their slots and units into either, one by one; return the log probability of the result.

    Units that share a block with an anchor follow the anchors.  Shapes: ``anchors``, ``slots`` (2,).
    """
    unit, marginals = new_unit(state, family), new_marginals(2, state, family)
    n_units, log_q, values = allocation.glued.shape[0], 0.0, np.empty(2)
    order = random_items(rng, n_units, n_units)
    for stage in range(3):
        for k in range(2 if stage == 0 else n_units):
            check_signals()
            nodes, fixed, goal = anchors[k : k + 1], k, -1
            if stage > 0:
                index = order[k]
                nodes = allocation.nodes[allocation.start[index] : allocation.start[index + 1]]
                fixed, goal = allocation.glued[index], allocation.goals[index]
                if (fixed >= 0) != (stage == 1):
                    continue
            sum_unit(state, family, data, nodes, unit)
            for side in range(2):
                if fixed < 0 or fixed == side:
                    values[side] = weigh_unit(
                        *(state, weights, family, data, nodes, unit, slots[side]),
                        *(marginals.undirected[side], marginals.out[side], marginals.into[side]),
                    )
            side = fixed
            if fixed < 0:
                side, log_probability = choose_side(rng, values[1] - values[0], goal)
                log_q += log_probability
            put_unit_in(
                *(state, family, data, nodes, unit, slots[side]),
                *(marginals.undirected[side], marginals.out[side], marginals.into[side]),
            )
    return log_q


@kernel
def split_merge_of_blocks(rng, state, weights, family, data, guide, level, first, second, tally):
    """Make one split-merge move about two anchors, by Metropolis-Hastings; return the state.

    The probability of drawing anchors and level depends on the tree alone.  The ratio of a split of A into a and b is
    the target ratio divided by q.  With anchors drawn uniformly and level 0, of single nodes, the moves are irreducible
    by themselves.
    """
    state = grow_blocks(state, family)
    clusters = state.clusters
    labels, anchors, slots = clusters.labels, np.empty(2, np.int64), np.empty(2, np.int64)
    anchors[0], anchors[1], slots[0], slots[1] = first, second, labels[first], labels[second]
    merging, log_ratio = slots[0] != slots[1], 0.0
    if merging:
        # Since q is at most 1, many merges are rejected whatever the allocation would find.
        log_ratio = log_merge_ratio(state, weights, family, slots[0], slots[1])
        if math.log(rng.random()) >= log_ratio:
            accept(rng, tally, True, math.nan)
            return state
    log_bound = log_ratio
    allocation, possible = make_allocation(labels, guide, level, first, second)
    if not possible:
        accept(rng, tally, True, math.nan)
        return state
    for node in allocation.nodes:
        labels[node] = -1
    labels[first] = labels[second] = -1
    if not merging:
        slots[1] = open_slot(clusters)
    empty_cluster(state, slots[0])
    empty_cluster(state, slots[1])
    log_q = allocate_units(rng, state, weights, family, data, anchors, slots, allocation)
    if not merging:
        log_ratio = log_merge_ratio(state, weights, family, slots[0], slots[1])
    accepted = accept(rng, tally, merging, log_ratio + log_q if merging else -log_ratio - log_q, log_bound)
    if accepted == merging:
        merge_clusters(state, family, slots[0], slots[1])
    return state


@shared_kernel
def block_split_merge(rng, state, weights, family, data, moves):
    """Make split-merge moves; return the state and a :class:`~pymc_nrm.moves.split_merge.Tally`.

    First come moves of single nodes about uniformly drawn anchors, then moves along the guide tree: they draw anchors
    below the two children of a node of the tree, and a level whose blocks separate them.  They leave the target given u
    invariant.
    """
    guide, tally, n = moves.guide, empty_tally(), state.clusters.labels.shape[0]
    for k in range(moves.n_random + moves.n_along_tree):
        check_signals()
        level = 0
        if k < moves.n_random:
            first, second = draw_pair(rng, n)
        else:
            node = draw_internal_node(rng, guide)
            first, second = draw_leaf(rng, guide, guide.tree.left[node]), draw_leaf(rng, guide, guide.tree.right[node])
            level = draw_level(rng, guide, node)
        state = split_merge_of_blocks(rng, state, weights, family, data, guide, level, first, second, tally)
    return state, tally
