"""Where an item may go: to any leaf of a random tree or a new one; with known paths, to its own leaf."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.partitions.nested_laws.known_paths import KnownPaths
from pymc_nrm.partitions.nested_laws.levels import Levels
from pymc_nrm.samplers.nested.franchise import add_path, change_items, empty_franchise
from pymc_nrm.samplers.nested.weights_of_places import draw_place, draw_seat, path_weights, predictive_weights


class Work(NamedTuple):
    """Memory for the weights of an item at all nodes, three arrays of shape (depth + 1, n)."""

    seated: Any
    reach: Any
    places: Any


@kernel
def new_work(n_levels, n):
    """Memory for :func:`draw_leaf`."""
    return Work(np.empty((n_levels, n)), np.empty((n_levels, n)), np.empty((n_levels, n)))


@generic
def franchise_without_items(levels, n_levels, n):
    """State for n items that have no table yet, with those nodes that are known. Slots of known nodes are their
    labels.
    """
    raise NotImplementedError


@generic
def leave_leaf(levels, franchise, leaf):
    """Take an item that has left its table out of the nodes of its path, unless its path is known."""
    raise NotImplementedError


@generic
def draw_leaf(levels, rng, franchise, gammas, item, f, f_new, work):
    """Draw the leaf of an item that has none, open it if it is new, and draw where the item sits. Returns what
    :func:`~pymc_nrm.samplers.nested.weights_of_places.draw_seat` returns.
    """
    raise NotImplementedError


@franchise_without_items.register(Levels)
def _(levels, n_levels, n):
    return empty_franchise(n_levels, n)


@leave_leaf.register(Levels)
def _(levels, franchise, leaf):
    change_items(franchise, leaf, levels.alpha.shape[0], -1)


@draw_leaf.register(Levels)
def _(levels, rng, franchise, gammas, item, f, f_new, work):
    tables = franchise.tables
    predictive_weights(franchise, gammas, f, f_new, levels.alpha.shape[0], work.seated)
    weigh_places(franchise, levels, work.seated, work.reach, work.places)
    node, level = draw_place(rng, franchise, work.places)
    joined, at_level = draw_seat(rng, franchise, tables.active, tables.size, gammas, f, f_new, work.seated, node, level)
    return add_path(franchise, node, level, 1), joined, at_level


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


@franchise_without_items.register(KnownPaths)
def _(levels, n_levels, n):
    paths, franchise = levels.paths, empty_franchise(n_levels, n)
    nodes = franchise.nodes
    for i in range(n):
        above = 0
        nodes.count[0, 0] += 1
        for level in range(1, n_levels):
            node = paths[i, level - 1]
            if node == nodes.size[level]:
                nodes.size[level] += 1
                nodes.above[level, node] = above
                franchise.n_children[level - 1, above] += 1
            nodes.count[level, node] += 1
            above = node
    return franchise


@leave_leaf.register(KnownPaths)
def _(levels, franchise, leaf):
    pass


@draw_leaf.register(KnownPaths)
def _(levels, rng, franchise, gammas, item, f, f_new, work):
    tables, depth = franchise.tables, levels.paths.shape[1]
    path = np.zeros(depth + 1, dtype=np.int64)
    path[1:] = levels.paths[item]
    path_weights(franchise, tables.active, tables.size, gammas, f, f_new, path, work.seated)
    leaf = path[depth]
    joined, at_level = draw_seat(rng, franchise, tables.active, tables.size, gammas, f, f_new, work.seated, leaf, depth)
    return leaf, joined, at_level
