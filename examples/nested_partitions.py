"""Nested partitions: a tree that does not see the data, and one that does.

Six clusters of twelve points lie in two groups of three: clusters of a group are 3 apart, the groups 42.  Does the tree
find the groups?

In the model of Huang, Laitonjam, Piao & Hurley (2020), nodes of a tree have weights of components that the whole tree
shares.  Its components are the six clusters, without doubt.  Given the components, though, the tree is independent of
the data: points of two clusters share a node with the same probability, whether the clusters are next to each other or
far apart.  If node means diffuse from parents to children instead, the two groups are the nodes of level 1.

The picture shows the points, and the probabilities that two of them share a node of level 1.  The points are sorted by
group and cluster.

Run with ``python examples/nested_partitions.py [FILE.png]``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_nrm as nrm

DEPTH, N_POINTS = 3, 12
CENTRES = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 2.6], [30.0, 30.0], [33.0, 30.0], [31.5, 32.6]])
CLUSTER = np.repeat(np.arange(6), N_POINTS)
SAME = CLUSTER[:, None] == CLUSTER
SAME_GROUP = (CLUSTER[:, None] < 3) == (CLUSTER < 3)
KINDS = {
    "same cluster": SAME & ~np.eye(len(CLUSTER), dtype=bool),
    "same group": SAME_GROUP & ~SAME,
    "other group": ~SAME_GROUP,
}


def published_model(X):
    """The published model with the concentrations of its authors' example of animals."""
    with pm.Model(coords={"point": range(len(X))}) as model:
        weights = nrm.nested.HierarchicalDirichletProcess(gamma=1.15, gamma_0=1.0)
        family = nrm.NormalWishart(mu=X.mean(axis=0), kappa=0.001, Psi=0.2 * np.eye(2), nu=4.0)
        # Start in one leaf, with the components of a hierarchical clustering.
        clusters = nrm.trees.bhc(X, family, nrm.DirichletProcess(1.0), random_seed=1).labels
        start = np.column_stack([np.zeros((len(X), DEPTH), dtype=int), *[clusters] * (DEPTH + 1)])
        measure = nrm.DirichletProcess(0.3)
        tree = nrm.nested.NestedPartition("tree", measure, DEPTH, weights, dims="point", initval=start)
        nrm.Mixture("x", tree, family, observed=X)
    return model


def diffusion_model(X):
    """The same tree, with node means that diffuse in steps of the size of groups, clusters and less."""
    with pm.Model(coords={"point": range(len(X))}) as model:
        tree = nrm.nested.NestedPartition("tree", nrm.DirichletProcess(0.3), DEPTH, dims="point")
        family = nrm.nested.NormalDiffusion(X.mean(axis=0), [1.0, 2500.0, 20.0, 0.1], 0.2 * np.eye(2), 4.0)
        nrm.Mixture("x", tree, family, observed=X)
    return model


def report(name, idata):
    """Print how often points share a node, by level; return the similarities of level 1."""
    similarities = [nrm.similarity(nrm.stats.levels(idata).sel(level=level)).values for level in range(1, DEPTH + 1)]
    print(f"{name}: probability of sharing a node of levels 1 to {DEPTH}")
    for kind, pairs in KINDS.items():
        print(f"  {kind:12s}", "  ".join(f"{similarity[pairs].mean():.3f}" for similarity in similarities))
    return similarities[0]


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "nested_partitions.png")
    rng = np.random.default_rng(1)
    X = CENTRES[CLUSTER] + rng.normal(0.0, 0.3, size=(len(CLUSTER), 2))
    with published_model(X):
        published = nrm.sample(2000, tune=300, chains=4, random_seed=1)
    with diffusion_model(X):
        diffusion = nrm.sample(2000, tune=300, chains=4, random_seed=1)
    components = published.posterior["tree_n_components"]
    print(f"components of the published model: {float(components.mean()):.2f} on average")

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.3), layout="constrained")
    axes[0].scatter(*X.T, s=12, c=CLUSTER, cmap="tab10")
    axes[0].set(title="Six clusters in two groups", aspect="equal")
    titles = ["Published model", "Node means diffuse down the tree"]
    for ax, title, idata in zip(axes[1:], titles, [published, diffusion], strict=True):
        image = ax.imshow(report(title, idata), vmin=0.0, vmax=1.0, cmap="Blues")
        ax.set(title=title, xticks=[], yticks=[])
        ax.set_xlabel("points, sorted by group and cluster")
    figure.colorbar(image, ax=axes[1:], label="probability of sharing a node of level 1")
    figure.savefig(path, dpi=90)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
