"""The law of the partition, given the data and that the partition is consistent with a tree."""

import math

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.special import softplus, sum_rows
from pymc_nrm.moves.guide_trees.tree import Tree, check_tree
from pymc_nrm.trees.clustering_result import Dendrogram


def checked_tree(tree, n):
    """The tree of a dendrogram, or a tree, checked against the data; and where to look for the mode of log u."""
    log_u = float(np.log(n))
    if isinstance(tree, Dendrogram):
        tree, log_u = tree.tree, tree.log_u
    elif isinstance(tree, Tree):
        check_tree(tree)
    else:
        raise TypeError(f"tree must be a Dendrogram or a Tree; got {tree!r}")
    if len(tree.order) != n:
        raise ValueError(f"the tree has {len(tree.order)} leaves, the data have {n} rows")
    return tree, log_u


@kernel
def node_log_probabilities(tree, log_d):
    """Log probabilities, given u, that a node is separate from the rest and that it is a cluster.

    A partition that is consistent with the tree either unites all items of the root, with probability ``1 / (1 + d)``,
    or separates its children, which are then independent of each other. ``log_apart`` is that no item of the node
    shares a cluster with an item outside: the sum of ``log(d / (1 + d))`` over the nodes above.  ``log_cluster`` is
    that the items of the node are one cluster.
    """
    n = tree.order.shape[0]
    log_apart = np.zeros(2 * n - 1)
    log_cluster = np.empty(2 * n - 1)
    for v in range(2 * n - 2, -1, -1):
        if v < 2 * n - 2:
            up = tree.parent[v]
            log_apart[v] = log_apart[up] - softplus(-log_d[up])
        log_cluster[v] = log_apart[v] - (softplus(log_d[v]) if v >= n else 0.0)
    return log_apart, log_cluster


@kernel
def inner_statistics(tree, family, data):
    """Rows of statistics of the internal nodes n, ..., 2n - 2, shape (n - 1, statistics_size)."""
    n = tree.order.shape[0]
    rows = np.zeros((n - 1, statistics_size(family)))
    for k in range(n - 1):
        if k % 64 == 0:
            check_signals()
        add_node(family, rows[k], data, rows, tree.left[n + k])
        add_node(family, rows[k], data, rows, tree.right[n + k])
    return rows


@kernel
def add_node(family, statistics, data, rows, v):
    """Add the items of a node to a row of statistics; ``rows`` come from :func:`inner_statistics`."""
    n = rows.shape[0] + 1
    if v < n:
        add_item(family, statistics, data, v, 1.0)
    else:
        sum_rows(statistics, statistics, rows[v - n])


@kernel
def log_add(a, b):
    """Logarithm of ``exp(a) + exp(b)``; NaN counts as -inf."""
    if math.isnan(a) or a == -math.inf:
        return -math.inf if math.isnan(b) else b
    if math.isnan(b) or b == -math.inf:
        return a
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))
