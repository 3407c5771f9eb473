"""Forward draws of nested partitions and of their tables."""

import numpy as np

from pymc_nrm.generic import kernel
from pymc_nrm.nested.labels import rename_in_order

__all__ = ["draw_nested", "draw_paths", "members"]


@kernel
def members(labels, n_labels):
    """Items sorted by their label, from 0 to ``n_labels - 1``; those of label k are ``order[start[k] : start[k + 1]]``.

    Returns
    -------
    start : ndarray of int64, shape (n_labels + 1,)
    order : ndarray of int64, shape (n,)
    """
    start = np.zeros(n_labels + 1, dtype=np.int64)
    for i in range(labels.shape[0]):
        start[labels[i] + 1] += 1
    for k in range(n_labels):
        start[k + 1] += start[k]
    place = start.copy()
    order = np.empty(labels.shape[0], dtype=np.int64)
    for i in range(labels.shape[0]):
        order[place[labels[i]]] = i
        place[labels[i]] += 1
    return start, order


@kernel
def _draw_groups(rng, rooms, n_rooms, alpha, sigma):
    """Draw the group of each customer, room by room, by the prediction rule; labels in order of appearance."""
    start, order = members(rooms, n_rooms)
    groups = np.empty(rooms.shape[0], dtype=np.int64)
    sizes = np.zeros(rooms.shape[0], dtype=np.int64)
    n_groups = 0
    for room in range(n_rooms):
        n_before = n_groups
        for place in range(start[room], start[room + 1]):
            seated = place - start[room]
            if seated == 0 or rng.random() * (seated + alpha) < alpha + sigma * (n_groups - n_before):
                group = n_groups
                n_groups += 1
            else:
                # Propose a group of m customers with probability m / seated, and accept it with (m - sigma) / m.
                group = groups[order[start[room] + int(rng.random() * seated)]]
                while rng.random() * sizes[group] > sizes[group] - sigma:
                    group = groups[order[start[room] + int(rng.random() * seated)]]
            groups[order[place]] = group
            sizes[group] += 1
    rename_in_order(groups, n_groups)
    return groups, n_groups


@kernel
def draw_paths(rng, levels, n):
    """Draw the paths of n items.

    Parameters
    ----------
    rng : numpy.random.Generator
    levels : Levels
    n : int

    Returns
    -------
    ndarray of int64, shape (n, depth)
        Nodes of levels 1 to depth, each column in order of appearance.
    """
    depth = levels.alpha.shape[0]
    paths = np.empty((n, depth), dtype=np.int64)
    nodes, n_nodes = np.zeros(n, dtype=np.int64), 1
    for level in range(depth):
        nodes, n_nodes = _draw_groups(rng, nodes, n_nodes, levels.alpha[level], levels.sigma[level])
        paths[:, level] = nodes
    return paths


@kernel
def draw_nested(rng, levels, gammas, n):
    """Draw the paths and the tables of n items.

    Parameters
    ----------
    rng : numpy.random.Generator
    levels : Levels
    gammas : ndarray of float64, shape (depth + 1,)
        Concentrations of the weights of levels 0 to depth.
    n : int

    Returns
    -------
    ndarray of int64, shape (n, 2 depth + 1)
        Columns as in :class:`~pymc_nrm.nested.labels.NestedLabels`.
    """
    depth = levels.alpha.shape[0]
    values = np.empty((n, 2 * depth + 1), dtype=np.int64)
    values[:, :depth] = draw_paths(rng, levels, n)
    # Customers of the leaves are items, those of other nodes the tables of the level below; each is known by an item.
    customers, own = np.arange(n), np.arange(n)
    for level in range(depth, -1, -1):
        rooms = np.zeros(customers.shape[0], dtype=np.int64)
        if level > 0:
            for j in range(customers.shape[0]):
                rooms[j] = values[customers[j], level - 1]
        groups, n_groups = _draw_groups(rng, rooms, n, gammas[level], 0.0)
        for i in range(n):
            own[i] = groups[own[i]]
            values[i, 2 * depth - level] = own[i]
        first = np.full(n_groups, -1, dtype=np.int64)
        for j in range(customers.shape[0] - 1, -1, -1):
            first[groups[j]] = customers[j]
        customers = first
    return values
