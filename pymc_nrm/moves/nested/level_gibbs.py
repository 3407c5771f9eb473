"""Gibbs updates of one level of the tree, with tables and all other levels fixed."""

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_categorical, log_rising_factorial
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.moves.nested.franchise import close_block, open_block
from pymc_nrm.moves.nested.table_gibbs import log_opening_weight


@kernel
def _find(leader, x):
    while leader[x] != x:
        leader[x] = leader[leader[x]]
        x = leader[x]
    return x


@kernel
def _units(franchise, level):
    """Connected tables of a level and children of its nodes, which must stay together: a leader of each. Returns the
    leader of each table, by slot, and of each node of the level below, by n plus its slot.
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
    """Log weight of a unit in a node of a level; both are (items, customers, children), the node maybe empty."""
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
    """Redraw, level by level, how tables and the children of nodes are grouped into the nodes of a level.

    What must stay together is a unit.  Given all else, the units of each node of the level above are partitioned with
    a probability of product form, and each is drawn into a node given the others.  No data enter.  It leaves the
    posterior invariant.  Alone it is not irreducible: tables stay as they are.
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
    """Draw the node of one unit among the children of the parent of its node, and a new one."""
    nodes, node = franchise.nodes, home[unit]
    parent = nodes.above[level, node]
    own = (size[unit, 0], size[unit, 1], size[unit, 2])
    _change_node(franchise, level, node, own, -1)
    if nodes.count[level, node] == 0:
        close_block(nodes, level, node)
        franchise.n_children[level - 1, parent] -= 1
    n_siblings = franchise.n_children[level - 1, parent]
    siblings, values = np.empty(n_siblings, dtype=np.int64), np.empty(n_siblings + 1)
    found = 0
    for k in range(nodes.size[level]):
        other = nodes.active[level, k]
        if nodes.above[level, other] == parent:
            there = (nodes.count[level, other], franchise.served[level, other], franchise.n_children[level, other])
            siblings[found] = other
            values[found] = _log_joins(levels, gammas, level, there, own)
            found += 1
    empty = (np.int64(0), np.int64(0), np.int64(0))
    values[found] = log_opening_weight(levels, level - 1, n_siblings) + _log_joins(levels, gammas, level, empty, own)
    chosen = draw_categorical(rng, values)
    if chosen < n_siblings:
        node = siblings[chosen]
    else:
        node = open_block(nodes, level)
        nodes.above[level, node] = parent
        franchise.served[level, node] = 0
        franchise.n_children[level, node] = 0
        franchise.n_children[level - 1, parent] += 1
    _change_node(franchise, level, node, own, 1)
    home[unit] = node


@kernel
def _change_node(franchise, level, node, unit, sign):
    franchise.nodes.count[level, node] += sign * unit[0]
    franchise.served[level, node] += sign * unit[1]
    franchise.n_children[level, node] += sign * unit[2]
