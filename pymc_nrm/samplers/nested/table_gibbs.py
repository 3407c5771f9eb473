"""Gibbs updates of whole leaf tables: the path and the component of a block of items."""

import math

import numpy as np

from pymc_nrm.families.base import statistics_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.special import log_rising_factorial
from pymc_nrm.partitions.clusters import grow, open_slot
from pymc_nrm.partitions.nested_laws.forward import members
from pymc_nrm.samplers.marginal_gibbs import random_items
from pymc_nrm.samplers.nested.blocks_of_items import (
    log_marginals,
    put_block,
    refresh_caches,
    take_block,
    weigh_block,
    with_room,
)
from pymc_nrm.samplers.nested.franchise import add_path, change_items, remove_customer, seat_customer
from pymc_nrm.samplers.nested.weights_of_places import (
    draw_place,
    draw_seat,
    log_opening_weight,
    predictive_weights,
    relative_weights,
)


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

    Each update is a Gibbs draw among the states in which the items of the table are one whole leaf table and all else
    is the same, a set that does not depend on where the table is.  It leaves the posterior invariant.  Alone it is not
    irreducible: leaf tables neither split nor merge.
    """
    depth, n = levels.alpha.shape[0], franchise.seat.shape[0]
    nodes, tables = franchise.nodes, franchise.tables
    seated, places = np.empty((depth + 1, n)), np.empty((depth + 1, n))
    row, scratch = np.empty(statistics_size(family)), np.empty(statistics_size(family))
    log_m = log_marginals(state, family)
    f = np.empty(log_m.shape[0])
    start, order = members(franchise.seat, n)
    present = tables.active[depth, : tables.size[depth]].copy()
    for k in random_items(rng, present.shape[0], present.shape[0]):
        check_signals()
        state = grow(state, family)
        log_m, f = with_room(log_m, state.counts.shape[0]), with_room(f, state.counts.shape[0])
        table = present[k]
        items = order[start[table] : start[table + 1]]
        m = items.shape[0]
        leaf = franchise.host[depth, table]
        take_block(state, items, row, log_m, family, data)
        franchise.served[depth, leaf] -= m
        remove_customer(franchise, nodes.above[depth, leaf], depth - 1, tables.above[depth, table])
        change_items(franchise, leaf, depth, -m)
        weigh_block(state, row, scratch, log_m, f, family)
        f_new = relative_weights(f, state)
        predictive_weights(franchise, gammas, f, f_new, depth - 1, seated)
        weigh_places_of_block(franchise, levels, gammas[depth], m, seated, places)
        node, level = draw_place(rng, franchise, places)
        leaf = add_path(franchise, node, level, m)
        if level == depth:
            node, level = nodes.above[depth, leaf], depth - 1
        joined, at_level = draw_seat(rng, franchise, tables.active, tables.size, gammas, f, f_new, seated, node, level)
        slot = franchise.dish[at_level, joined] if at_level >= 0 else open_slot(state)
        above = seat_customer(franchise, nodes.above[depth, leaf], depth - 1, joined, at_level, slot)
        tables.above[depth, table] = above
        franchise.host[depth, table], franchise.dish[depth, table] = leaf, slot
        franchise.served[depth, leaf] += m
        put_block(state, slot, items, row, log_m, family)
    refresh_caches(state, family)
    return state
