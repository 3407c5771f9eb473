"""Predictive weights of data at all nodes, and draws of places and seats from them."""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.moves.nested.franchise import seat_customer
from pymc_nrm.partitions.clusters import open_slot


@kernel
def memory_of_slots(n):
    """An array with an entry for every slot that the state of n items may ever have."""
    return np.zeros(2 * n + 8)


@kernel
def relative_weights(log_f, state):
    """Turn log predictive densities of the components, and of a new one, into weights relative to the largest. Returns
    the weight of a new component.
    """
    largest, n = -math.inf, state.size[0] + 1
    for k in range(n):
        largest = max(largest, log_f[state.active[k]])
    total = 0.0
    for k in range(n):
        slot = state.active[k]
        log_f[slot] = math.exp(log_f[slot] - largest)
        total += log_f[slot]
    if not 0.0 < total < math.inf:
        raise ValueError("an item cannot be drawn into a component: all densities are 0, or one is not finite")
    return log_f[state.active[n - 1]]


@kernel
def predictive_weights(franchise, gammas, f, f_new, last, seated):
    """Predictive weight of the data of one further customer at every node of levels 0 to ``last``.

    For a node z of level l it is ``s_z = (sum_t n_t f_t + gamma_l s_parent) / (n_z + gamma_l)``, with a sum over its
    tables t.  The root has the weight of a new component in the place of that of a parent. Shapes: ``gammas`` (depth +
    1,), ``seated`` (depth + 1, n).
    """
    nodes, tables = franchise.nodes, franchise.tables
    for level in range(last + 1):
        gamma = gammas[level]
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            above = seated[level - 1, nodes.above[level, node]] if level > 0 else f_new
            seated[level, node] = gamma * above
        for k in range(tables.size[level]):
            table = tables.active[level, k]
            weight = tables.count[level, table] * f[franchise.dish[level, table]]
            seated[level, franchise.host[level, table]] += weight
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            seated[level, node] /= franchise.served[level, node] + gamma


@kernel
def path_weights(franchise, listed, n_listed, gammas, f, f_new, path, seated):
    """Predictive weights as :func:`predictive_weights` gives them, at the nodes of one path. Shapes: ``listed`` (depth
    + 1, n), ``n_listed`` (depth + 1,), ``path`` (depth + 1,), ``seated`` (depth + 1, n).
    """
    above = f_new
    for level in range(path.shape[0]):
        node = path[level]
        weight = gammas[level] * above
        for k in range(n_listed[level]):
            table = listed[level, k]
            if franchise.host[level, table] == node:
                weight += franchise.tables.count[level, table] * f[franchise.dish[level, table]]
        above = weight / (franchise.served[level, node] + gammas[level])
        seated[level, node] = above


@kernel
def draw_seat(rng, franchise, listed, n_listed, gammas, f, f_new, seated, node, level):
    """Draw where a customer of a node of a level sits, given its predictive weights; ``listed`` are the tables. Returns
    the table that it joins, directly or by new tables below it, and its level, which is -1 for a new component.
    """
    nodes, tables = franchise.nodes, franchise.tables
    while level >= 0:
        above = seated[level - 1, nodes.above[level, node]] if level > 0 else f_new
        threshold = rng.random() * (franchise.served[level, node] + gammas[level]) * seated[level, node]
        threshold -= gammas[level] * above
        if threshold >= 0.0:
            chosen = -1
            for k in range(n_listed[level]):
                table = listed[level, k]
                weight = tables.count[level, table] * f[franchise.dish[level, table]]
                if franchise.host[level, table] == node and weight > 0.0:
                    chosen = table
                    threshold -= weight
                    if threshold < 0.0:
                        break
            # Rounding may leave a threshold above 0 where there is no table.
            if chosen >= 0:
                return chosen, level
        node = nodes.above[level, node]
        level -= 1
    return -1, -1


@kernel
def take_seat(rng, franchise, state, gammas, f, f_new, seated, start, start_level, node, level):
    """Seat a customer of a node, and return its table and component.

    The draw starts at the lowest node on the path that is not new, since new nodes have no tables.
    """
    tables = franchise.tables
    joined, at_level = draw_seat(
        rng, franchise, tables.active, tables.size, gammas, f, f_new, seated, start, start_level
    )
    slot = franchise.dish[at_level, joined] if at_level >= 0 else open_slot(state)
    return seat_customer(franchise, node, level, joined, at_level, slot), slot


@kernel
def draw_place(rng, franchise, weights):
    """Draw a node of any level with probabilities in proportion to ``weights``, shape (depth + 1, n)."""
    nodes = franchise.nodes
    total = 0.0
    for level in range(weights.shape[0]):
        for k in range(nodes.size[level]):
            total += weights[level, nodes.active[level, k]]
    if not 0.0 < total < np.inf:
        raise ValueError("an item has no place in the tree: all weights are 0, or one is not finite")
    threshold = rng.random() * total
    chosen, at = 0, 0
    for level in range(weights.shape[0]):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            if weights[level, node] > 0.0:
                chosen, at = node, level
                threshold -= weights[level, node]
                if threshold < 0.0:
                    return chosen, at
    return chosen, at


@kernel
def log_opening_weight(levels, level, n_children):
    """Log weight of a new child of a node of a level with some children; 0 for the first, which is certain."""
    if n_children == 0:
        return 0.0
    return math.log(levels.alpha[level] + n_children * levels.sigma[level])
