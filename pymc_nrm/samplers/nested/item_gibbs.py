"""Gibbs updates of single items: path, seats and component together."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.fast import update_cache
from pymc_nrm.generic import kernel
from pymc_nrm.interrupts import check_signals
from pymc_nrm.partitions.clusters import attach, close_slot, grow, open_slot
from pymc_nrm.samplers.nested.franchise import add_path, change_items, remove_customer, seat_customer
from pymc_nrm.samplers.nested.weights_of_places import draw_place, draw_seat, predictive_weights, relative_weights


@kernel
def weigh_places(franchise, levels, seated, reach, places):
    """Weights of the ends of the path of an item: leaves, and nodes of other levels, below which new nodes open.

    Parameters
    ----------
    franchise : Franchise
    levels : Levels
    seated : ndarray, shape (depth + 1, n)
        From :func:`~pymc_nrm.samplers.nested.weights_of_places.predictive_weights`.
    reach, places : ndarray, shape (depth + 1, n)
        Overwritten, with the probability that a path reaches a node, and with the weights.
    """
    nodes, depth = franchise.nodes, levels.alpha.shape[0]
    for level in range(depth + 1):
        for k in range(nodes.size[level]):
            node = nodes.active[level, k]
            if level == 0:
                reach[0, node] = 1.0
            else:
                above = nodes.above[level, node]
                share = nodes.count[level, node] - levels.sigma[level - 1]
                total = nodes.count[level - 1, above] + levels.alpha[level - 1]
                reach[level, node] = reach[level - 1, above] * share / total
            weight = reach[level, node] * seated[level, node]
            n_children = franchise.n_children[level, node]
            if level < depth and n_children > 0:
                opens = levels.alpha[level] + n_children * levels.sigma[level]
                weight *= opens / (nodes.count[level, node] + levels.alpha[level])
            places[level, node] = weight


class Work(NamedTuple):
    """Memory for the weights of an item at all nodes, three arrays of shape (depth + 1, n)."""

    seated: Any
    reach: Any
    places: Any


@kernel
def new_work(n_levels, n):
    """Memory for :func:`insert_item`."""
    return Work(np.empty((n_levels, n)), np.empty((n_levels, n)), np.empty((n_levels, n)))


@kernel
def take_item(state, item, family, data):
    """Take an item out of its component; its label stays."""
    slot = state.labels[item]
    state.counts[slot] -= 1
    if state.counts[slot] == 0:
        close_slot(state, slot)
    else:
        update_cache(family, state.statistics[slot], state.cache[slot], data, item, -1.0)


@kernel
def insert_item(rng, franchise, state, levels, gammas, family, data, item, work, f):
    """Draw path, seats and component of an item that has none; ``f`` is memory with an entry for each slot."""
    depth, tables = levels.alpha.shape[0], franchise.tables
    for k in range(state.size[0] + 1):
        slot = state.active[k]
        f[slot] = log_predictive(family, state.cache[slot], data, item)
    f_new = relative_weights(f, state)
    predictive_weights(franchise, gammas, f, f_new, depth, work.seated)
    weigh_places(franchise, levels, work.seated, work.reach, work.places)
    node, level = draw_place(rng, franchise, work.places)
    joined, at_level = draw_seat(rng, franchise, tables.active, tables.size, gammas, f, f_new, work.seated, node, level)
    slot = franchise.dish[at_level, joined] if at_level >= 0 else open_slot(state)
    leaf = add_path(franchise, node, level, 1)
    franchise.seat[item] = seat_customer(franchise, leaf, depth, joined, at_level, slot)
    attach(state, item, slot, family, data)


@kernel
def item_gibbs(rng, franchise, state, levels, gammas, family, data, items, is_seated):
    """Redraw path, seats and component of each of the given items, in their order.

    Each update draws from the full conditional of the item.  It leaves the posterior invariant for any ``items`` drawn
    independently of the state, and is irreducible if ``items`` are all items: every state reaches the one in which no
    items share a node.

    Parameters
    ----------
    rng : numpy.random.Generator
    franchise : Franchise
    state : State
        The components.
    levels : Levels
    gammas : ndarray of float64, shape (depth + 1,)
    family, data : NamedTuple
    items : ndarray of int64
    is_seated : bool
        False if the items are in no node yet, as at a start; otherwise they leave their places first.

    Returns
    -------
    State
    """
    depth, n = levels.alpha.shape[0], franchise.seat.shape[0]
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
            change_items(franchise, leaf, depth, -1)
            take_item(state, item, family, data)
        insert_item(rng, franchise, state, levels, gammas, family, data, item, work, f)
    return state
