"""The state of kernels for nested partitions with weights: nodes and tables of all levels, and their parents."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_gamma
from pymc_nrm.partitions.labels import canonical_columns, rename_in_order


class Blocks(NamedTuple):
    """Nodes or tables of all levels, in slots; row l of each array is level l."""

    # active, position: A permutation of the slots of each level, occupied slots first, and its inverse; int64 of shape
    # (depth + 1, n).
    active: Any
    position: Any
    # Numbers of occupied slots; int64 of shape (depth + 1,).
    size: Any
    # Slot of the node or table of the level above that contains a block; int64 of shape (depth + 1, n).
    above: Any
    # Items of a node, customers of a table; int64 of shape (depth + 1, n).
    count: Any


class Franchise(NamedTuple):
    """Nodes, tables and seats, which kernels change in place.

    The root is slot 0 of level 0 and never closed.  A table of level l > 0 is a customer in the parent of its node.
    """

    nodes: Blocks
    tables: Blocks
    # served, n_children: Customers and children of each node; int64 of shape (depth + 1, n).
    served: Any
    n_children: Any
    # Node of each table, of the same level; int64 of shape (depth + 1, n).
    host: Any
    # Component of each table, a slot of `State`. Int64 of shape (depth + 1, n).
    dish: Any
    # Table of each item at the last level; int64 of shape (n,).
    seat: Any


@kernel
def _empty_blocks(n_levels, n):
    order = np.empty((n_levels, n), dtype=np.int64)
    for level in range(n_levels):
        for slot in range(n):
            order[level, slot] = slot
    zeros = np.zeros((n_levels, n), dtype=np.int64)
    return Blocks(order, order.copy(), np.zeros(n_levels, dtype=np.int64), zeros, zeros.copy())


@kernel
def open_block(blocks, level):
    """Occupy the first empty slot of a level and return it; its count is 0."""
    slot = blocks.active[level, blocks.size[level]]
    blocks.size[level] += 1
    blocks.count[level, slot] = 0
    return slot


@kernel
def close_block(blocks, level, slot):
    """Make a slot empty."""
    last = blocks.size[level] - 1
    here, other = blocks.position[level, slot], blocks.active[level, last]
    blocks.active[level, here], blocks.active[level, last] = other, slot
    blocks.position[level, other], blocks.position[level, slot] = here, last
    blocks.size[level] = last


@kernel
def empty_franchise(n_levels, n):
    """State for n items that are in no node yet; only the root exists."""
    nodes, tables = _empty_blocks(n_levels, n), _empty_blocks(n_levels, n)
    zeros = np.zeros((n_levels, n), dtype=np.int64)
    nodes.size[0] = 1
    seat = np.empty(n, dtype=np.int64)
    return Franchise(nodes, tables, zeros, zeros.copy(), zeros.copy(), zeros.copy(), seat)


@kernel
def add_known_path(franchise, path):
    """Add an item to the nodes of a path, in which slots are labels in order of appearance; shape (at least depth,)."""
    nodes, above = franchise.nodes, 0
    nodes.count[0, 0] += 1
    for level in range(1, nodes.size.shape[0]):
        node = path[level - 1]
        if node == nodes.size[level]:
            nodes.size[level] += 1
            nodes.above[level, node] = above
            franchise.n_children[level - 1, above] += 1
        nodes.count[level, node] += 1
        above = node


@kernel
def build_franchise(values, components):
    """State for values (n, 2 depth + 1), components (n,): slots are labels, and the dish of component k is slot k."""
    n, depth = values.shape[0], values.shape[1] // 2
    franchise = empty_franchise(depth + 1, n)
    tables = franchise.tables
    for i in range(n):
        add_known_path(franchise, values[i])
        franchise.seat[i] = values[i, depth]
        below, was_new = i, True
        for level in range(depth, -1, -1):
            node = values[i, level - 1] if level > 0 else 0
            table = values[i, 2 * depth - level]
            if was_new:
                franchise.served[level, node] += 1
                tables.count[level, table] += 1
                if level < depth:
                    tables.above[level + 1, below] = table
            was_new = table == tables.size[level]
            if was_new:
                tables.size[level] += 1
                franchise.host[level, table] = node
                franchise.dish[level, table] = components[i]
            below = table
    return franchise


@kernel
def franchise_values(franchise):
    """The value of a state, shape (n, 2 depth + 1), columns in order of appearance."""
    n, depth = franchise.seat.shape[0], franchise.served.shape[0] - 1
    values = np.empty((n, 2 * depth + 1), dtype=np.int64)
    for i in range(n):
        table = franchise.seat[i]
        node = franchise.host[depth, table]
        for level in range(depth, -1, -1):
            values[i, 2 * depth - level] = table
            if level > 0:
                values[i, level - 1] = node
                table, node = franchise.tables.above[level, table], franchise.nodes.above[level, node]
    canonical_columns(values, n)
    return values


@kernel
def change_items(franchise, node, level, amount):
    """Add items to a node of a level and to all nodes above it; nodes that become empty are closed."""
    nodes = franchise.nodes
    while level >= 0:
        above = nodes.above[level, node]
        nodes.count[level, node] += amount
        if level > 0 and nodes.count[level, node] == 0:
            close_block(nodes, level, node)
            franchise.n_children[level - 1, above] -= 1
        node = above
        level -= 1


@kernel
def remove_customer(franchise, node, level, table):
    """Remove a customer from a table of a level, and from its node; empty tables are closed, all the way up.

    Nodes stay, even if they have no customers left.
    """
    nodes, tables = franchise.nodes, franchise.tables
    while level >= 0:
        franchise.served[level, node] -= 1
        tables.count[level, table] -= 1
        if tables.count[level, table] > 0:
            return
        close_block(tables, level, table)
        table, node = tables.above[level, table], nodes.above[level, node]
        level -= 1


@kernel
def add_path(franchise, node, level, n_items):
    """Open a chain of nodes below a node of a level, down to the leaves, and add items to it; return the leaf."""
    nodes, depth = franchise.nodes, franchise.served.shape[0] - 1
    for below in range(level + 1, depth + 1):
        child = open_block(nodes, below)
        nodes.above[below, child] = node
        franchise.n_children[below - 1, node] += 1
        franchise.served[below, child] = 0
        franchise.n_children[below, child] = 0
        node = child
    change_items(franchise, node, depth, n_items)
    return node


@kernel
def seat_customer(franchise, node, level, joined, at_level, dish):
    """Seat a customer of a node at a table of ``level``; open tables below ``at_level``; return the table."""
    nodes, tables = franchise.nodes, franchise.tables
    first, below = -1, -1
    while True:
        franchise.served[level, node] += 1
        table = joined if level == at_level else open_block(tables, level)
        tables.count[level, table] += 1
        if below >= 0:
            tables.above[level + 1, below] = table
        else:
            first = table
        if level == at_level:
            return first
        franchise.host[level, table] = node
        franchise.dish[level, table] = dish
        if level == 0:
            return first
        below, node = table, nodes.above[level, node]
        level -= 1


@kernel
def redraw_tables(rng, values, gammas):
    """Redraw weights, then all tables, in place, from their full conditionals: the posterior stays invariant."""
    # Not irreducible alone: paths and components do not change.
    n_components = values[:, values.shape[1] - 1].max() + 1
    arrange_tables(rng, values, gammas, _node_weights(rng, values, gammas, n_components))


@kernel
def arrange_tables(rng, values, gammas, weights):
    """Redraw all tables given paths, components and ``weights[level, node, component]``, in place.

    Nodes and components may have any labels; each column of tables is in order of appearance.
    """
    n, depth = values.shape[0], values.shape[1] // 2
    components = values[:, 2 * depth]
    # The first item of a customer identifies it.
    customers, customer_of = np.arange(n), np.arange(n)
    keys, seats = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for level in range(depth, 0, -1):
        n_customers = customers.shape[0]
        for j in range(n_customers):
            keys[j] = values[customers[j], level - 1] * weights.shape[2] + components[customers[j]]
        order = np.argsort(keys[:n_customers])
        n_tables, begin = 0, 0
        for place in range(n_customers):
            customer = order[place]
            if place == 0 or keys[customer] != keys[order[place - 1]]:
                begin = place
                item = customers[customer]
                parent = values[item, level - 2] if level > 1 else 0
                concentration = gammas[level] * weights[level - 1, parent, components[item]]
            seated = place - begin
            if seated == 0 or rng.random() * (seated + concentration) < concentration:
                seats[customer] = n_tables
                n_tables += 1
            else:
                seats[customer] = seats[order[begin + int(rng.random() * seated)]]
        column = values[:, 2 * depth - level]
        for i in range(n):
            column[i] = seats[customer_of[i]]
        n_tables = rename_in_order(column, n)
        customers = np.full(n_tables, -1, dtype=np.int64)
        for i in range(n - 1, -1, -1):
            customer_of[i] = column[i]
            customers[column[i]] = i


@kernel
def _node_weights(rng, values, gammas, n_components):
    """Weights of the components at all inner nodes, given the tables. Rows are nodes by level and label; the last
    column is the weight of all other components. Shapes: returns (depth, n_nodes, n_components + 1).
    """
    n, depth = values.shape[0], values.shape[1] // 2
    components = values[:, 2 * depth]
    n_nodes = 1
    for level in range(1, depth):
        n_nodes = max(n_nodes, values[:, level - 1].max() + 1)
    weights = np.zeros((depth, n_nodes, n_components + 1))
    above = np.zeros(n_nodes, dtype=np.int64)
    for level in range(depth):
        level_weights, tables = weights[level], values[:, 2 * depth - level - 1]
        here, n_customers = 1, 0
        for i in range(n):
            node = values[i, level - 1] if level > 0 else 0
            if level > 0:
                above[node] = values[i, level - 2] if level > 1 else 0
                here = max(here, node + 1)
            # Customers are tables of the level below, in order of appearance.
            if tables[i] == n_customers:
                level_weights[node, components[i]] += 1.0
                n_customers += 1
        level_weights[0, n_components] += gammas[0] if level == 0 else 0.0
        for node in range(here):
            total = 0.0
            for k in range(n_components + 1):
                shape = level_weights[node, k]
                if level > 0:
                    shape += gammas[level] * weights[level - 1, above[node], k]
                level_weights[node, k] = draw_gamma(rng, shape) if shape > 0.0 else 0.0
                total += level_weights[node, k]
            for k in range(n_components + 1):
                level_weights[node, k] /= total
    return weights
