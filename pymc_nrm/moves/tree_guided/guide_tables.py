"""The tables of a guide tree that tree-guided moves read; they never depend on the partition."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals


class Guide(NamedTuple):
    """A guide tree over n items with the tables that moves need.

    The *blocks* of a level are the largest nodes whose number of leaves is at most the granularity of the level.  They
    form a partition of the items.
    """

    tree: Any
    # The place of each item in the `order` of the leaves; int64 of shape (n,).
    position: Any
    # 1, 4, 16, ... below n; only 1 if there is one item. Int64 of shape (levels,).
    granularity: Any
    # The block of each level that contains each place in leaf order; int64 of shape (levels, n).
    block: Any
    # Cumulative probabilities with which internal nodes are drawn for split-merge moves; shape (n - 1,).
    cumulative: Any
    # The row of `statistics` of each block with more than one leaf, -1 for all other nodes; int64 of shape (2n - 1,).
    row: Any
    # Sums over the leaves of blocks; shape (n_rows, s).
    statistics: Any


@kernel
def _tables(tree, granularity):
    size, parent, first, order = tree.size, tree.parent, tree.first, tree.order
    n = order.shape[0]
    position = np.empty(n, dtype=np.int64)
    for p in range(n):
        position[order[p]] = p
    block = np.empty((granularity.shape[0], n), dtype=np.int64)
    for level in range(granularity.shape[0]):
        # A node is a block if it is small enough and its parent is not.
        for node in range(size.shape[0]):
            if size[node] <= granularity[level] and (parent[node] < 0 or size[parent[node]] > granularity[level]):
                for p in range(first[node], first[node] + size[node]):
                    block[level, p] = node
    row = np.full(size.shape[0], -1, dtype=np.int64)
    n_rows = 0
    for level in range(granularity.shape[0]):
        for p in range(n):
            node = block[level, p]
            if size[node] > 1 and row[node] < 0:
                row[node] = n_rows
                n_rows += 1
    return position, block, row, n_rows


@kernel
def block_statistics(guide, family, data):
    """Sum the statistics of blocks, shape (n_rows, s), level by level from the sums of the next finer level."""
    tree, block, row = guide.tree, guide.block, guide.row
    statistics = np.zeros((row.max() + 1, statistics_size(family)))
    done = np.zeros(statistics.shape[0], dtype=np.bool_)
    for level in range(1, block.shape[0]):
        p = 0
        while p < block.shape[1]:
            check_signals()
            node = block[level, p]
            end = tree.first[node] + tree.size[node]
            if row[node] < 0 or done[row[node]]:
                p = end
                continue
            total = statistics[row[node]]
            done[row[node]] = True
            while p < end:
                part = block[level - 1, p]
                if row[part] < 0:
                    add_item(family, total, data, tree.order[p], 1.0)
                else:
                    for k in range(total.shape[0]):
                        total[k] += statistics[row[part], k]
                p += tree.size[part]
    return statistics


def make_guide(tree, family, data):
    """Make the tables of a guide tree."""
    # Split-merge moves draw half of their nodes uniformly and half in proportion to `1 / (1 + |log d| / 5)`, where d is
    # the dissimilarity of the children: if log d is close to 0, it is uncertain whether they belong together.
    n = len(tree.order)
    levels = max(1, math.ceil(math.log(n, 4) - 1e-9)) if n > 1 else 1
    granularity = 4 ** np.arange(levels, dtype=np.int64)
    position, block, row, n_rows = _tables(tree, granularity)
    weights = 1.0 / (1.0 + np.abs(tree.log_dissimilarity[n:]) / 5.0)
    probabilities = 0.5 / max(n - 1, 1) + 0.5 * weights / max(weights.sum(), 1e-300)
    cumulative = np.cumsum(probabilities)
    if n > 1:
        cumulative /= cumulative[-1]
    guide = Guide(tree, position, granularity, block, cumulative, row, np.empty((n_rows, 0)))
    return guide._replace(statistics=block_statistics(guide, family, data))


@kernel
def draw_internal_node(rng, guide):
    """Draw an internal node with the probabilities of the guide."""
    n = guide.tree.order.shape[0]
    return n + min(np.searchsorted(guide.cumulative, rng.random(), side="right"), n - 2)


@kernel
def draw_leaf(rng, guide, node):
    """Draw a leaf below a node uniformly."""
    return guide.tree.order[guide.tree.first[node] + int(rng.random() * guide.tree.size[node])]


@kernel
def n_separating_levels(guide, node):
    """Number of levels whose granularity is below the size of a node."""
    count = 0
    while count < guide.granularity.shape[0] and guide.granularity[count] < guide.tree.size[node]:
        count += 1
    return count


@kernel
def draw_level(rng, guide, node):
    """Draw a level whose granularity is below the size of a node; each has twice the probability of the next finer one.

    A level has about four times as many units as the next coarser one, so the finest still takes most of the time.
    """
    n_levels = n_separating_levels(guide, node)
    return min(int(math.log2(1.0 + rng.random() * (2.0**n_levels - 1.0))), n_levels - 1)
