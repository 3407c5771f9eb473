"""The moves of an item: a path proposed from the prior, then a component drawn given the weights of the leaf."""

import math

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.components import add_component_densities
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import draw_categorical, log_sum_exp
from pymc_nrm.moves.nested.franchise import add_path, change_items
from pymc_nrm.published.huang.node_measures import (
    close_component,
    draw_weights,
    open_component,
    with_room,
)


@kernel
def propose_path(rng, franchise, levels, path):
    """Draw a path of an item given those of all others. Returns the last node that other items have, and its level; all
    nodes below it are new.
    """
    nodes, node = franchise.nodes, 0
    for level in range(levels.alpha.shape[0]):
        n_others = nodes.count[level, node] - (path[level] == node)
        threshold = rng.random() * (n_others + levels.alpha[level])
        chosen = -1
        for k in range(nodes.size[level + 1]):
            child = nodes.active[level + 1, k]
            n_items = nodes.count[level + 1, child] - (path[level + 1] == child)
            if nodes.above[level + 1, child] == node and n_items > 0:
                threshold -= n_items - levels.sigma[level]
                if threshold < 0.0:
                    chosen = child
                    break
        if chosen < 0:
            return node, level
        node = chosen
    return node, levels.alpha.shape[0]


@kernel
def leaf_log_weights(state, weight, remainder, log_f, log_f_new, values):
    """Write the log weights of the components of an item at a leaf into ``values``, a new one last; return their sum.
    Returns the log density of the item at the leaf.
    """
    for k in range(state.size[0]):
        slot = state.active[k]
        values[k] = math.log(weight[slot]) + log_f[slot] if weight[slot] > 0.0 else -math.inf
    values[state.size[0]] = math.log(remainder) + log_f_new if remainder > 0.0 else -math.inf
    return log_sum_exp(values)


@kernel
def path_step(rng, franchise, state, measures, levels, gammas, leaf, item, log_f, log_f_new):
    """Propose a path of an item from the prior, and accept it by the ratio of its densities at the two leaves.

    New nodes draw their weights given those of their parents.  The component of the item is summed over; given all
    other items and the weights of their nodes, this is a Metropolis-Hastings update of the path and the weights of
    nodes that the item has alone. Returns whether the proposal was accepted.
    """
    nodes, depth, capacity = franchise.nodes, levels.alpha.shape[0], state.counts.shape[0]
    path = np.empty(depth + 1, dtype=np.int64)
    path[depth] = leaf[item]
    for level in range(depth, 0, -1):
        path[level - 1] = nodes.above[level, path[level]]
    node, last = propose_path(rng, franchise, levels, path)
    weight, remainder = np.zeros((depth + 1, capacity)), np.zeros(depth + 1)
    weight[last], remainder[last] = measures.weight[last, node, :capacity], measures.remainder[last, node]
    no_counts = np.zeros(capacity)
    for level in range(last + 1, depth + 1):
        rest = draw_weights(
            rng, state, gammas[level], weight[level - 1], remainder[level - 1], no_counts, weight[level]
        )
        remainder[level] = rest
    values = np.empty(state.size[0] + 1)
    old = measures.weight[depth, leaf[item]]
    log_old = leaf_log_weights(state, old, measures.remainder[depth, leaf[item]], log_f, log_f_new, values)
    log_new = leaf_log_weights(state, weight[depth], remainder[depth], log_f, log_f_new, values)
    if not (log_new > -math.inf and math.log(1.0 - rng.random()) <= log_new - log_old):
        return False
    # The path goes through a node that other items have, which stays.
    change_items(franchise, leaf[item], depth, -1)
    leaf[item] = add_path(franchise, node, last, 1)
    new = leaf[item]
    for level in range(depth, last, -1):
        measures.weight[level, new, :capacity] = weight[level]
        measures.remainder[level, new] = remainder[level]
        new = nodes.above[level, new]
    return True


@kernel
def component_step(rng, franchise, state, measures, gammas, family, data, leaf, item, log_f, log_f_new, is_counted):
    """Draw the component of an item given the weights of its leaf; a new one gets a slot."""
    depth = gammas.shape[0] - 1
    values = np.empty(state.size[0] + 1)
    node = leaf[item]
    leaf_log_weights(state, measures.weight[depth, node], measures.remainder[depth, node], log_f, log_f_new, values)
    chosen = draw_categorical(rng, values)
    if chosen < state.size[0]:
        slot = state.active[chosen]
    else:
        picked = np.full(depth + 1, -1, dtype=np.int64)
        if is_counted:
            for level in range(depth, -1, -1):
                picked[level] = node
                node = franchise.nodes.above[level, node]
        slot = open_component(rng, franchise, state, measures, gammas, family, data, item, picked)
    state.labels[item] = slot
    state.counts[slot] += 1


@kernel
def move_item(rng, franchise, state, measures, levels, gammas, family, data, leaf, item, repairs):
    """Take an item out, draw its path and then its component. Returns whether the item took the path that was
    proposed.
    """
    old = state.labels[item]
    state.counts[old] -= 1
    if state.counts[old] == 0 and repairs.drops_singletons:
        close_component(franchise, state, measures, old)
    state, measures = with_room(state, measures, family)
    log_f_new = log_predictive(family, state.cache[state.active[state.size[0]]], data, item)
    width = (state.counts.shape[0] + LANES - 1) // LANES * LANES
    log_f = np.zeros(width)
    add_component_densities(family, measures.panel, data, item, width, log_f)
    is_accepted = path_step(rng, franchise, state, measures, levels, gammas, leaf, item, log_f, log_f_new)
    component_step(
        rng, franchise, state, measures, gammas, family, data, leaf, item, log_f, log_f_new, repairs.counts_picks
    )
    return state, measures, is_accepted
