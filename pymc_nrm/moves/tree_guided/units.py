"""Units that split-merge moves allocate as a whole: the parts of two clusters in each block of a guide tree."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import copy_row


class Traces(NamedTuple):
    """Where the clusters of a state lie in a guide tree."""

    # Places of items in leaf order, grouped by slot and increasing within each slot; int64 of shape (n,).
    places: Any
    # Index in `places` at which each occupied slot begins; int64 of shape (capacity,).
    begin: Any
    # For each place in leaf order, the end of the run of equal slots around it.  The leaves of node v are in one
    # cluster if and only if `run_end[first[v]] >= first[v] + size[v]`. Int64 of shape (n,).
    run_end: Any


@kernel
def find_traces(state, guide):
    """Find the traces of a state in time O(n); they are valid until a label changes."""
    order, labels = guide.tree.order, state.labels
    n = order.shape[0]
    places, run_end = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    begin = np.zeros(state.counts.shape[0], dtype=np.int64)
    total = 0
    for k in range(state.size[0]):
        slot = state.active[k]
        begin[slot] = total
        total += state.counts[slot]
    filled = begin.copy()
    start = 0
    for p in range(n):
        slot = labels[order[p]]
        places[filled[slot]] = p
        filled[slot] += 1
        if slot != labels[order[start]]:
            run_end[start:p] = p
            start = p
    run_end[start:] = n
    return Traces(places, begin, run_end)


@kernel
def item_of(guide, traces, slot, rank):
    """Return the item of the given rank, from 0 to count - 1, in a cluster."""
    return guide.tree.order[traces.places[traces.begin[slot] + rank]]


class Units(NamedTuple):
    """The items of one or two clusters, except two anchors, cut into units by the blocks of a level."""

    # The block, if the unit is a whole block, or all of it except an anchor; else -1; int64 of shape (n_units,).
    node: Any
    # Items of the other units, one unit after the other.
    items: Any
    # Index at which the items of each unit begin in `items`; int64 of shape (n_units + 1,).
    start: Any
    # 0 or 1 if the unit shares its block with the first or second anchor, else -1; int64 of shape (n_units,).
    glued: Any
    # Int64 of shape (2,).
    anchors: Any


@kernel
def make_units(state, guide, traces, level, first, second):
    """Make the units of the clusters of two anchors, which must be in different blocks of the level.

    A block whose leaves are all in one cluster takes time O(1), any other O(number of its items in the two clusters).
    """
    # The leaves of six blocks; a and b are items in the clusters of the anchors A and B, dots are other items.
    #
    #     leaves   a a a a | a a A b | b b b b | . . . . | . b . . | b B b b
    #     unit        0         1         2                   3         4
    #     node      block      -1       block                -1       block
    #     items               a a b                           b
    #     glued      -1         0        -1                  -1         1
    #
    # Walk through the places of the two clusters with ``a`` and ``b``, one block after the other.  If all leaves of a
    # block are in one cluster, record its node and jump over it; else list its items in the two clusters.
    labels, block, tree = state.labels, guide.block[level], guide.tree
    places, order, n = traces.places, guide.tree.order, guide.tree.order.shape[0]
    slot, other = labels[first], labels[second]
    a, b = traces.begin[slot], traces.begin[other]
    a_end, b_end = a + state.counts[slot], b + state.counts[other]
    if slot == other:
        b = b_end
    most = a_end - a + b_end - b
    node, items = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    start, glued = np.empty(most + 1, dtype=np.int64), np.empty(most, dtype=np.int64)
    block_of_first, block_of_second = block[guide.position[first]], block[guide.position[second]]
    n_units, count = 0, 0
    while a < a_end or b < b_end:
        place_a = places[a] if a < a_end else n
        place_b = places[b] if b < b_end else n
        p = min(place_a, place_b)
        current = block[p]
        end = tree.first[current] + tree.size[current]
        start[n_units] = count
        glued[n_units] = 0 if current == block_of_first else (1 if current == block_of_second else -1)
        size = tree.size[current] - (glued[n_units] >= 0)
        if p == tree.first[current] and traces.run_end[p] >= end:
            node[n_units] = current
            if place_a < place_b:
                a += tree.size[current]
            else:
                b += tree.size[current]
        else:
            node[n_units] = -1
            while p < end:
                item = order[p]
                if item != first and item != second:
                    items[count] = item
                    count += 1
                if place_a < place_b:
                    a += 1
                    place_a = places[a] if a < a_end else n
                else:
                    b += 1
                    place_b = places[b] if b < b_end else n
                p = min(place_a, place_b)
            size = count - start[n_units]
        # Drop a block in which the clusters have only the anchor.
        n_units += size > 0
    start[n_units] = count
    anchors = np.array([first, second])
    return Units(node[:n_units], items, start[: n_units + 1], glued[:n_units], anchors)


@kernel
def unit_size(guide, units, k):
    """Return the number of items of a unit."""
    if units.node[k] >= 0:
        return guide.tree.size[units.node[k]] - (units.glued[k] >= 0)
    return units.start[k + 1] - units.start[k]


@kernel
def unit_statistics(family, data, guide, units, k, row):
    """Write the statistics of a unit into ``row``."""
    node = units.node[k]
    if node >= 0 and guide.row[node] >= 0:
        copy_row(row, guide.statistics[guide.row[node]])
        if units.glued[k] >= 0:
            add_item(family, row, data, units.anchors[units.glued[k]], -1.0)
        return
    for m in range(row.shape[0]):
        row[m] = 0.0
    if node >= 0:
        add_item(family, row, data, node, 1.0)
        return
    for m in range(units.start[k], units.start[k + 1]):
        add_item(family, row, data, units.items[m], 1.0)


@kernel
def sides_of_units(state, guide, units, other, sides):
    """Write the present side of every unit into ``sides``, 1 for units in the cluster ``other``.

    Return False if no split could produce these sides: a unit has items of both clusters, or shares its block with the
    anchor of the other side.
    """
    for k in range(units.node.shape[0]):
        begin, end = units.start[k], units.start[k + 1]
        item = guide.tree.order[guide.tree.first[units.node[k]]] if units.node[k] >= 0 else units.items[begin]
        label = state.labels[item]
        sides[k] = label == other
        if units.glued[k] >= 0 and sides[k] != units.glued[k]:
            return False
        for m in range(begin, end):
            if state.labels[units.items[m]] != label:
                return False
    return True


@kernel
def relabel_units(state, guide, units, placed, slot):
    """Put the second anchor and the units of its side into a slot."""
    state.labels[units.anchors[1]] = slot
    for k in range(placed.shape[0]):
        if placed[k] != 1:
            continue
        node = units.node[k]
        if node >= 0:
            for p in range(guide.tree.first[node], guide.tree.first[node] + guide.tree.size[node]):
                state.labels[guide.tree.order[p]] = slot
        for m in range(units.start[k], units.start[k + 1]):
            state.labels[units.items[m]] = slot
