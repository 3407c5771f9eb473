"""Where one more item may go in the tree of a draw, and from which component its data may come there.

A place is a node: a leaf, which the item joins, or an inner node, below which it opens new nodes down to a leaf.  Every
path of the item is one place.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel


class Places(NamedTuple):
    """The places of one more item: nodes of all levels, one after the other."""

    # Places of level l are those from `start[l]` to before `start[l + 1]`, in order of their labels; int64 of shape
    # (depth + 2,).
    start: Any
    # The places above each item, from the root down; int64 of shape (n, depth + 1).
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
    """Number the nodes of all levels, one level after the other. The results are those of :class:`Places`. Shapes:
    ``values`` (n, at least depth); returns ``n_children`` (n_places,).
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
            # Customers are items at a leaf, elsewhere the tables of the level below, each known by its first item.
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
