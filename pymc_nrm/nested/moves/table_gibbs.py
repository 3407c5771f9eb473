"""Gibbs updates of tables: each is a block of items that leaves its component and joins another as a whole."""

import math

import numpy as np

from pymc_nrm.families.base import add_item, refresh_cache, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import log_rising_factorial, sum_rows
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.nested.moves.franchise import add_path, change_items, remove_customer, seat_customer
from pymc_nrm.partitions.clusters import close_slot, grow, open_slot
from pymc_nrm.partitions.labels import members


@kernel
def memory_of_slots(n):
    """An array with an entry for every slot that the state of n items may ever use."""
    return np.zeros(2 * n + 8)


@kernel
def relative_weights(log_f, state):
    """Turn log predictive densities into weights relative to the largest; return the weight of a new component."""
    largest, n = -math.inf, state.size[0] + 1
    for k in range(n):
        largest = max(largest, log_f[state.active[k]])
    total = 0.0
    for k in range(n):
        slot = state.active[k]
        log_f[slot] = math.exp(log_f[slot] - largest)
        total += log_f[slot]
    if not 0.0 < total < math.inf:
        raise ValueError("an item cannot be assigned to any component: all densities are 0, or one is not finite")
    return log_f[state.active[n - 1]]


@kernel
def predictive_weights(franchise, gammas, f, f_new, last, seated):
    """Predictive weight of the data of one more customer at every node of levels 0 to ``last``.

    For a node z of level l it is ``s_z = (sum_t n_t f_t + gamma_l s_parent) / (n_z + gamma_l)``, with a sum over its
    tables t.  For the root, the weight of a new component replaces the weight of a parent. Shapes: ``gammas`` (depth +
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
    """Predictive weights as in :func:`predictive_weights`, at the nodes of one path. Shapes: ``listed`` (depth
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
    """Draw the seat of a customer of a node of a level, given predictive weights; ``listed`` are the tables. Returns
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
            # Rounding may leave a threshold above 0 if there is no table.
            if chosen >= 0:
                return chosen, level
        node = nodes.above[level, node]
        level -= 1
    return -1, -1


@kernel
def take_seat(rng, franchise, state, gammas, f, f_new, seated, start, start_level, node, level):
    """Seat a customer of a node, and return its table and component.

    The draw starts at the lowest old node on the path, since new nodes have no tables.
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
        raise ValueError("an item cannot be assigned to any place: all weights are 0, or one is not finite")
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
    """Log weight of a new child of a node of a level with ``n_children``; 0 for the first child, which is certain."""
    if n_children == 0:
        return 0.0
    return math.log(levels.alpha[level] + n_children * levels.sigma[level])


@kernel
def log_marginals(state, family):
    """Log marginal of each component by slot, shape (at least capacity,)."""
    values = memory_of_slots(state.labels.shape[0])
    for k in range(state.size[0]):
        slot = state.active[k]
        values[slot] = log_marginal(family, state.statistics[slot])
    return values


@kernel
def lift_block(state, items, row, log_m, f, family, data):
    """Remove items from the component that they share, and weight all components; caches become outdated.

    Writes the statistics of the items into ``row`` and relative weights of components into ``f``; returns the weight of
    a new component.
    """
    row[:] = 0.0
    for item in items:
        add_item(family, row, data, item, 1.0)
    slot = state.labels[items[0]]
    state.counts[slot] -= items.shape[0]
    if state.counts[slot] == 0:
        close_slot(state, slot)
    else:
        statistics = state.statistics[slot]
        for k in range(row.shape[0]):
            statistics[k] -= row[k]
        log_m[slot] = log_marginal(family, statistics)
    union = np.empty(row.shape[0])
    for k in range(state.size[0]):
        slot = state.active[k]
        sum_rows(union, state.statistics[slot], row)
        f[slot] = log_marginal(family, union) - log_m[slot]
    f[state.active[state.size[0]]] = log_marginal(family, row)
    return relative_weights(f, state)


@kernel
def drop_block(state, slot, items, row, log_m, family):
    """Assign items that are in no component to one."""
    statistics = state.statistics[slot]
    sum_rows(statistics, statistics, row)
    state.counts[slot] += items.shape[0]
    for item in items:
        state.labels[item] = slot
    log_m[slot] = log_marginal(family, statistics)


@kernel
def refresh_caches(state, family):
    """Update the caches of all components."""
    for k in range(state.size[0]):
        slot = state.active[k]
        refresh_cache(family, state.statistics[slot], state.cache[slot])


@kernel
def weigh_places_of_block(franchise, levels, gamma, m, seated, places):
    """Weights of the places of a leaf table of m items: leaves, and nodes below which new nodes open. Shapes:
    ``seated`` (depth + 1, n), ``places`` (depth + 1, n).
    """
    nodes, depth = franchise.nodes, levels.alpha.shape[0]
    # The new nodes of a chain have one child, and the new leaf one table.
    chain = -log_rising_factorial(gamma, m)
    largest = -math.inf
    reach = np.zeros(places.shape)
    alone = np.empty(depth + 1)
    for level in range(depth - 1, -1, -1):
        alone[level] = chain + log_rising_factorial(1.0 - levels.sigma[level], m - 1)
        chain = alone[level] - log_rising_factorial(levels.alpha[level] + 1.0, m - 1)
    for level in range(depth + 1):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            above = nodes.above[level, node]
            count = nodes.count[level, node]
            if level > 0:
                total = nodes.count[level - 1, above] + levels.alpha[level - 1]
                joins = log_rising_factorial(count - levels.sigma[level - 1], m)
                reach[level, node] = reach[level - 1, above] + joins - log_rising_factorial(total, m)
            if level == depth:
                value = -log_rising_factorial(gamma + franchise.served[level, node], m)
                value += math.log(seated[level - 1, above])
            else:
                n_children = franchise.n_children[level, node]
                value = alone[level] + log_opening_weight(levels, level, n_children)
                if n_children > 0:
                    value -= log_rising_factorial(count + levels.alpha[level], m)
                else:
                    value -= log_rising_factorial(levels.alpha[level] + 1.0, m - 1)
                value += math.log(seated[level, node])
            places[level, node] = reach[level, node] + value
            largest = max(largest, places[level, node])
    for level in range(depth + 1):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            places[level, node] = math.exp(places[level, node] - largest)


@kernel
def table_gibbs(rng, franchise, state, levels, gammas, family, data):
    """Redraw the path, the upward seats and the component of every leaf table as a whole, in random order.

    Each update is a Gibbs draw among the states in which the items of the table form one leaf table and all else is the
    same, a set that does not depend on the position of the table.  It leaves the posterior invariant.  Alone it is not
    irreducible: leaf tables neither split nor merge.
    """
    depth, n = levels.alpha.shape[0], franchise.seat.shape[0]
    nodes, tables = franchise.nodes, franchise.tables
    seated, places = np.empty((depth + 1, n)), np.empty((depth + 1, n))
    row, log_m, f = np.empty(statistics_size(family)), log_marginals(state, family), memory_of_slots(n)
    start, order = members(franchise.seat, n)
    present = tables.active[depth, : tables.size[depth]].copy()
    for k in random_items(rng, present.shape[0], present.shape[0]):
        check_signals()
        state = grow(state, family)
        table = present[k]
        items = order[start[table] : start[table + 1]]
        m = items.shape[0]
        leaf = franchise.host[depth, table]
        f_new = lift_block(state, items, row, log_m, f, family, data)
        franchise.served[depth, leaf] -= m
        remove_customer(franchise, nodes.above[depth, leaf], depth - 1, tables.above[depth, table])
        change_items(franchise, leaf, depth, -m)
        predictive_weights(franchise, gammas, f, f_new, depth - 1, seated)
        weigh_places_of_block(franchise, levels, gammas[depth], m, seated, places)
        node, level = draw_place(rng, franchise, places)
        leaf = add_path(franchise, node, level, m)
        parent = nodes.above[depth, leaf]
        if level == depth:
            node, level = parent, depth - 1
        above, slot = take_seat(rng, franchise, state, gammas, f, f_new, seated, node, level, parent, depth - 1)
        tables.above[depth, table] = above
        franchise.host[depth, table], franchise.dish[depth, table] = leaf, slot
        franchise.served[depth, leaf] += m
        drop_block(state, slot, items, row, log_m, family)
    refresh_caches(state, family)
    return state


@kernel
def _tables_of_items(franchise, level):
    """Table of each item at a level."""
    labels = franchise.seat.copy()
    for below in range(franchise.served.shape[0] - 1, level, -1):
        for i in range(labels.shape[0]):
            labels[i] = franchise.tables.above[below, labels[i]]
    return labels


@kernel
def seating_gibbs(rng, franchise, state, gammas, family, data):
    """Redraw the seat of every table as a customer in the parent of its node, level by level, in random order.

    Each update draws the seat, and all seats above it, from their full conditional, with the predictive density of all
    items of the table.  At level 1 whole components merge and split.  It leaves the posterior invariant.  Alone it is
    not irreducible: the tree does not change.
    """
    depth, n = gammas.shape[0] - 1, franchise.seat.shape[0]
    nodes, tables = franchise.nodes, franchise.tables
    seated = np.empty((depth + 1, n))
    row, log_m, f = np.empty(statistics_size(family)), log_marginals(state, family), memory_of_slots(n)
    for level in range(depth, 0, -1):
        start, order = members(_tables_of_items(franchise, level), n)
        present = tables.active[level, : tables.size[level]].copy()
        for k in random_items(rng, present.shape[0], present.shape[0]):
            check_signals()
            state = grow(state, family)
            table = present[k]
            items = order[start[table] : start[table + 1]]
            parent, above = nodes.above[level, franchise.host[level, table]], level - 1
            f_new = lift_block(state, items, row, log_m, f, family, data)
            remove_customer(franchise, parent, above, tables.above[level, table])
            predictive_weights(franchise, gammas, f, f_new, above, seated)
            joined, slot = take_seat(rng, franchise, state, gammas, f, f_new, seated, parent, above, parent, above)
            tables.above[level, table] = joined
            drop_block(state, slot, items, row, log_m, family)
        for lower in range(level, depth + 1):
            for k in range(tables.size[lower]):
                table = tables.active[lower, k]
                franchise.dish[lower, table] = franchise.dish[lower - 1, tables.above[lower, table]]
    refresh_caches(state, family)
    return state
