"""Algorithm 2 of Huang et al. (2020): weights and parameters, then all items, then tables for the value."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, log_predictive, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_dirichlet, draw_parameters, parameters_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import copy_row, draw_categorical, log_sum_exp
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.nested.moves.franchise import add_path, arrange_tables, build_franchise, change_items
from pymc_nrm.nested.moves.sweep import log_density
from pymc_nrm.partitions.clusters import build_state, close_slot, grow, open_slot, ordered_labels
from pymc_nrm.partitions.labels import canonical_columns


class NodeMeasures(NamedTuple):
    """Weights of components at the nodes of all levels, and a panel for densities of items under the components."""

    # By level, slot of the node and slot of the component; shape (depth + 1, n, capacity).
    weight: Any
    # Weight of all other components together at each node; shape (depth + 1, n).
    remainder: Any
    # Shape (capacity, parameters_size).
    parameters: Any
    # The components in the columns of their slots, see `components`.
    panel: Any


@kernel
def path_of(franchise, leaf):
    """Nodes of levels 0 to depth above a leaf, shape (depth + 1,)."""
    path = np.empty(franchise.served.shape[0], dtype=np.int64)
    for level in range(path.shape[0] - 1, -1, -1):
        path[level] = leaf
        leaf = franchise.nodes.above[level, leaf]
    return path


@kernel
def item_counts(franchise, leaf, components, counts):
    """Add the number of items of each component at each node, shape (depth + 1, n, capacity)."""
    for i in range(leaf.shape[0]):
        path = path_of(franchise, leaf[i])
        for level in range(path.shape[0]):
            counts[level, path[level], components[i]] += 1.0


@kernel
def customer_counts(franchise, counts):
    """Add the number of customers of each component at each node: items at leaves, elsewhere tables of the children."""
    tables = franchise.tables
    for level in range(counts.shape[0]):
        for k in range(tables.size[level]):
            table = tables.active[level, k]
            counts[level, franchise.host[level, table], franchise.dish[level, table]] += tables.count[level, table]


@kernel
def draw_weights(rng, state, gamma, centre, centre_remainder, counts, weight):
    """Draw the weights of a node, ``Dirichlet(gamma * centre + counts)``; return the weight of all other components."""
    n_components = state.size[0]
    concentration, drawn = np.empty(n_components + 1), np.empty(n_components + 1)
    for k in range(n_components):
        slot = state.active[k]
        concentration[k] = gamma * centre[slot] + counts[slot]
    concentration[n_components] = gamma * centre_remainder
    draw_dirichlet(rng, concentration, drawn)
    for k in range(n_components):
        weight[state.active[k]] = drawn[k]
    return drawn[n_components]


@kernel
def draw_measures(rng, franchise, state, gammas, counts, family):
    """Draw weights of all nodes given counts, from the root to the leaves, and parameters given the data. Shapes:
    ``gammas`` (depth + 1,), ``counts`` (depth + 1, n, capacity).
    """
    nodes, capacity = franchise.nodes, state.counts.shape[0]
    measures = NodeMeasures(
        np.zeros(counts.shape),
        np.zeros(counts.shape[:2]),
        np.empty((capacity, parameters_size(family))),
        component_panel(family, whole_lanes(capacity)),
    )
    weight, remainder = measures.weight, measures.remainder
    no_centre = np.zeros(capacity)
    for level in range(gammas.shape[0]):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            centre, remaining_weight = no_centre, 1.0
            if level > 0:
                above = nodes.above[level, node]
                centre, remaining_weight = weight[level - 1, above], remainder[level - 1, above]
            drawn = draw_weights(
                rng, state, gammas[level], centre, remaining_weight, counts[level, node], weight[level, node]
            )
            remainder[level, node] = drawn
    for k in range(state.size[0]):
        check_signals()
        slot = state.active[k]
        draw_parameters(family, state.statistics[slot], rng, measures.parameters[slot])
        write_component(family, measures.parameters[slot], measures.panel, slot)
    return measures


@kernel
def with_room(state, measures, family):
    """Return state and measures with at least two empty slots for components, copies if need be."""
    state = grow(state, family)
    capacity, old = state.counts.shape[0], measures.parameters.shape[0]
    if old >= capacity:
        return state, measures
    n_levels, n = measures.remainder.shape
    larger = NodeMeasures(
        np.zeros((n_levels, n, capacity)),
        measures.remainder,
        np.empty((capacity, measures.parameters.shape[1])),
        component_panel(family, whole_lanes(capacity)),
    )
    larger.weight[:, :, :old] = measures.weight
    for k in range(state.size[0]):
        slot = state.active[k]
        copy_row(larger.parameters[slot], measures.parameters[slot])
        write_component(family, larger.parameters[slot], larger.panel, slot)
    return state, larger


@kernel
def open_component(rng, franchise, state, measures, gammas, family, data, item, picked):
    """Give a slot to one of the other components, draw its weights and parameters, and return the slot."""
    nodes, weight, remainder = franchise.nodes, measures.weight, measures.remainder
    slot, concentration, shares = open_slot(state), np.array([1.0, gammas[0]]), np.empty(2)
    for level in range(gammas.shape[0]):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            if level > 0:
                above = nodes.above[level, node]
                concentration[0] = gammas[level] * weight[level - 1, above, slot] + (picked[level] == node)
                concentration[1] = gammas[level] * remainder[level - 1, above]
            shares[0], shares[1] = 0.0, 1.0
            if concentration[0] > 0.0:
                draw_dirichlet(rng, concentration, shares)
            weight[level, node, slot] = shares[0] * remainder[level, node]
            remainder[level, node] *= shares[1]
    row = np.zeros(statistics_size(family))
    if item >= 0:
        add_item(family, row, data, item, 1.0)
    draw_parameters(family, row, rng, measures.parameters[slot])
    write_component(family, measures.parameters[slot], measures.panel, slot)
    return slot


@kernel
def close_component(franchise, state, measures, slot):
    """Remove a component without items: its weights are added to the weight of all other components."""
    nodes = franchise.nodes
    for level in range(measures.remainder.shape[0]):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            measures.remainder[level, node] += measures.weight[level, node, slot]
            measures.weight[level, node, slot] = 0.0
    close_slot(state, slot)


class Repairs(NamedTuple):
    """Corrections of a sweep to its published form; with all three it leaves the posterior invariant."""

    # Whether weights are drawn given customers, that is, items at leaves and tables of the children elsewhere; as
    # published (eqs. 7 and 8), they are drawn given items at all nodes.
    counts_customers: bool = False
    # Whether a new component counts as chosen at the nodes of the path, so that its share of the remainder has a
    # parameter larger by 1.
    counts_picks: bool = False
    # Whether a component is removed before its only item moves.
    drops_singletons: bool = False


@kernel
def propose_path(rng, franchise, levels, path):
    """Draw a path of an item given all other paths; return the last node that other items share, and its level."""
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
    """Write log weights of an item's components at a leaf into ``values``, a new one last; return its log density."""
    for k in range(state.size[0]):
        slot = state.active[k]
        values[k] = math.log(weight[slot]) + log_f[slot] if weight[slot] > 0.0 else -math.inf
    values[state.size[0]] = math.log(remainder) + log_f_new if remainder > 0.0 else -math.inf
    return log_sum_exp(values)


@kernel
def path_step(rng, franchise, state, measures, levels, gammas, leaf, item, log_f, log_f_new):
    """Propose a path of an item from the prior, and accept it by the ratio of its densities at the two leaves.

    New nodes draw their weights given the weights of their parents.  The component of the item is summed over.  Given
    all other items and the weights of their nodes, this is a Metropolis-Hastings update of the path and the weights of
    nodes that hold only this item. Returns whether the proposal was accepted.
    """
    nodes, depth, capacity = franchise.nodes, levels.alpha.shape[0], state.counts.shape[0]
    node, last = propose_path(rng, franchise, levels, path_of(franchise, leaf[item]))
    weight, remainder = np.zeros((depth + 1, capacity)), np.zeros(depth + 1)
    weight[last], remainder[last] = measures.weight[last, node, :capacity], measures.remainder[last, node]
    no_counts = np.zeros(capacity)
    for level in range(last + 1, depth + 1):
        remaining_weight = draw_weights(
            rng, state, gammas[level], weight[level - 1], remainder[level - 1], no_counts, weight[level]
        )
        remainder[level] = remaining_weight
    values = np.empty(state.size[0] + 1)
    old = measures.weight[depth, leaf[item]]
    log_old = leaf_log_weights(state, old, measures.remainder[depth, leaf[item]], log_f, log_f_new, values)
    log_new = leaf_log_weights(state, weight[depth], remainder[depth], log_f, log_f_new, values)
    if not (log_new > -math.inf and math.log(1.0 - rng.random()) <= log_new - log_old):
        return False
    # The path goes through a node that other items share; this node stays.
    change_items(franchise, leaf[item], depth, -1)
    leaf[item] = add_path(franchise, node, last, 1)
    new = leaf[item]
    for level in range(depth, last, -1):
        measures.weight[level, new, :capacity] = weight[level]
        measures.remainder[level, new] = remainder[level]
        new = nodes.above[level, new]
    return True


@kernel
def move_item(rng, franchise, state, measures, levels, gammas, family, data, leaf, item, repairs):
    """Remove an item, draw its path, and draw its component given the weights of its leaf; a new one gets a slot.

    Returns whether the proposed path was accepted.
    """
    old = state.labels[item]
    state.counts[old] -= 1
    if state.counts[old] == 0 and repairs.drops_singletons:
        close_component(franchise, state, measures, old)
    state, measures = with_room(state, measures, family)
    log_f_new = log_predictive(family, state.cache[state.active[state.size[0]]], data, item)
    width = whole_lanes(state.counts.shape[0])
    log_f = np.zeros(width)
    add_component_densities(family, measures.panel, data, item, width, log_f)
    is_accepted = path_step(rng, franchise, state, measures, levels, gammas, leaf, item, log_f, log_f_new)
    depth, values = gammas.shape[0] - 1, np.empty(state.size[0] + 1)
    weight, remainder = measures.weight[depth, leaf[item]], measures.remainder[depth, leaf[item]]
    leaf_log_weights(state, weight, remainder, log_f, log_f_new, values)
    chosen = draw_categorical(rng, values)
    slot = state.active[chosen]
    if chosen == state.size[0]:
        picked = path_of(franchise, leaf[item]) if repairs.counts_picks else np.full(depth + 1, -1, dtype=np.int64)
        open_component(rng, franchise, state, measures, gammas, family, data, item, picked)
    state.labels[item] = slot
    state.counts[slot] += 1
    return state, measures, is_accepted


@shared_kernel(components=True)
def published_sweep(rng, values, levels, gammas, family, data, repairs, truncation):
    """Algorithm 2 of Huang et al. (2020), as published or with some of its errors corrected.

    As published it does not leave the posterior invariant.  With all corrections and no truncation it does, and it is
    irreducible alone: each part is a draw from a full conditional, or a Metropolis-Hastings update, of the joint
    distribution completed by weights, parameters and tables.  Only the value is kept from one sweep to the next.
    Returns the log density of the data given the components, and the number of accepted paths. Shapes: ``values``
    (n, 2 depth + 1), ``gammas`` (depth + 1,); returns ``values`` (n, 2 depth + 1).
    """
    n, depth = values.shape[0], gammas.shape[0] - 1
    components = values[:, 2 * depth].copy()
    state = build_state(components, family, data)
    franchise = build_franchise(values, components)
    leaf = franchise.host[depth][franchise.seat]
    counts = np.zeros((depth + 1, n, state.counts.shape[0]))
    if repairs.counts_customers:
        customer_counts(franchise, counts)
    else:
        item_counts(franchise, leaf, components, counts)
    measures = draw_measures(rng, franchise, state, gammas, counts, family)
    nowhere = np.full(depth + 1, -1, dtype=np.int64)
    while measures.remainder[0, 0] >= truncation:
        check_signals()
        state, measures = with_room(state, measures, family)
        open_component(rng, franchise, state, measures, gammas, family, data, -1, nowhere)
    n_accepted = 0
    for item in random_items(rng, n, n):
        check_signals()
        state, measures, is_accepted = move_item(
            rng, franchise, state, measures, levels, gammas, family, data, leaf, item, repairs
        )
        n_accepted += is_accepted
    values = np.empty_like(values)
    for i in range(n):
        values[i, :depth], values[i, 2 * depth] = path_of(franchise, leaf[i])[1:], state.labels[i]
    arrange_tables(rng, values, gammas, measures.weight)
    values[:, 2 * depth] = ordered_labels(state)
    canonical_columns(values, n)
    return values, log_density(values[:, 2 * depth].copy(), family, data), n_accepted
