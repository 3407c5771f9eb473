"""The nodes of a tree as kernels change them: who is whose parent, and what the items below say about its mean."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel


class NodeTree(NamedTuple):
    """Nodes by level and slot, with whitened data (S = I) or in the units of the data.

    The items below a node z say about its mean what one observation of value ``totals / precisions`` with precision
    ``precisions`` would: ``precisions`` is the sum of q, and ``totals`` the sum of ``q b``, over the messages (b, q) of
    its children.  The node itself tells its parent b with precision ``q = p / (1 + tau p)``.  Items are a level below
    the leaves, with q = 1 and, as if p were 1, tau = 0.
    """

    # Slot of the node of each item at levels 1, ..., depth. Int64 of shape (n, depth).
    paths: Any
    # counts, n_children, parents: Items below each node, its children (for leaves their items), and the slot of its
    # parent; int64 of shape (depth + 1, n).
    counts: Any
    n_children: Any
    parents: Any
    # active, position: `active` is a permutation of the slots of a level with the occupied ones first, `position` its
    # inverse; int64 of shape (depth + 1, n).
    active: Any
    position: Any
    # Number of nodes of each level; int64 of shape (depth + 1,).
    sizes: Any
    # Shape (depth + 1, n).
    precisions: Any
    # Memory of slots that were never occupied is never touched; shape (depth + 1, n, d).
    totals: Any
    # Variance of the step to a node of each level from its parent; 0 for items; shape (depth + 2,).
    tau: Any


@kernel
def build_node_tree(paths, values, tau):
    """Build the state of a tree. Shapes: ``paths`` (n, depth), ``values`` (n, d), ``tau`` (depth + 1,)."""
    n, depth = paths.shape
    d = values.shape[1]
    shape = (depth + 1, n)
    active, position = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    steps = np.zeros(depth + 2)
    for level in range(depth + 1):
        steps[level] = tau[level]
        for slot in range(n):
            active[level, slot] = position[level, slot] = slot
    tree = NodeTree(
        paths,
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        active,
        position,
        np.zeros(depth + 1, dtype=np.int64),
        np.zeros(shape),
        np.empty((depth + 1, n, d)),
        steps,
    )
    _open_slot(tree, 0, 0)
    for item in range(n):
        node = 0
        tree.counts[0, 0] += 1
        for level in range(1, depth + 1):
            slot = paths[item, level - 1]
            if tree.counts[level, slot] == 0:
                open_node(tree, level, slot, node)
            tree.counts[level, slot] += 1
            node = slot
        tree.n_children[depth, node] += 1
        tree.precisions[depth, node] += 1.0
        for j in range(d):
            tree.totals[depth, node, j] += values[item, j]
    for level in range(depth, 0, -1):
        for k in range(tree.sizes[level]):
            slot = active[level, k]
            above = tree.parents[level, slot]
            shrinkage = 1.0 / (1.0 + steps[level] * tree.precisions[level, slot])
            tree.precisions[level - 1, above] += shrinkage * tree.precisions[level, slot]
            for j in range(d):
                tree.totals[level - 1, above, j] += shrinkage * tree.totals[level, slot, j]
    return tree


@kernel
def _open_slot(tree, level, slot):
    place, end = tree.position[level, slot], tree.sizes[level]
    other = tree.active[level, end]
    tree.active[level, place], tree.active[level, end] = other, slot
    tree.position[level, other], tree.position[level, slot] = place, end
    tree.sizes[level] += 1
    tree.counts[level, slot] = 0
    tree.n_children[level, slot] = 0
    tree.precisions[level, slot] = 0.0
    for j in range(tree.totals.shape[2]):
        tree.totals[level, slot, j] = 0.0


@kernel
def open_node(tree, level, slot, parent):
    """Make a node without items at a free slot, below a node of the level above."""
    _open_slot(tree, level, slot)
    tree.parents[level, slot] = parent
    tree.n_children[level - 1, parent] += 1


@kernel
def close_node(tree, level, slot):
    """Free the slot of a node without items."""
    tree.n_children[level - 1, tree.parents[level, slot]] -= 1
    tree.sizes[level] -= 1
    place, end = tree.position[level, slot], tree.sizes[level]
    other = tree.active[level, end]
    tree.active[level, place], tree.active[level, end] = other, slot
    tree.position[level, other], tree.position[level, slot] = place, end


@kernel(inner_loop=True)
def add_message(tree, level, slot, n_items, precision, total):
    """Add what new items say to a node and all nodes above it; nodes that are left without items are closed."""
    d = total.shape[0]
    for upper in range(level, -1, -1):
        tree.counts[upper, slot] += n_items
        old, tau = tree.precisions[upper, slot], tree.tau[upper]
        empty = tree.counts[upper, slot] == 0
        if empty:
            precision = -old
        shrinkage = 1.0 / (1.0 + tau * old)
        tree.precisions[upper, slot] = old + precision
        new_shrinkage = 1.0 / (1.0 + tau * (old + precision))
        # The change of p / (1 + tau p) and of total / (1 + tau p), without differences that cancel.
        step = tau * precision * shrinkage
        for j in range(d):
            before = tree.totals[upper, slot, j]
            change = -before if empty else total[j]
            tree.totals[upper, slot, j] = before + change
            total[j] = new_shrinkage * (change - step * before)
        precision *= shrinkage * new_shrinkage
        above = tree.parents[upper, slot]
        if empty and upper > 0:
            close_node(tree, upper, slot)
        slot = above
