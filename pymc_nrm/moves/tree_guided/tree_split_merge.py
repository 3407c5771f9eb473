"""Split-merge moves that allocate blocks of a guide tree instead of single items."""

import math

import numpy as np

from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.special import copy_row, sum_rows
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.moves.guide_trees.tree import lowest_common_ancestor
from pymc_nrm.moves.sides import (
    allocate_items,
    apply_merge,
    apply_split,
    choose_side,
    log_target_ratio,
    start_sides,
)
from pymc_nrm.moves.tally import accept
from pymc_nrm.moves.tree_guided.guide_tables import draw_internal_node, draw_leaf, draw_level
from pymc_nrm.moves.tree_guided.informed_anchors import cluster_weights, draw_informed_anchors, log_anchor_ratio
from pymc_nrm.moves.tree_guided.units import (
    find_traces,
    make_units,
    relabel_units,
    sides_of_units,
    unit_size,
    unit_statistics,
)


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

    where q is the probability of allocating the units to these sides; that of a merge is the inverse.  If ``informed``,
    the ratio of drawing the anchors is a further factor (:func:`log_anchor_ratio`).  The move leaves the target given u
    invariant, but is not irreducible by itself.  A proposal takes time in proportion to the number of units, plus the
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
    log_ratio = log_target_ratio(weights, family, sides) - log_q
    if informed:
        log_ratio += log_anchor_ratio(weights, family, state, log_weights, sides, slot, other)
    accepted = accept(rng, tally, merging, -log_ratio if merging else log_ratio)
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
