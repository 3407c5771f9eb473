"""What tree-guided moves read of a guide tree, which is a function of data and randomness, never of the partition."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.generic import kernel


class Guide(NamedTuple):
    """A guide tree over n items with the tables that moves need.

    Parameters
    ----------
    tree : Tree
    position : ndarray of int64, shape (n,)
        The place of each item in the tree's ``order``.
    granularity : ndarray of int64, shape (levels,)
        1, 4, 16, ... below n; for one item, 1 alone.
    block : ndarray of int64, shape (levels, n)
        For every place in leaf order, the largest node that holds it and has at most ``granularity`` leaves.
    cumulative : ndarray, shape (n - 1,)
        Cumulative probabilities with which internal nodes are drawn for split-merge moves.
    """

    tree: Any
    position: Any
    granularity: Any
    block: Any
    cumulative: Any


@kernel
def _tables(tree, granularity):
    size, parent, first, order = tree.size, tree.parent, tree.first, tree.order
    n = order.shape[0]
    position = np.empty(n, dtype=np.int64)
    for p in range(n):
        position[order[p]] = p
    block = np.empty((granularity.shape[0], n), dtype=np.int64)
    for level in range(granularity.shape[0]):
        # Parents come after their children, so that the last node to write is the largest one allowed.
        for node in range(size.shape[0]):
            if size[node] <= granularity[level] and (parent[node] < 0 or size[parent[node]] > granularity[level]):
                for p in range(first[node], first[node] + size[node]):
                    block[level, p] = node
    return position, block


def make_guide(tree):
    """Tables of a guide tree.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    Guide

    Notes
    -----
    Internal nodes are drawn with probability half uniform and half proportional to ``1 / (1 + |log d| / 5)``: nodes
    whose merge was close are where the partition is uncertain.
    """
    n = len(tree.order)
    levels = max(1, math.ceil(math.log(n, 4) - 1e-9)) if n > 1 else 1
    granularity = 4 ** np.arange(levels, dtype=np.int64)
    position, block = _tables(tree, granularity)
    weights = 1.0 / (1.0 + np.abs(tree.log_dissimilarity[n:]) / 5.0)
    probabilities = 0.5 / max(n - 1, 1) + 0.5 * weights / max(weights.sum(), 1e-300)
    cumulative = np.cumsum(probabilities)
    if n > 1:
        cumulative /= cumulative[-1]
    return Guide(tree, position, granularity, block, cumulative)


@kernel
def draw_internal_node(rng, guide):
    """An internal node, by the cumulative probabilities of the guide."""
    n = guide.tree.order.shape[0]
    return n + min(np.searchsorted(guide.cumulative, rng.random(), side="right"), n - 2)


@kernel
def draw_leaf(rng, guide, node):
    """A uniformly random leaf below a node."""
    return guide.tree.order[guide.tree.first[node] + int(rng.random() * guide.tree.size[node])]


@kernel
def n_separating_levels(guide, node):
    """How many levels of granularity are below the size of a node."""
    count = 0
    while count < guide.granularity.shape[0] and guide.granularity[count] < guide.tree.size[node]:
        count += 1
    return count
