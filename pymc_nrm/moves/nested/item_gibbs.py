"""Gibbs updates of single items: path, seats and component together.

An item may go to any leaf of a random tree or a new one; with known paths, to its own leaf.
"""

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, generic, kernel
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.moves.nested.franchise import add_known_path, add_path, change_items, empty_franchise, remove_customer
from pymc_nrm.moves.nested.table_gibbs import (
    draw_place,
    memory_of_slots,
    path_weights,
    predictive_weights,
    relative_weights,
    take_seat,
)
from pymc_nrm.partitions.clusters import attach, close_slot, grow
from pymc_nrm.partitions.nested_laws.levels import KnownPaths, Levels


@generic
def franchise_without_items(levels, n_levels, n):
    """State for n items that have no table yet; only the root, unless paths are known."""
    return empty_franchise(n_levels, n)


@franchise_without_items.register(KnownPaths)
def _franchise_of_known_paths(levels, n_levels, n):
    franchise = empty_franchise(n_levels, n)
    for i in range(n):
        add_known_path(franchise, levels.paths[i])
    return franchise


@generic
def leave_leaf(levels, franchise, leaf):
    """Take an item that has left its table out of the nodes of its path, unless its path is known."""


@leave_leaf.register(Levels)
def _leave_random_leaf(levels, franchise, leaf):
    change_items(franchise, leaf, levels.alpha.shape[0], -1)


@generic
def draw_leaf(levels, rng, franchise, gammas, item, f, f_new, work):
    """Draw the leaf of an item that has none, and open it if it is new.

    Returns the leaf, and the lowest node of its path that is not new with its level.  Shapes: ``work`` (3, depth + 1,
    n), of which ``work[0]`` receives the predictive weights of nodes.
    """
    raise NotImplementedError


@draw_leaf.register(Levels)
def _draw_random_leaf(levels, rng, franchise, gammas, item, f, f_new, work):
    seated, reach, places = work[0], work[1], work[2]
    predictive_weights(franchise, gammas, f, f_new, levels.alpha.shape[0], seated)
    weigh_places(franchise, levels, seated, reach, places)
    node, level = draw_place(rng, franchise, places)
    return add_path(franchise, node, level, 1), node, level


@draw_leaf.register(KnownPaths)
def _known_leaf(levels, rng, franchise, gammas, item, f, f_new, work):
    tables, depth = franchise.tables, levels.paths.shape[1]
    path = np.zeros(depth + 1, dtype=np.int64)
    copy_row(path[1:], levels.paths[item])
    path_weights(franchise, tables.active, tables.size, gammas, f, f_new, path, work[0])
    return path[depth], path[depth], depth


@kernel
def weigh_places(franchise, levels, seated, reach, places):
    """Weights of the ends of the path of an item: leaves, and nodes of other levels, below which new nodes open.
    Shapes: ``seated`` (depth + 1, n), ``reach`` (depth + 1, n), ``places`` (depth + 1, n).
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
def item_gibbs(rng, franchise, state, levels, gammas, family, data, items, is_seated):
    """Redraw path, seats and component of each of the given items, in their order; known paths stay.

    Each update draws from the full conditional of the item.  It leaves the posterior invariant for any ``items`` drawn
    independently of the state, and is irreducible if ``items`` are all items: every state reaches the one in which no
    items share a node, or where paths are known, a table.
    """
    depth, n = gammas.shape[0] - 1, franchise.seat.shape[0]
    work, f = np.empty((3, depth + 1, n)), memory_of_slots(n)
    for index in range(items.shape[0]):
        if index % 64 == 0:
            check_signals()
        state = grow(state, family)
        item = items[index]
        if is_seated:
            table = franchise.seat[item]
            leaf = franchise.host[depth, table]
            remove_customer(franchise, leaf, depth, table)
            leave_leaf(levels, franchise, leaf)
            _take_item(state, item, family, data)
        for k in range(state.size[0] + 1):
            slot = state.active[k]
            f[slot] = log_predictive(family, state.cache[slot], data, item)
        f_new = relative_weights(f, state)
        leaf, node, level = draw_leaf(levels, rng, franchise, gammas, item, f, f_new, work)
        table, slot = take_seat(rng, franchise, state, gammas, f, f_new, work[0], node, level, leaf, depth)
        franchise.seat[item] = table
        attach(state, item, slot, family, data)
    return state
