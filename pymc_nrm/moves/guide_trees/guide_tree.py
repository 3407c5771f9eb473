"""Guide trees of the samplers, and the tables of them that moves read; they never depend on the state of a chain.

For many items, a tree is built over a sample, and the other items are attached to near sampled items.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.features import features
from pymc_nrm.families.product import NoRows
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import sum_rows
from pymc_nrm.moves.guide_trees.greedy import forest_merges
from pymc_nrm.moves.guide_trees.incremental import grow_forest
from pymc_nrm.moves.guide_trees.tree import Tree, build_tree


def points_of(data, n, rng):
    """Coordinates of n items; random coordinates if the family has none."""
    has_none = isinstance(data, NoRows) or not (hasattr(data, "values") or hasattr(data, "features"))
    return rng.normal(size=(n, 1)) if has_none else features(data, rng)


@kernel
def nearest_rows(points, items, candidates):
    """Nearest candidate of each item, the first one in ties. Shapes: ``points`` (n, k)."""
    nearest = np.empty(items.shape[0], dtype=np.int64)
    for i in range(items.shape[0]):
        check_signals()
        least = np.inf
        for candidate in candidates:
            distance = 0.0
            for j in range(points.shape[1]):
                difference = points[items[i], j] - points[candidate, j]
                distance += difference * difference
            if distance < least:
                least, nearest[i] = distance, candidate
                if distance == 0.0:
                    break
    return nearest


def near_sampled_items(points, sample):
    """A sampled item near each item, (n,); a sampled item itself.

    It is the nearest sampled item among those with the same nearest centre.
    """
    n, m = len(points), len(sample)
    cells = nearest_rows(points, np.arange(n), sample[: int(np.sqrt(m))])
    order = np.argsort(cells, kind="stable")
    is_sampled, near = np.zeros(n, dtype=bool), np.empty(n, dtype=np.int64)
    is_sampled[sample] = True
    for members in np.split(order, np.flatnonzero(np.diff(cells[order])) + 1):
        near[members] = nearest_rows(points, members, members[is_sampled[members]])
    near[sample] = sample
    return near


@kernel
def join_groups_of_items(order, starts):
    """Merges that join each group of items into a balanced tree, and the node of each group, (n_groups,).

    Group g is ``order[starts[g] : starts[g + 1]]``, which is overwritten; merges are numbered from n.
    """
    n, n_groups = order.shape[0], starts.shape[0] - 1
    merges, tops, count = np.empty((n - n_groups, 2), dtype=np.int64), np.empty(n_groups, dtype=np.int64), 0
    for g in range(n_groups):
        check_signals()
        first, size = starts[g], starts[g + 1] - starts[g]
        while size > 1:
            for pair in range(size // 2):
                merges[count, 0], merges[count, 1] = order[first + 2 * pair], order[first + 2 * pair + 1]
                order[first + pair] = n + count
                count += 1
            if size % 2:
                order[first + size // 2] = order[first + size - 1]
            size = (size + 1) // 2
        tops[g] = order[first]
    return merges, tops


def attach_items(points, sample, merges, log_d):
    """The tree of all items whose upper part is the tree of a random sample, (m,), in random order.

    Merges of the sample, (m - 1, 2), are numbered from n.  Their log d is multiplied by n / m, since it is a sum over
    items; nodes below sampled items have log d minus infinity, so that no move searches for clusters there.
    """
    n, m = len(points), len(sample)
    near = near_sampled_items(points, sample)
    order = np.argsort(near, kind="stable")
    hosts, starts = np.unique(near[order], return_index=True)
    below, tops = join_groups_of_items(order, np.append(starts, n))
    names = np.arange(n + m - 1)
    names[hosts], names[n:] = tops, names[n:] + len(below)
    return build_tree(
        np.concatenate([below, names[merges]]), np.concatenate([np.full(len(below), -np.inf), log_d * (n / m)])
    )


# Subtree moves take time proportional to the depth of their leaves, so guide trees avoid chains at a smaller depth.
GUIDE_BALANCE_DEPTH = 16

# Incremental clustering takes time for each item that grows with the depth of the tree: for more items than the first
# number, it clusters a sample of the second number.
MOST_GUIDE_ITEMS, GUIDE_SAMPLE = 20_000, 5000
# Granularity of a level over the granularity of the next finer level.
_COARSER = 4
# With more items, split-merge moves are drawn at nodes that hold at least this share of them.
_LEAST_PART = 1000


def guide_tree(rng: Any, weights: Any, family: Any, data: Any) -> Tree:
    """Build a guide tree from the data, pilot hyperparameters and a random generator, and nothing else.

    It is made by one pass of incremental Bayesian hierarchical clustering, whose roots are joined by greedy clustering.
    With more than 20,000 items the pass uses a random sample of 5000; each other item is attached to a sampled item
    with near :func:`~pymc_nrm.families.features.features`.

    Parameters
    ----------
    rng : numpy.random.Generator
    weights : Weights
        Tables given a pilot u, for all items.
    family, data : NamedTuple
        In the form that kernels take, with pilot hyperparameters.

    Returns
    -------
    Tree
        Its ``log_dissimilarity`` is computed under the pilot hyperparameters; for a sample it is scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.measures.base import weights
    >>> from pymc_nrm.trees.inputs import family_and_data
    >>> family, data, n = family_and_data(NormalGamma(5.0, 0.01, 2.0, 0.1), [0.0, 9.0, 0.3, 9.1])
    >>> tree = guide_tree(np.random.default_rng(1), weights(DirichletProcess(1.0), n, 1.0), family, data)
    >>> sorted(tree.size.tolist())
    [1, 1, 1, 1, 2, 2, 4]
    """
    n = len(weights.moment) - 1
    sample = rng.permutation(n)[: n if n <= MOST_GUIDE_ITEMS else GUIDE_SAMPLE]
    forest = grow_forest(rng, weights, family, data, n, GUIDE_BALANCE_DEPTH, sample)
    merges, log_d = forest_merges(rng, forest, weights, family, data)
    if len(sample) == n:
        return build_tree(merges, log_d)
    return attach_items(points_of(data, n, rng), sample, merges, log_d)


class Guide(NamedTuple):
    """A guide tree over n items with the tables that moves need.

    The *blocks* of a level are the largest nodes whose number of leaves is at most the granularity of the level.  They
    form a partition of the items.
    """

    tree: Any
    # Position of each item in the `order` of the leaves; int64 of shape (n,).
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


@shared_kernel
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
                    sum_rows(total, total, statistics[row[part]])
                p += tree.size[part]
    return statistics


def make_guide(tree, family, data):
    """Make the tables of a guide tree, with sums of statistics over its blocks."""
    guide = guide_without_statistics(tree)
    return guide._replace(statistics=block_statistics(guide, family, data))


def guide_without_statistics(tree):
    """Make the tables of a guide tree that depend on the tree alone."""
    # Split-merge moves draw half of their nodes uniformly and half in proportion to `1 / (1 + |log d| / 5)`, where d is
    # the dissimilarity of the children: if log d is close to 0, it is uncertain whether the children form one cluster.
    n, size = len(tree.order), tree.size
    levels = max(1, math.ceil(math.log(n, _COARSER) - 1e-9)) if n > 1 else 1
    granularity = _COARSER ** np.arange(levels, dtype=np.int64)
    position, block = np.empty(n, dtype=np.int64), np.empty((levels, n), dtype=np.int64)
    position[tree.order] = np.arange(n)
    for level, most in enumerate(granularity):
        # A node is a block if it is small enough and its parent is not.
        nodes = np.flatnonzero((size <= most) & ((tree.parent < 0) | (size[tree.parent] > most)))
        at = np.full(n, -1)
        at[tree.first[nodes]] = nodes
        block[level] = np.repeat(at[at >= 0], size[at[at >= 0]])
    row, inner = np.full(len(size), -1, dtype=np.int64), np.unique(block)
    inner = inner[size[inner] > 1]
    row[inner] = np.arange(len(inner))
    log_d, drawn = tree.log_dissimilarity[n:], np.ones(n - 1, dtype=bool)
    if n > MOST_GUIDE_ITEMS:
        # Moves at small nodes cost as much as their clusters are large, and hardly ever succeed where the tree joins.
        drawn = (size[n:] >= n // _LEAST_PART) | (log_d > 0.0)
    weights = drawn / (1.0 + np.abs(log_d) / 5.0)
    probabilities = 0.5 * drawn / max(drawn.sum(), 1) + 0.5 * weights / max(weights.sum(), 1e-300)
    cumulative = np.cumsum(probabilities)
    if n > 1:
        cumulative /= cumulative[-1]
    return Guide(tree, position, granularity, block, cumulative, row, np.empty((len(inner), 0)))


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
    return np.searchsorted(guide.granularity, guide.tree.size[node])


@kernel
def draw_level(rng, guide, node):
    """Draw a level whose granularity is below the size of a node, each twice as likely as the next finer one."""
    # A level has about four times as many units as the next coarser one, so the finest still takes most of the time.
    n_levels = n_separating_levels(guide, node)
    return min(int(math.log2(1.0 + rng.random() * (2.0**n_levels - 1.0))), n_levels - 1)
