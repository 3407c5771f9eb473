"""Split-merge moves that allocate units: the parts of two clusters in each block of a guide tree."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import copy_row, draw_index, sum_rows
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.moves.guide_trees.guide_tree import draw_internal_node, draw_leaf, draw_level
from pymc_nrm.moves.guide_trees.tree import lowest_common_ancestor
from pymc_nrm.moves.split_merge import (
    accept,
    allocate_items,
    apply_merge,
    apply_split,
    choose_side,
    cluster_weights,
    draw_pair,
    log_target_ratio,
    log_weight,
    present_sides,
    start_sides,
)


class Traces(NamedTuple):
    """Positions of the clusters of a state in a guide tree."""

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
    """Assign the second anchor and the units of its side to a slot."""
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


@kernel
def affinity(weights, family, row, count, log_l, other_row, other_count, other_log_l, union):
    """Affinity ``1 / (1 + d0) + 1e-6`` of two clusters with ``d0 = L(a) L(b) / L(a + b)``, from log L of both."""
    sum_rows(union, row, other_row)
    log_d = log_l + other_log_l - log_weight(weights, family, count + other_count, union)
    return (1.0 / (1.0 + math.exp(log_d)) if log_d < 700.0 else 0.0) + 1e-6


@kernel
def affinities(weights, family, state, log_weights, row, count, log_l, skip, other_skip, values):
    """Write the affinities of a cluster with all others, in the order of ``active``, and return their sum.

    The affinities with the clusters in the slots ``skip`` and ``other_skip`` are 0.
    """
    union = np.empty(row.shape[0])
    total = 0.0
    for k in range(state.size[0]):
        slot = state.active[k]
        values[k] = 0.0
        if slot != skip and slot != other_skip:
            other_row, other_count = state.statistics[slot], state.counts[slot]
            values[k] = affinity(weights, family, row, count, log_l, other_row, other_count, log_weights[slot], union)
        total += values[k]
    return total


@kernel
def draw_informed_anchors(rng, state, weights, family, guide, traces, log_weights):
    """Draw anchors, with probability 1/2 for a merge of two clusters chosen by affinity, else for a split of one.

    A merge draws a cluster a uniformly, a partner b with probability w(b|a) proportional to their affinity, and an item
    of each uniformly.  A split draws a cluster c with probability ``s(c) = (1/K + |c|/n)/2``, where K is the number of
    clusters, and two different items of it uniformly. They are -1 if there is only one cluster to merge, or the cluster
    to split has only one item.
    """
    n_clusters = state.size[0]
    merging = rng.random() < 0.5
    if merging:
        if n_clusters < 2:
            return merging, -1, -1
        slot = state.active[int(rng.random() * n_clusters)]
        row, count, log_l = state.statistics[slot], state.counts[slot], log_weights[slot]
        values = np.empty(n_clusters)
        affinities(weights, family, state, log_weights, row, count, log_l, slot, slot, values)
        other = state.active[draw_index(rng, values)]
        first, second = int(rng.random() * count), int(rng.random() * state.counts[other])
        return merging, item_of(guide, traces, slot, first), item_of(guide, traces, other, second)
    if rng.random() < 0.5:
        slot = state.active[int(rng.random() * n_clusters)]
    else:
        slot = state.labels[int(rng.random() * state.labels.shape[0])]
    if state.counts[slot] < 2:
        return merging, -1, -1
    first, second = draw_pair(rng, state.counts[slot])
    return merging, item_of(guide, traces, slot, first), item_of(guide, traces, slot, second)


@kernel
def log_anchor_ratio(weights, family, state, log_weights, sides, slot, other):
    """Log ratio of the probabilities of drawing the anchors to merge two sides a and b, and to split their union A.

    Let K be the number of clusters of the state in which A is whole, and w belong to the state in which it is split.
    The ratio is

        (w(b|a) + w(a|b)) / ((K + 1) |a| |b|) / (s(A) 2 / (|A| (|A| - 1))).

    ``slot`` and ``other`` are the present slots of the two anchors, which are equal if A is whole.
    """
    counts, rows = sides.counts, sides.statistics
    values, union = np.empty(state.size[0]), np.empty(rows.shape[1])
    log_a = log_weight(weights, family, counts[0], rows[0])
    log_b = log_weight(weights, family, counts[1], rows[1])
    pair = affinity(weights, family, rows[0], counts[0], log_a, rows[1], counts[1], log_b, union)
    probability = 0.0
    for side, log_l in ((0, log_a), (1, log_b)):
        other_pairs = affinities(
            weights, family, state, log_weights, rows[side], counts[side], log_l, slot, other, values
        )
        probability += pair / (other_pairs + pair)
    n_merged = state.size[0] - (slot != other)
    total = float(counts[0] + counts[1])
    log_ratio = math.log(probability / ((n_merged + 1.0) * counts[0] * counts[1]))
    return log_ratio - math.log((1.0 / n_merged + total / state.labels.shape[0]) / (total * (total - 1.0)))


@kernel
def allocate_units(rng, sides, weights, family, data, guide, units, placed, goals):
    """Allocate units one by one in a fresh random order; return the log probability of the result.

    Units that share a block with an anchor come first and join that anchor.  ``placed`` receives the side of each unit;
    ``goals`` holds the side that it must take, or -1 if it is drawn.
    """
    n_units = units.glued.shape[0]
    row = np.empty(sides.statistics.shape[1])
    joined = np.empty((2, sides.statistics.shape[1]))
    present, marginals, log_weights = np.empty(2), np.empty(2), np.empty(2)
    for side in range(2):
        present[side] = log_marginal(family, sides.statistics[side])
    log_q = 0.0
    order = random_items(rng, n_units, n_units)
    for attach_glued in (True, False):
        for k in order:
            if k % 64 == 0:
                check_signals()
            if (units.glued[k] >= 0) != attach_glued:
                continue
            size = unit_size(guide, units, k)
            unit_statistics(family, data, guide, units, k, row)
            for side in range(2):
                count = sides.counts[side]
                sum_rows(joined[side], sides.statistics[side], row)
                marginals[side] = log_marginal(family, joined[side])
                log_weights[side] = weights.moment[count + size] - weights.moment[count]
                log_weights[side] += marginals[side] - present[side]
            side = units.glued[k]
            if not attach_glued:
                side, log_probability = choose_side(rng, log_weights[1] - log_weights[0], goals[k])
                log_q += log_probability
            placed[k] = side
            copy_row(sides.statistics[side], joined[side])
            present[side] = marginals[side]
            sides.counts[side] += size
    return log_q


@kernel
def tree_split_merge(rng, state, weights, family, data, guide, traces, log_weights, informed, tally):
    """Make one split-merge move along the guide tree, by Metropolis-Hastings.

    The move draws anchors below the two children of a node of the tree or, if ``informed``, from clusters that fit
    together (:func:`draw_informed_anchors`).  It then draws a level whose blocks separate the anchors; the probability
    depends on the tree alone.  Given anchors, level and order of units, the union A of the anchors' clusters and its
    units are the same before and after the move.  The acceptance ratio of a split of A into a and b is

        L(a) L(b) / (L(A) q)

    where q is the probability of allocating the units to these sides; a merge has the inverse ratio.  If ``informed``,
    the ratio of drawing the anchors is a further factor (:func:`log_anchor_ratio`).  The move leaves the target given u
    invariant, but is not irreducible by itself.  A proposal takes time proportional to the number of units, plus the
    number of clusters if ``informed``; an accepted move also changes labels.
    """
    if informed:
        merging, first, second = draw_informed_anchors(rng, state, weights, family, guide, traces, log_weights)
        if first < 0:
            return state, accept(rng, tally, merging, math.nan)
    else:
        node = draw_internal_node(rng, guide)
        first, second = draw_leaf(rng, guide, guide.tree.left[node]), draw_leaf(rng, guide, guide.tree.right[node])
        merging = state.labels[first] != state.labels[second]
    slot, other = state.labels[first], state.labels[second]
    log_apart = log_bound = 0.0
    if merging:
        present = present_sides(state, slot, other)
        log_apart = log_target_ratio(weights, family, present)
        if informed:
            log_apart += log_anchor_ratio(weights, family, state, log_weights, present, slot, other)
        # Since q is at most 1, many merges are rejected whatever the allocation would find.
        log_bound = -log_apart
        if math.log(rng.random()) >= log_bound:
            return state, accept(rng, tally, merging, math.nan)
    level = draw_level(rng, guide, lowest_common_ancestor(guide.tree, first, second))
    units = make_units(state, guide, traces, level, first, second)
    placed, goals = np.empty(units.glued.shape[0], dtype=np.int64), np.full(units.glued.shape[0], -1, dtype=np.int64)
    if merging and not sides_of_units(state, guide, units, other, goals):
        return state, accept(rng, tally, merging, math.nan)
    sides = start_sides(family, data, first, second)
    if level == 0:
        log_q = allocate_items(rng, sides, weights, family, data, units.node, placed, goals, False)
    else:
        log_q = allocate_units(rng, sides, weights, family, data, guide, units, placed, goals)
    if not merging:
        log_apart = log_target_ratio(weights, family, sides)
        if informed:
            log_apart += log_anchor_ratio(weights, family, state, log_weights, sides, slot, other)
    log_ratio = log_apart - log_q
    accepted = accept(rng, tally, merging, -log_ratio if merging else log_ratio, log_bound)
    if accepted and merging:
        apply_merge(state, family, slot, other)
    elif accepted:
        state, new = apply_split(state, family, sides, slot)
        relabel_units(state, guide, units, placed, new)
    return state, accepted


@kernel
def tree_split_merge_moves(rng, state, weights, family, data, guide, n_moves, informed, tally):
    """Make ``n_moves`` moves of :func:`tree_split_merge`, add them to the tally, and return the state."""
    accepted = True
    for _ in range(n_moves):
        check_signals()
        if accepted:
            traces = find_traces(state, guide)
            log_weights = cluster_weights(weights, family, state) if informed else np.empty(0)
        state, accepted = tree_split_merge(
            rng, state, weights, family, data, guide, traces, log_weights, informed, tally
        )
    return state
