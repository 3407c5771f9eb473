"""The random measures of the nodes of a nested partition: weights of components, and parameters of the components."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import component_panel, write_component
from pymc_nrm.families.conjugate import draw_dirichlet, draw_parameters, parameters_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.partitions.clusters import close_slot, grow, open_slot


class NodeMeasures(NamedTuple):
    """Weights of components at the nodes of all levels, and what densities of items read of the components."""

    # By level, slot of the node and slot of the component; shape (depth + 1, n, capacity).
    weight: Any
    # Weight of all other components together at each node; shape (depth + 1, n).
    remainder: Any
    # Shape (capacity, parameters_size).
    parameters: Any
    # The components in the columns of their slots, see `components`.
    panel: Any


@kernel
def _n_columns(capacity):
    return (capacity + LANES - 1) // LANES * LANES


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
    """Draw the weights of a node, ``Dirichlet(gamma * centre + counts)``, and return that of all other components."""
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
        component_panel(family, _n_columns(capacity)),
    )
    weight, remainder = measures.weight, measures.remainder
    no_centre = np.zeros(capacity)
    for level in range(gammas.shape[0]):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            centre, rest = no_centre, 1.0
            if level > 0:
                above = nodes.above[level, node]
                centre, rest = weight[level - 1, above], remainder[level - 1, above]
            drawn = draw_weights(rng, state, gammas[level], centre, rest, counts[level, node], weight[level, node])
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
        component_panel(family, _n_columns(capacity)),
    )
    larger.weight[:, :, :old] = measures.weight
    for k in range(state.size[0]):
        slot = state.active[k]
        copy_row(larger.parameters[slot], measures.parameters[slot])
        write_component(family, larger.parameters[slot], larger.panel, slot)
    return state, larger


@kernel
def open_component(rng, franchise, state, measures, gammas, family, data, item, picked):
    """Give one of all other components a slot, with its weight at every node and its parameters; return the slot."""
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
    """Forget a component without items: its weights become part of that of all other components."""
    nodes = franchise.nodes
    for level in range(measures.remainder.shape[0]):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            measures.remainder[level, node] += measures.weight[level, node, slot]
            measures.weight[level, node, slot] = 0.0
    close_slot(state, slot)
