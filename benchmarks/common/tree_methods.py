"""Methods for trees of items: diffusions, the published model, binary trees of the package, SciPy and HDBSCAN."""

import time
from typing import NamedTuple

import numpy as np
import pymc as pm
from scipy.cluster import hierarchy
from scipy.cluster.hierarchy import fcluster

import pymc_nrm as nrm
from common.real_data_ours import quietly, rhat

CHAINS = 2


class TreeFit(NamedTuple):
    """What a method found."""

    seconds: float  # CPU seconds, without the compilation of kernels
    tree: nrm.nested.ItemTree
    levels: np.ndarray | None = None  # labels at each level, shape (L, n), if the method has levels of its own
    linkage: np.ndarray | None = None  # if it has a binary tree, to be cut
    draws: object = None  # posterior draws
    about: dict = {}  # further numbers for the row of results

    def cut(self, counts):
        """Labels of the linkage cut into given numbers of clusters, shape (L, n)."""
        return np.stack([fcluster(self.linkage, count, criterion="maxclust") for count in counts]) - 1


def n_draws(n):
    """Draws of a chain, after as many of tuning."""
    return 300 if n < 1000 else 150


def diffusion(data, seed):
    """Node means that diffuse down the tree, with learned concentration and step."""
    start = time.process_time()
    (depth, n), d = data.truth.shape, data.X.shape[1]
    nu = d + 4
    Psi = 0.1 * (nu - d - 1) * np.diag(data.X.var(axis=0))
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 2)
        tau = pm.LogNormal("tau", 1, 1)
        tree = nrm.nested.NestedPartition("tree", nrm.DirichletProcess(alpha), depth=depth, n=n)
        nrm.Mixture("x", tree, nrm.nested.NormalDiffusion(data.X.mean(axis=0), tau, Psi, nu), observed=data.X)
        # Slice sampling needs no gradient, whose compilation takes longer than the draws of a small set.
        step = [pm.Slice([alpha, tau])]
    return estimated(start, model, seed, n, step)


def published(data, seed):
    """The model of Huang, Laitonjam, Piao & Hurley (2020) with the concentrations that they use."""
    start = time.process_time()
    depth, n = data.truth.shape
    with pm.Model() as model:
        weights = nrm.nested.HierarchicalDirichletProcess(1.15, 1.0)
        tree = nrm.nested.NestedPartition("tree", nrm.DirichletProcess(0.3), depth=depth, weights=weights, n=n)
        nrm.Mixture("x", tree, nrm.NormalWishart.from_data(data.X), observed=data.X)
    return estimated(start, model, seed, n)


def estimated(start, model, seed, n, step=None):
    """Sample a model, and summarise its trees by the nested partitions of least expected loss and by the consensus."""
    number = n_draws(n)
    idata = quietly(number, number, CHAINS, seed, model, step=step)
    sampling = time.process_time() - start
    estimate = nrm.nested.nested_point_estimate(idata, max_draws=100, n_restarts=2, random_seed=seed, progressbar=False)
    consensus = nrm.nested.consensus_tree(idata)
    seconds = time.process_time() - start
    labels = nrm.stats.levels(idata)
    about = {
        "sampling_seconds": sampling,
        "rhat": rhat(idata.sample_stats["log_joint"]),
        "sets_above_half": consensus.n_nodes - 1,
        "nodes": (labels.max(labels.dims[3]).mean(("chain", "draw")) + 1).values.tolist(),
    }
    levels = np.stack([estimate.labels(level) for level in range(1, labels.shape[2] + 1)])
    return TreeFit(seconds, estimate, levels, None, idata, about)


def binary(data, seed, grow):
    """Bayesian hierarchical clustering, greedy or incremental."""
    start = time.process_time()
    found = grow(data.X, nrm.NormalWishart.from_data(data.X), nrm.DirichletProcess(1.0), random_seed=seed)
    linkage = found.to_linkage()
    seconds = time.process_time() - start
    return TreeFit(
        seconds, nrm.nested.ItemTree.from_linkage(linkage), None, linkage, about={"leaves": found.n_clusters}
    )


def linkage(data, seed, method):
    """A method of SciPy for Euclidean distances."""
    start = time.process_time()
    found = hierarchy.linkage(data.X, method)
    return TreeFit(time.process_time() - start, nrm.nested.ItemTree.from_linkage(found), None, found)


def hdbscan(data, seed, min_cluster_size=5):
    """HDBSCAN: its condensed tree cut by depth, with items that no cluster of a depth has as clusters of their own."""
    from hdbscan import HDBSCAN

    start = time.process_time()
    found = HDBSCAN(min_cluster_size=min_cluster_size, core_dist_n_jobs=1).fit(data.X)
    levels = condensed_levels(found.condensed_tree_.to_numpy(), len(data.X), len(data.truth))
    seconds = time.process_time() - start
    return TreeFit(seconds, nrm.nested.ItemTree.from_linkage(found.single_linkage_tree_.to_numpy()), levels)


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
