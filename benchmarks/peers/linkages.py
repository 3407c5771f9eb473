"""Hierarchical clustering of others: linkage of SciPy, and the condensed tree of HDBSCAN."""

import time

import numpy as np
from common.tree_methods import TreeFit
from scipy.cluster import hierarchy

from pymc_nrm.stats import ItemTree


def ward(data, seed):
    """Ward's method."""
    return linkage(data, "ward")


def average(data, seed):
    """Average linkage of Euclidean distances."""
    return linkage(data, "average")


def linkage(data, method):
    start = time.process_time()
    found = hierarchy.linkage(data.X, method)
    return TreeFit(time.process_time() - start, ItemTree.from_linkage(found), None, found)


def hdbscan(data, seed, min_cluster_size=5):
    """HDBSCAN: its condensed tree cut by depth, with items that no cluster of a depth has as clusters of their own."""
    from hdbscan import HDBSCAN

    start = time.process_time()
    found = HDBSCAN(min_cluster_size=min_cluster_size, core_dist_n_jobs=1).fit(data.X)
    levels = condensed_levels(found.condensed_tree_.to_numpy(), len(data.X), len(data.truth))
    seconds = time.process_time() - start
    return TreeFit(seconds, ItemTree.from_linkage(found.single_linkage_tree_.to_numpy()), levels)


def condensed_levels(edges, n, depth):
    """Labels of the items at each depth of a condensed tree, shape (depth, n)."""
    above = {int(child): int(parent) for parent, child in zip(edges["parent"], edges["child"], strict=True)}
    splits = {parent for child, parent in above.items() if child >= n}
    labels = np.empty((depth, n), dtype="int64")
    for item in range(n):
        line = [above[item]]
        while line[-1] in above:
            line.append(above[line[-1]])
        line = line[-2::-1]  # clusters from depth 1 on
        last = above[item]
        for level in range(depth):
            stays = line[-1] if line and last not in splits else item
            labels[level, item] = line[level] if level < len(line) else stays
    return labels
