"""Binary trees over items, stored as arrays: children before parents, and the leaves of every node contiguous."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import softplus, sum_rows
from pymc_nrm.partitions.labels import canonical_labels


class Tree(NamedTuple):
    """A rooted binary tree whose leaves are n items.

    Nodes 0, ..., n - 1 are the items and n, ..., 2n - 2 the internal nodes, children before parents, so the last node
    is the root.  A loop over ascending node numbers goes from the leaves to the root, and a loop over descending node
    numbers from the root to the leaves::

                 6              left  [-1, -1, -1, -1, 0, 1, 4]     order [0, 3, 1, 2]
               .   .            right [-1, -1, -1, -1, 3, 2, 5]     first [0, 2, 3, 1, 0, 2, 0]
             4       5          size  [ 1,  1,  1,  1, 2, 2, 4]
            . .     . .
           0   3   1   2

    Parameters
    ----------
    left, right : ndarray of int64, shape (2n - 1,)
        Children; -1 at leaves.
    parent : ndarray of int64, shape (2n - 1,)
        -1 at the root.
    size : ndarray of int64, shape (2n - 1,)
        Number of leaves below a node; 1 at a leaf.
    first : ndarray of int64, shape (2n - 1,)
        Position in ``order`` of the first leaf of a node.
    order : ndarray of int64, shape (n,)
        The items, ordered such that node v has items ``order[first[v] : first[v] + size[v]]``, left before right.
    log_dissimilarity : ndarray of float64, shape (2n - 1,)
        log d between the two children of each internal node; 0 at leaves.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.trees import bhc
    >>> tree = bhc([0.0, 0.1, 5.0], NormalGamma(0.0, 0.1, 2.0, 0.01), DirichletProcess(1.0), random_seed=1).tree
    >>> tree.parent.tolist(), tree.size.tolist()
    ([3, 3, 4, 4, -1], [1, 1, 1, 2, 3])
    """

    left: Any
    right: Any
    parent: Any
    size: Any
    first: Any
    order: Any
    log_dissimilarity: Any


@kernel
def _build_tree_kernel(merges, log_dissimilarity):
    n = merges.shape[0] + 1
    left = np.full(2 * n - 1, -1, dtype=np.int64)
    right = np.full(2 * n - 1, -1, dtype=np.int64)
    parent = np.full(2 * n - 1, -1, dtype=np.int64)
    size = np.ones(2 * n - 1, dtype=np.int64)
    first = np.zeros(2 * n - 1, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    log_d = np.zeros(2 * n - 1)
    for k in range(n - 1):
        v, a, b = n + k, merges[k, 0], merges[k, 1]
        if a == b or min(a, b) < 0 or max(a, b) >= v or parent[a] >= 0 or parent[b] >= 0:
            raise ValueError("every merge must join two different earlier nodes that have not been merged before")
        left[v], right[v] = a, b
        parent[a] = parent[b] = v
        size[v] = size[a] + size[b]
        log_d[v] = log_dissimilarity[k]
    for v in range(2 * n - 2, n - 1, -1):
        first[left[v]] = first[v]
        first[right[v]] = first[v] + size[left[v]]
    for i in range(n):
        order[first[i]] = i
    return Tree(left, right, parent, size, first, order, log_d)


def build_tree(merges, log_dissimilarity=None):
    """Build a tree from merges (n - 1, 2), numbered as in SciPy's linkage matrices, and their log d, (n - 1,)."""
    merges = np.ascontiguousarray(merges, dtype="int64")
    if merges.size == 0:
        merges = merges.reshape(0, 2)
    log_d = np.zeros(len(merges)) if log_dissimilarity is None else np.ascontiguousarray(log_dissimilarity, "float64")
    if merges.ndim != 2 or merges.shape[1] != 2 or log_d.shape != (len(merges),):
        raise ValueError(
            "merges must have shape (n - 1, 2) and log_dissimilarity shape (n - 1,); "
            f"got {merges.shape} and {log_d.shape}"
        )
    return _build_tree_kernel(merges, log_d)


@kernel
def leaves(tree, v):
    """Items below a node. The result is a view of ``order``."""
    return tree.order[tree.first[v] : tree.first[v] + tree.size[v]]


@kernel
def lowest_common_ancestor(tree, i, j):
    """The smallest node that contains two nodes, in time proportional to the length of the path between them."""
    # Parents have larger numbers than their children, so the smaller of two different nodes is not above the other.
    while i != j:
        if i < j:
            i = tree.parent[i]
        else:
            j = tree.parent[j]
    return i


@kernel
def tops_of_cut(tree, log_threshold):
    """The largest subtree with a log d of at most a threshold above each item, shape (n,)."""
    n = tree.order.shape[0]
    top = np.arange(2 * n - 1)
    inside = np.zeros(2 * n - 1, dtype=np.bool_)
    for v in range(2 * n - 2, -1, -1):
        up = tree.parent[v]
        if up >= 0 and inside[up]:
            top[v], inside[v] = top[up], True
        else:
            inside[v] = v < n or tree.log_dissimilarity[v] <= log_threshold
    return top[:n].copy()


def cut_tree(tree, log_threshold=0.0):
    """Labels of the largest subtrees whose log d is at most a threshold, whatever the log d of the nodes below."""
    # At d = 1 a subtree is one cluster with probability 1/2, given that the partition is consistent with the tree and
    # joins the subtree with no other items (Heller & Ghahramani 2005, section 2).
    return canonical_labels(tops_of_cut(tree, float(log_threshold)))


def check_tree(tree):
    """Check all properties of :class:`Tree`."""
    n = len(tree.order)
    internal = np.arange(n, 2 * n - 1)
    left, right = tree.left[n:], tree.right[n:]
    children = np.concatenate([left, right])
    conditions = {
        "there is a leaf": n >= 1,
        "arrays have 2n - 1 entries": all(len(a) == 2 * n - 1 for a in tree if a is not tree.order),
        "types": all(a.dtype == np.int64 for a in tree[:6]) and tree.log_dissimilarity.dtype == np.float64,
        "leaves have no children": bool((tree.left[:n] == -1).all() and (tree.right[:n] == -1).all()),
        "children come before parents": bool(((left < internal) & (right < internal)).all()),
        "every node but the root is a child once": np.array_equal(np.sort(children), np.arange(2 * n - 2)),
        "the root has no parent": tree.parent[-1] == -1,
        "order holds every item once": np.array_equal(np.sort(tree.order), np.arange(n)),
        "leaves are where they stand in order": np.array_equal(tree.order[tree.first[:n]], np.arange(n)),
        "leaves have log d = 0": not tree.log_dissimilarity[:n].any(),
        "leaves have size 1": bool((tree.size[:n] == 1).all()),
    }
    if all(conditions.values()):
        conditions["parents match children"] = bool(
            (tree.parent[left] == internal).all() and (tree.parent[right] == internal).all()
        )
        conditions["sizes add up"] = np.array_equal(tree.size[n:], tree.size[left] + tree.size[right])
        conditions["leaves are contiguous"] = bool(
            (tree.first[left] == tree.first[n:]).all() and (tree.first[right] == tree.first[n:] + tree.size[left]).all()
        )
    for name, holds in conditions.items():
        if not holds:
            raise ValueError(f"not a valid tree; violated: {name}")


class Potentials(NamedTuple):
    """Logarithms for every node of a tree."""

    # `log p(X_v)`, with the leaves below v as one cluster; shape (2n - 1,).
    log_marginal: Any
    # `log phi(X_v | t_v)`; shape (2n - 1,).
    log_potential: Any
    # log d of the children of v; 0 at leaves; shape (2n - 1,).
    log_dissimilarity: Any


@kernel
def log_dissimilarity(log_apart, log_together):
    """Log d from the weights of two separate trees and of their union as one cluster."""
    difference = log_apart - log_together
    return math.inf if math.isnan(difference) else difference


@kernel
def log_potential(log_apart, log_d):
    """Log potential of a tree: ``phi(t) = phi(l) phi(r) (1 + 1/d)``."""
    return log_apart + softplus(-log_d)


@shared_kernel
def tree_log_marginals(tree, family, data):
    """Log marginals of the leaves below every node, shape (2n - 1,)."""
    n = tree.order.shape[0]
    log_p = np.empty(2 * n - 1)
    # Marginals of internal nodes; the last row is for leaves.
    rows = np.zeros((n, statistics_size(family)))
    for v in range(2 * n - 1):
        check_signals()
        row = rows[v - n] if v >= n else rows[n - 1]
        if v < n:
            row[:] = 0.0
            add_item(family, row, data, v, 1.0)
        else:
            for child in (tree.left[v], tree.right[v]):
                if child >= n:
                    sum_rows(row, row, rows[child - n])
            for child in (tree.left[v], tree.right[v]):
                if child < n:
                    add_item(family, row, data, child, 1.0)
        log_p[v] = log_marginal(family, row)
    return log_p


@kernel
def potentials_from_marginals(tree, moment, log_p):
    """Potentials of every node given u, from log marginals and the table of ``log kappa(m, u)``."""
    n = tree.order.shape[0]
    log_phi = np.empty(2 * n - 1)
    log_d = np.zeros(2 * n - 1)
    for v in range(2 * n - 1):
        together = moment[tree.size[v]] + log_p[v]
        if v < n:
            log_phi[v] = together
        else:
            apart = log_phi[tree.left[v]] + log_phi[tree.right[v]]
            log_d[v] = log_dissimilarity(apart, together)
            log_phi[v] = log_potential(apart, log_d[v])
    return Potentials(log_p, log_phi, log_d)
