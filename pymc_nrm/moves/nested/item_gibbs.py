"""Gibbs updates of single items: path, seats and component together."""

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.moves.nested.franchise import remove_customer, seat_customer
from pymc_nrm.moves.nested.places import draw_leaf, leave_leaf, new_work
from pymc_nrm.moves.nested.weights_of_places import relative_weights
from pymc_nrm.partitions.clusters import attach, close_slot, grow, open_slot


@kernel
def _take_item(state, item, family, data):
    """Take an item out of its component; its label stays."""
    slot = state.labels[item]
    state.counts[slot] -= 1
    if state.counts[slot] == 0:
        close_slot(state, slot)
    else:
        update_cache(family, state.statistics[slot], state.cache[slot], data, item, -1.0)


@kernel
def _insert_item(rng, franchise, state, levels, gammas, family, data, item, work, f):
    """Draw leaf, seats and component of an item that has none; ``f`` is memory with an entry for each slot."""
    for k in range(state.size[0] + 1):
        slot = state.active[k]
        f[slot] = log_predictive(family, state.cache[slot], data, item)
    f_new = relative_weights(f, state)
    leaf, joined, at_level = draw_leaf(levels, rng, franchise, gammas, item, f, f_new, work)
    slot = franchise.dish[at_level, joined] if at_level >= 0 else open_slot(state)
    franchise.seat[item] = seat_customer(franchise, leaf, gammas.shape[0] - 1, joined, at_level, slot)
    attach(state, item, slot, family, data)


@kernel
def item_gibbs(rng, franchise, state, levels, gammas, family, data, items, is_seated):
    """Redraw path, seats and component of each of the given items, in their order; known paths stay.

    Each update draws from the full conditional of the item.  It leaves the posterior invariant for any ``items`` drawn
    independently of the state, and is irreducible if ``items`` are all items: every state reaches the one in which no
    items share a node, or where paths are known, a table.
    """
    depth, n = gammas.shape[0] - 1, franchise.seat.shape[0]
    work = new_work(depth + 1, n)
    f = np.empty(state.counts.shape[0])
    for index in range(items.shape[0]):
        if index % 64 == 0:
            check_signals()
        state = grow(state, family)
        if f.shape[0] < state.counts.shape[0]:
            f = np.empty(state.counts.shape[0])
        item = items[index]
        if is_seated:
            table = franchise.seat[item]
            leaf = franchise.host[depth, table]
            remove_customer(franchise, leaf, depth, table)
            leave_leaf(levels, franchise, leaf)
            _take_item(state, item, family, data)
        _insert_item(rng, franchise, state, levels, gammas, family, data, item, work, f)
    return state
