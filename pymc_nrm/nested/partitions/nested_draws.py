"""Draws of nested partitions and of their tables, and the places of one more item."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.measures.gibbs_type import draw_cluster
from pymc_nrm.measures.prediction_rules import Levels
from pymc_nrm.nested.partitions.nested_levels import KnownPaths
from pymc_nrm.partitions.labels import members, rename_in_order


@kernel
def _draw_groups(rng, rooms, n_rooms, alpha, sigma, known_groups):
    """Draw the group of each customer, room by room, by the prediction rule; labels in order of appearance.

    The first customers have the groups ``known_groups``, labels in order of appearance.
    """
    start, order = members(rooms, n_rooms)
    groups = np.empty(rooms.shape[0], dtype=np.int64)
    sizes = np.zeros(rooms.shape[0], dtype=np.int64)
    n_known = known_groups.shape[0]
    n_groups = known_groups.max() + 1 if n_known else 0
    seated_groups = np.empty(rooms.shape[0], dtype=np.int64)
    for room in range(n_rooms):
        n_own = 0
        for place in range(start[room], start[room + 1]):
            seated = place - start[room]
            if order[place] < n_known:
                group = known_groups[order[place]]
                n_own += sizes[group] == 0
            elif seated == 0 or rng.random() * (seated + alpha) < alpha + sigma * n_own:
                group = n_groups
                n_groups += 1
                n_own += 1
            else:
                group = draw_cluster(rng, seated_groups, sizes, seated, sigma)
            groups[order[place]] = seated_groups[seated] = group
            sizes[group] += 1
    rename_in_order(groups, n_groups)
    return groups, n_groups


@generic
def _longer_paths(levels, rng, paths, n_new):
    """Paths of the first items and of further ones."""
    raise NotImplementedError


@_longer_paths.register(Levels)
def _longer_random_paths(levels, rng, paths, n_new):
    depth, n = levels.alpha.shape[0], paths.shape[0] + n_new
    longer = np.empty((n, depth), dtype=np.int64)
    nodes, n_nodes = np.zeros(n, dtype=np.int64), 1
    for level in range(depth):
        known_nodes = paths[:, level].copy()
        nodes, n_nodes = _draw_groups(rng, nodes, n_nodes, levels.alpha[level], levels.sigma[level], known_nodes)
        longer[:, level] = nodes
    return longer


@_longer_paths.register(KnownPaths)
def _longer_known_paths(levels, rng, paths, n_new):
    n, depth = paths.shape[0] + n_new, levels.paths.shape[1]
    if n > levels.paths.shape[0]:
        raise ValueError("paths must be known for all items to be drawn; they are known for fewer")
    longer = np.empty((n, depth), dtype=np.int64)
    longer[:, :] = levels.paths[:n]
    return longer


@kernel
def draw_paths(rng, levels, n):
    """Draw the paths (n, depth) of n items: nodes of levels 1 to depth, each column in order of appearance."""
    return draw_further_paths(rng, levels, np.empty((0, levels.alpha.shape[0]), dtype=np.int64), n)


@kernel
def draw_further_paths(rng, levels, paths, n_new):
    """Draw paths of new items given canonical paths (n, at least depth), the first rows of (n + n_new, depth)."""
    return _longer_paths(levels, rng, paths, n_new)


@kernel
def draw_nested(rng, levels, gammas, n):
    """Draw the paths and the tables of n items, shape (n, 2 depth + 1), with the columns of ``WeightedNested``."""
    return draw_further_nested(rng, levels, gammas, np.empty((0, 2 * gammas.shape[0] - 1), dtype=np.int64), n)


def draw_value(rng, levels, gammas, n):
    """Forward draw of a value, with tables unless ``gammas`` is None."""
    return draw_paths(rng, levels, n) if gammas is None else draw_nested(rng, levels, gammas, n)


@kernel
def draw_further_nested(rng, levels, gammas, values, n_new):
    """Draw the paths and the tables of further items given the first items. The value is canonical, so that its first n
    rows are unchanged. Shapes: ``gammas`` (depth + 1,), ``values`` (n, 2 depth + 1); returns (n + n_new, 2 depth + 1).
    """
    depth, n_old = gammas.shape[0] - 1, values.shape[0]
    n = n_old + n_new
    longer = np.empty((n, 2 * depth + 1), dtype=np.int64)
    longer[:, :depth] = draw_further_paths(rng, levels, values, n_new)
    # Customers of leaves are items, customers of other nodes are tables of the level below; an item identifies each.
    customers, customer_of = np.arange(n), np.arange(n)
    for level in range(depth, -1, -1):
        rooms = np.zeros(customers.shape[0], dtype=np.int64)
        n_known = 0
        for j in range(customers.shape[0]):
            # Tables are in the order of their first items, so tables of old items come first.
            n_known += customers[j] < n_old
            if level > 0:
                rooms[j] = longer[customers[j], level - 1]
        known_tables = np.empty(n_known, dtype=np.int64)
        for j in range(n_known):
            known_tables[j] = values[customers[j], 2 * depth - level]
        groups, n_groups = _draw_groups(rng, rooms, n, gammas[level], 0.0, known_tables)
        for i in range(n):
            customer_of[i] = groups[customer_of[i]]
            longer[i, 2 * depth - level] = customer_of[i]
        first = np.full(n_groups, -1, dtype=np.int64)
        for j in range(customers.shape[0] - 1, -1, -1):
            first[groups[j]] = customers[j]
        customers = first
    return longer


# A place of one more item is a node: a leaf, which it joins, or an inner node, below which it opens new nodes down to a
# leaf.  Every path of the item is one place.


class Places(NamedTuple):
    """The places of one more item: nodes of all levels, one after the other."""

    # Level l has the places from `start[l]` to before `start[l + 1]`, in order of their labels; int64 of shape
    # (depth + 2,).
    start: Any
    # Places above each item, from the root down; int64 of shape (n, depth + 1).
    nodes: Any
    # Place of the parent; -1 for the root; int64 of shape (n_places,).
    above: Any
    # Items of each node; int64 of shape (n_places,).
    counts: Any
    # Log probability that the item goes to the place, before its data are seen; shape (n_places,).
    log_weights: Any


@kernel
def places_of(levels, values):
    """Find the places of one more item. Shapes: ``values`` (n, at least depth)."""
    depth = levels.alpha.shape[0]
    start, nodes, above, counts, n_children = nodes_of_paths(values, depth)
    n_places = start[depth + 1]
    log_weights, log_reach = np.zeros(n_places), np.zeros(n_places)
    for level in range(depth + 1):
        for place in range(start[level], start[level + 1]):
            if level > 0:
                share = (counts[place] - levels.sigma[level - 1]) / (counts[above[place]] + levels.alpha[level - 1])
                log_reach[place] = log_reach[above[place]] + math.log(share)
            log_weights[place] = log_reach[place]
            if level < depth and n_children[place] > 0:
                opens = levels.alpha[level] + n_children[place] * levels.sigma[level]
                log_weights[place] += math.log(opens / (counts[place] + levels.alpha[level]))
    return Places(start, nodes, above, counts, log_weights)


@kernel
def nodes_of_paths(values, depth):
    """Number the nodes of all levels, one level after the other. Returns fields of :class:`Places`. Shapes: ``values``
    (n, at least depth); returns ``n_children`` (n_places,).
    """
    n = values.shape[0]
    start = np.zeros(depth + 2, dtype=np.int64)
    start[1] = 1
    for level in range(1, depth + 1):
        largest = -1
        for i in range(n):
            largest = max(largest, values[i, level - 1])
        start[level + 1] = start[level] + largest + 1
    n_places = start[depth + 1]
    nodes = np.zeros((n, depth + 1), dtype=np.int64)
    above, counts = np.full(n_places, -1), np.zeros(n_places, dtype=np.int64)
    n_children = np.zeros(n_places, dtype=np.int64)
    for i in range(n):
        counts[0] += 1
        for level in range(1, depth + 1):
            place = start[level] + values[i, level - 1]
            nodes[i, level] = place
            if counts[place] == 0:
                above[place] = nodes[i, level - 1]
                n_children[above[place]] += 1
            counts[place] += 1
    return start, nodes, above, counts, n_children


@kernel
def component_weights(gammas, values, components, n_components, places):
    """Probabilities of the component of one more item at each of its places, before its data are seen.

    At a node z of level l, component k has the weight ``(n_zk + gamma_l w_k) / (n_z + gamma_l)``, where w is the weight
    in the parent of z and n_zk the number of customers of z whose table serves k. The last column is for a new
    component; rows sum to one. Shapes: ``gammas`` (depth + 1,), ``values`` (n, 2 depth + 1), ``components`` (n,);
    returns (n_places, n_components + 1).
    """
    n, depth = places.nodes.shape[0], places.start.shape[0] - 2
    weights = np.zeros((places.above.shape[0], n_components + 1))
    for level in range(depth + 1):
        largest = -1
        for i in range(n):
            # Customers are items at a leaf, and elsewhere tables of the level below, identified by their first item.
            below = i if level == depth else values[i, 2 * depth - level - 1]
            if below > largest:
                weights[places.nodes[i, level], components[i]] += 1.0
                largest = below
        for place in range(places.start[level], places.start[level + 1]):
            total = gammas[level]
            for k in range(n_components):
                total += weights[place, k]
            for k in range(n_components + 1):
                new = 1.0 if k == n_components else 0.0
                shared = weights[places.above[place], k] if level > 0 else new
                weights[place, k] = (weights[place, k] + gammas[level] * shared) / total
    return weights
