"""Gibbs updates of single items of nested partitions with weights, and one sweep of all kernels.

An item may move to any leaf of a random tree or to a new one; with known paths, only to its own leaf.
"""

from typing import NamedTuple

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import check_signals, generic, kernel
from pymc_nrm.kernels.special import copy_row, draw_categorical, log_rising_factorial
from pymc_nrm.measures.prediction_rules import Levels
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.nested.moves.component_split_merge import component_split_merge
from pymc_nrm.nested.moves.franchise import (
    add_known_path,
    add_path,
    build_franchise,
    change_items,
    close_block,
    empty_franchise,
    franchise_values,
    open_block,
    redraw_tables,
    remove_customer,
)
from pymc_nrm.nested.moves.table_gibbs import (
    draw_place,
    log_marginals,
    log_opening_weight,
    memory_of_slots,
    path_weights,
    predictive_weights,
    relative_weights,
    seating_gibbs,
    table_gibbs,
    take_seat,
)
from pymc_nrm.nested.partitions.nested_levels import KnownPaths
from pymc_nrm.partitions.clusters import attach, build_state, close_slot, empty_state, grow


@generic
def franchise_without_items(levels, n_levels, n):
    """State for n items that have no table yet; only the root exists, unless paths are known."""
    return empty_franchise(n_levels, n)


@franchise_without_items.register(KnownPaths)
def _franchise_of_known_paths(levels, n_levels, n):
    franchise = empty_franchise(n_levels, n)
    for i in range(n):
        add_known_path(franchise, levels.paths[i])
    return franchise


@generic
def leave_leaf(levels, franchise, leaf):
    """Remove an item that has left its table from the nodes of its path, unless its path is known."""


@leave_leaf.register(Levels)
def _leave_random_leaf(levels, franchise, leaf):
    change_items(franchise, leaf, levels.alpha.shape[0], -1)


@generic
def draw_leaf(levels, rng, franchise, gammas, item, f, f_new, work):
    """Draw the leaf of an item that has none, and open it if it is new.

    Returns the leaf, and the lowest old node of its path with its level.  Shapes: ``work`` (3, depth + 1,
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
    """Remove an item from its component; its label is kept."""
    slot = state.labels[item]
    state.counts[slot] -= 1
    if state.counts[slot] == 0:
        close_slot(state, slot)
    else:
        update_cache(family, state.statistics[slot], state.cache[slot], data, item, -1.0)


@kernel
def item_gibbs(rng, franchise, state, levels, gammas, family, data, items, is_seated):
    """Redraw path, seats and component of each item of ``items``, in their order; known paths stay.

    Each update draws from the full conditional of the item.  It leaves the posterior invariant for any ``items`` drawn
    independently of the state, and is irreducible if ``items`` are all items: every state reaches the one in which no
    items share a node or, with known paths, a table.
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


class Sweep(NamedTuple):
    """Kernels that a sweep runs, in this order."""

    items: bool = True
    # tables, levels: Kernels that change nodes, so they run only in random trees.
    tables: bool = True
    seats: bool = True
    levels: bool = True
    # Number of splits or merges of components.
    components: int = 4
    # Whether all tables are redrawn given the components; it does not help in random trees and runs only with known
    # paths.
    arrangement: bool = True


@shared_kernel
def log_density(components, family, data):
    """Log density of the data given the components of the items."""
    return log_marginals(build_state(components, family, data), family).sum()


@shared_kernel
def sequential_start(rng, n, levels, gammas, family, data):
    """Initial value of a chain (n, 2 depth + 1): items in random order, each drawn given the preceding items."""
    state = empty_state(np.zeros(n, dtype=np.int64), 8, family)
    franchise = franchise_without_items(levels, gammas.shape[0], n)
    item_gibbs(rng, franchise, state, levels, gammas, family, data, random_items(rng, n, n), False)
    return franchise_values(franchise)


@generic
def _update_tables(levels, rng, franchise, state, gammas, family, data, kernels):
    return seating_gibbs(rng, franchise, state, gammas, family, data) if kernels.seats else state


@_update_tables.register(Levels)
def _update_tables_and_nodes(levels, rng, franchise, state, gammas, family, data, kernels):
    if kernels.tables:
        state = table_gibbs(rng, franchise, state, levels, gammas, family, data)
    if kernels.seats:
        state = seating_gibbs(rng, franchise, state, gammas, family, data)
    if kernels.levels:
        level_gibbs(rng, franchise, levels, gammas)
    return state


@generic
def _update_arrangement(levels, rng, values, gammas):
    pass


@_update_arrangement.register(KnownPaths)
def _update_arrangement_of_known_paths(levels, rng, values, gammas):
    redraw_tables(rng, values, gammas)


@shared_kernel
def sweep(rng, values, levels, gammas, family, data, kernels):
    """Run each kernel once over the whole state, and leave the posterior invariant; known paths do not change. Returns
    the log density of the data given the components. Shapes: ``values`` (n, 2 depth + 1), ``gammas`` (depth + 1,);
    returns ``values`` (n, 2 depth + 1).
    """
    n = values.shape[0]
    components = values[:, values.shape[1] - 1].copy()
    state = build_state(components, family, data)
    franchise = build_franchise(values, components)
    if kernels.items:
        state = item_gibbs(rng, franchise, state, levels, gammas, family, data, random_items(rng, n, n), True)
    state = _update_tables(levels, rng, franchise, state, gammas, family, data, kernels)
    if n > 1:
        for _ in range(kernels.components):
            franchise, state = component_split_merge(rng, franchise, state, gammas, family, data)
    values = franchise_values(franchise)
    if kernels.arrangement:
        _update_arrangement(levels, rng, values, gammas)
    return values, log_marginals(state, family).sum()


@kernel
def _find(leader, x):
    while leader[x] != x:
        leader[x] = leader[leader[x]]
        x = leader[x]
    return x


@kernel
def _units(franchise, level):
    """Connected tables of a level and children of its nodes, which must stay together: a leader of each set. Returns
    the leader of each table, by slot, and of each node of the level below, by n plus its slot.
    """
    n = franchise.seat.shape[0]
    leader = np.arange(2 * n)
    if level + 1 < franchise.served.shape[0]:
        for k in range(franchise.tables.size[level + 1]):
            table = franchise.tables.active[level + 1, k]
            node = _find(leader, n + franchise.host[level + 1, table])
            # Tables lead, since slots below n are smaller and every unit has a table.
            other = _find(leader, franchise.tables.above[level + 1, table])
            leader[max(node, other)] = min(node, other)
    for x in range(2 * n):
        leader[x] = _find(leader, x)
    return leader


@kernel
def _log_joins(levels, gammas, level, node, unit):
    """Log weight of a unit in a node of a level; both are (items, customers, children), the node may be empty."""
    n_items, served, n_children = node
    more_items, more_served, more_children = unit
    value = -log_rising_factorial(gammas[level] + served, more_served)
    # The first item of a node is certain.
    new = n_items == 0
    value += log_rising_factorial(n_items + new - levels.sigma[level - 1], more_items - new)
    if level < levels.alpha.shape[0]:
        value -= log_rising_factorial(levels.alpha[level] + n_items + new, more_items - new)
        for k in range(n_children, n_children + more_children):
            value += log_opening_weight(levels, level, k)
    return value


@kernel
def level_gibbs(rng, franchise, levels, gammas):
    """Redraw, level by level, the grouping of tables and of the children of nodes into the nodes of a level.

    Tables and children that must stay together form a unit.  Given all else, the units of each node of the level above
    are partitioned with a probability of product form, and each is drawn into a node given the others.  No data are
    used.  It leaves the posterior invariant.  Alone it is not irreducible: tables do not change.
    """
    n, depth = franchise.seat.shape[0], levels.alpha.shape[0]
    nodes, tables = franchise.nodes, franchise.tables
    for level in range(1, depth + 1):
        leader = _units(franchise, level)
        size = np.zeros((n, 3), dtype=np.int64)
        home = np.empty(n, dtype=np.int64)
        for k in range(tables.size[level]):
            table = tables.active[level, k]
            unit = leader[table]
            home[unit] = franchise.host[level, table]
            size[unit, 1] += tables.count[level, table]
            if level == depth:
                size[unit, 0] += tables.count[level, table]
        if level < depth:
            for k in range(nodes.size[level + 1]):
                child = nodes.active[level + 1, k]
                size[leader[n + child], 0] += nodes.count[level + 1, child]
                size[leader[n + child], 2] += 1
        units = np.empty(n, dtype=np.int64)
        n_units = 0
        for k in range(tables.size[level]):
            table = tables.active[level, k]
            if leader[table] == table:
                units[n_units] = table
                n_units += 1
        for k in random_items(rng, n_units, n_units):
            unit = units[k]
            _move_unit(rng, franchise, levels, gammas, level, unit, size, home)
        for k in range(tables.size[level]):
            table = tables.active[level, k]
            franchise.host[level, table] = home[leader[table]]
        if level < depth:
            for k in range(nodes.size[level + 1]):
                child = nodes.active[level + 1, k]
                nodes.above[level + 1, child] = home[leader[n + child]]


@kernel
def _move_unit(rng, franchise, levels, gammas, level, unit, size, home):
    """Draw the node of one unit among the children of the parent of its node, and a new node."""
    nodes, node = franchise.nodes, home[unit]
    parent = nodes.above[level, node]
    unit_counts = (size[unit, 0], size[unit, 1], size[unit, 2])
    _change_node(franchise, level, node, unit_counts, -1)
    if nodes.count[level, node] == 0:
        close_block(nodes, level, node)
        franchise.n_children[level - 1, parent] -= 1
    n_siblings = franchise.n_children[level - 1, parent]
    siblings, values = np.empty(n_siblings, dtype=np.int64), np.empty(n_siblings + 1)
    place = 0
    for k in range(nodes.size[level]):
        other = nodes.active[level, k]
        if nodes.above[level, other] == parent:
            there = (nodes.count[level, other], franchise.served[level, other], franchise.n_children[level, other])
            siblings[place] = other
            values[place] = _log_joins(levels, gammas, level, there, unit_counts)
            place += 1
    empty = (np.int64(0), np.int64(0), np.int64(0))
    values[place] = log_opening_weight(levels, level - 1, n_siblings) + _log_joins(
        levels, gammas, level, empty, unit_counts
    )
    chosen = draw_categorical(rng, values)
    if chosen < n_siblings:
        node = siblings[chosen]
    else:
        node = open_block(nodes, level)
        nodes.above[level, node] = parent
        franchise.served[level, node] = 0
        franchise.n_children[level, node] = 0
        franchise.n_children[level - 1, parent] += 1
    _change_node(franchise, level, node, unit_counts, 1)
    home[unit] = node


@kernel
def _change_node(franchise, level, node, unit, sign):
    franchise.nodes.count[level, node] += sign * unit[0]
    franchise.served[level, node] += sign * unit[1]
    franchise.n_children[level, node] += sign * unit[2]
