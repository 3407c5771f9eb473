"""Kernels for nested partitions whose paths are known: tables and components change, nodes stay."""

from typing import NamedTuple

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.generic import kernel
from pymc_nrm.interrupts import check_signals
from pymc_nrm.partitions.clusters import State, attach, build_state, grow, open_slot
from pymc_nrm.samplers.marginal_gibbs import random_items
from pymc_nrm.samplers.nested.blocks_of_items import log_marginals
from pymc_nrm.samplers.nested.component_split_merge import component_split_merge
from pymc_nrm.samplers.nested.franchise import (
    build_franchise,
    empty_franchise,
    franchise_values,
    remove_customer,
    seat_customer,
)
from pymc_nrm.samplers.nested.item_gibbs import take_item
from pymc_nrm.samplers.nested.seating import seating_gibbs
from pymc_nrm.samplers.nested.table_arrangement import redraw_tables
from pymc_nrm.samplers.nested.weights_of_places import draw_seat, path_weights, relative_weights


class SeatSweep(NamedTuple):
    """Which kernels a sweep runs, in this order.

    Parameters
    ----------
    items, seats : bool
    components : int
        Number of splits or merges of components.
    tables : bool
        Whether all tables are redrawn given the components.
    """

    items: bool = True
    seats: bool = True
    components: int = 4
    tables: bool = True


@kernel
def seat_gibbs(rng, franchise, state, gammas, family, data, paths, items, is_seated):
    """Redraw seats and component of each of the given items in its leaf, in their order.

    Each update draws from the full conditional of the item.  It leaves the posterior invariant for any ``items`` drawn
    independently of the state, and is irreducible if ``items`` are all items: every state reaches the one in which no
    items share a table.

    Parameters
    ----------
    rng : numpy.random.Generator
    franchise : Franchise
    state : State
        The components.
    gammas : ndarray of float64, shape (depth + 1,)
    family, data : NamedTuple
    paths : ndarray of int64, shape (n, at least depth)
        Nodes of levels 1 to depth, which are slots of the franchise; further columns are ignored.
    items : ndarray of int64
    is_seated : bool
        False if the items are at no table yet, as at a start; otherwise they leave their tables first.

    Returns
    -------
    State
    """
    depth, n = gammas.shape[0] - 1, franchise.seat.shape[0]
    tables, seated = franchise.tables, np.empty((depth + 1, n))
    path, f = np.zeros(depth + 1, dtype=np.int64), np.empty(state.counts.shape[0])
    for index in range(items.shape[0]):
        if index % 64 == 0:
            check_signals()
        state = grow(state, family)
        if f.shape[0] < state.counts.shape[0]:
            f = np.empty(state.counts.shape[0])
        item = items[index]
        path[1:] = paths[item, :depth]
        leaf = path[depth]
        if is_seated:
            remove_customer(franchise, leaf, depth, franchise.seat[item])
            take_item(state, item, family, data)
        for k in range(state.size[0] + 1):
            slot = state.active[k]
            f[slot] = log_predictive(family, state.cache[slot], data, item)
        f_new = relative_weights(f, state)
        path_weights(franchise, tables.active, tables.size, gammas, f, f_new, path, seated)
        joined, at_level = draw_seat(rng, franchise, tables.active, tables.size, gammas, f, f_new, seated, leaf, depth)
        slot = franchise.dish[at_level, joined] if at_level >= 0 else open_slot(state)
        franchise.seat[item] = seat_customer(franchise, leaf, depth, joined, at_level, slot)
        attach(state, item, slot, family, data)
    return state


@kernel
def franchise_of_paths(paths, depth):
    """State of known paths, with slots that are their labels, in which nobody has a table yet."""
    franchise = empty_franchise(depth + 1, paths.shape[0])
    nodes = franchise.nodes
    for i in range(paths.shape[0]):
        above = 0
        nodes.count[0, 0] += 1
        for level in range(1, depth + 1):
            node = paths[i, level - 1]
            if node == nodes.size[level]:
                nodes.size[level] += 1
                nodes.above[level, node] = above
                franchise.n_children[level - 1, above] += 1
            nodes.count[level, node] += 1
            above = node
    return franchise


@kernel
def sequential_seats(rng, paths, gammas, family, data):
    """A value for the start of a chain: items come in random order, each drawn given those before it.

    Parameters
    ----------
    rng : numpy.random.Generator
    paths : ndarray of int64, shape (n, at least depth)
    gammas : ndarray of float64, shape (depth + 1,)
    family, data : NamedTuple

    Returns
    -------
    ndarray of int64, shape (n, 2 depth + 1)
    """
    n = paths.shape[0]
    empty = build_state(np.zeros(0, dtype=np.int64), family, data)
    labels = np.zeros(n, dtype=np.int64)
    state = State(labels, empty.counts, empty.statistics, empty.cache, empty.active, empty.position, empty.size)
    franchise = franchise_of_paths(paths, gammas.shape[0] - 1)
    seat_gibbs(rng, franchise, state, gammas, family, data, paths, random_items(rng, n, n), False)
    return franchise_values(franchise)


@kernel
def seat_sweep(rng, values, gammas, family, data, kernels):
    """Run each of some kernels once over all tables; it leaves the posterior given the paths invariant.

    A whole leaf table gets another seat above by the kernel that redraws the seats of tables.

    Parameters
    ----------
    rng : numpy.random.Generator
    values : ndarray of int64, shape (n, 2 depth + 1)
        In canonical form; its paths stay.
    gammas : ndarray of float64, shape (depth + 1,)
    family, data : NamedTuple
    kernels : SeatSweep

    Returns
    -------
    values : ndarray of int64, shape (n, 2 depth + 1)
    log_likelihood : float
        Log density of the data given the components.
    """
    n = values.shape[0]
    components = values[:, values.shape[1] - 1].copy()
    state = build_state(components, family, data)
    franchise = build_franchise(values, components)
    if kernels.items:
        state = seat_gibbs(rng, franchise, state, gammas, family, data, values, random_items(rng, n, n), True)
    if kernels.seats:
        state = seating_gibbs(rng, franchise, state, gammas, family, data)
    if n > 1:
        for _ in range(kernels.components):
            franchise, state = component_split_merge(rng, franchise, state, gammas, family, data)
    values = franchise_values(franchise)
    if kernels.tables:
        redraw_tables(rng, values, gammas)
    return values, log_marginals(state, family).sum()
