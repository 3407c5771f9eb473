"""Gibbs updates of the seats of tables in the parents of their nodes, with the tree fixed."""

import numpy as np

from pymc_nrm.families.base import statistics_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
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
from pymc_nrm.samplers.nested.franchise import remove_customer, seat_customer
from pymc_nrm.samplers.nested.weights_of_places import draw_seat, predictive_weights, relative_weights


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
    """Redraw where every table sits as a customer in the parent of its node, level by level, in random order.

    Each update draws the seat, and all seats above it, from their full conditional, with the predictive density of all
    items of the table.  At level 1 whole components merge and split.  It leaves the posterior invariant.  Alone it is
    not irreducible: the tree stays as it is.
    """
    depth, n = gammas.shape[0] - 1, franchise.seat.shape[0]
    nodes, tables = franchise.nodes, franchise.tables
    seated = np.empty((depth + 1, n))
    row, scratch = np.empty(statistics_size(family)), np.empty(statistics_size(family))
    log_m = log_marginals(state, family)
    f = np.empty(log_m.shape[0])
    for level in range(depth, 0, -1):
        start, order = members(_tables_of_items(franchise, level), n)
        present = tables.active[level, : tables.size[level]].copy()
        for k in random_items(rng, present.shape[0], present.shape[0]):
            check_signals()
            state = grow(state, family)
            log_m, f = with_room(log_m, state.counts.shape[0]), with_room(f, state.counts.shape[0])
            table = present[k]
            items = order[start[table] : start[table + 1]]
            parent = nodes.above[level, franchise.host[level, table]]
            take_block(state, items, row, log_m, family, data)
            remove_customer(franchise, parent, level - 1, tables.above[level, table])
            weigh_block(state, row, scratch, log_m, f, family)
            f_new = relative_weights(f, state)
            predictive_weights(franchise, gammas, f, f_new, level - 1, seated)
            joined, at_level = draw_seat(
                rng, franchise, tables.active, tables.size, gammas, f, f_new, seated, parent, level - 1
            )
            slot = franchise.dish[at_level, joined] if at_level >= 0 else open_slot(state)
            tables.above[level, table] = seat_customer(franchise, parent, level - 1, joined, at_level, slot)
            put_block(state, slot, items, row, log_m, family)
        for lower in range(level, depth + 1):
            for k in range(tables.size[lower]):
                table = tables.active[lower, k]
                franchise.dish[lower, table] = franchise.dish[lower - 1, tables.above[lower, table]]
    refresh_caches(state, family)
    return state
