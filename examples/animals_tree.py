"""Animals: a tree with the posterior probability of every node.

Thirty-eight animals and thirty of their properties, as in the other example of animals, reduced to six principal
components.  Here the question is not into how many clusters the animals fall, but which tree they form, and how certain
each node of it is.

On the left, node means diffuse from parents to children: nodes with similar animals share a parent.  The
concentration parameter and the step of the diffusion are learned.  The tree is the majority-rule consensus: a set of
animals is a node if it is one in more than half of the draws, and the number before it is the share.

On the right is the published model of Huang, Laitonjam, Piao & Hurley (2020), in which nodes have weights of components
common to the whole tree, and no means of their own.  Given the components, its tree does not depend on the data at all:
where components stand in the tree says nothing about how similar they are.  What it finds are the components, in
colours.  No set of animals is a node in half of its draws; the tree shown is that of least expected variation of
information, and the probabilities of its nodes are small.

Run with ``python examples/animals_tree.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import xarray as xr
from animals import ANIMALS, FEATURES

import pymc_nrm as nrm

DEPTH, N_COMPONENTS = 3, 6


def principal_components():
    """Coordinates of the animals along the first principal components of their properties, shape (38, 6)."""
    X = np.array([[animal in having.split() for having in FEATURES.values()] for animal in ANIMALS], dtype=float)
    left, lengths, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    share = (lengths[:N_COMPONENTS] ** 2).sum() / (lengths**2).sum()
    print(f"{N_COMPONENTS} principal components hold {100 * share:.0f} % of the variance")
    return left[:, :N_COMPONENTS] * lengths[:N_COMPONENTS]


def diffusion_model(X):
    with pm.Model(coords={"animal": ANIMALS}) as model:
        alpha = pm.Gamma("alpha", 2, 2)
        tau = pm.LogNormal("tau", 1, 1)
        tree = nrm.nested.NestedPartition("tree", nrm.DirichletProcess(alpha), depth=DEPTH, dims="animal")
        nu = N_COMPONENTS + 4
        Psi = 0.1 * (nu - N_COMPONENTS - 1) * np.diag(X.var(axis=0))
        nrm.Mixture("x", tree, nrm.nested.NormalDiffusion(np.zeros(N_COMPONENTS), tau, Psi, nu), observed=X)
    return model


def published_model(X):
    with pm.Model(coords={"animal": ANIMALS}) as model:
        weights = nrm.nested.HierarchicalDirichletProcess(1.15, 1.0)
        measure = nrm.DirichletProcess(0.3)
        tree = nrm.nested.NestedPartition("tree", measure, depth=DEPTH, weights=weights, dims="animal")
        nrm.Mixture("x", tree, nrm.NormalWishart.from_data(X), observed=X)
    return model


def report(idata):
    """Print what chains agree about, and the consensus tree."""
    print(nrm.summary(idata).to_string(), "\n")
    tree = nrm.nested.consensus_tree(idata)
    print(tree, "\n")
    return tree


def panel(axes, title):
    """One plot of a figure, to draw on."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib")


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "animals_tree.png")
    X = principal_components()
    with diffusion_model(X):
        diffusion = nrm.sample(2000, tune=1000, chains=4, random_seed=1)
    with published_model(X):
        published = nrm.sample(2000, tune=1000, chains=4, random_seed=1)

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 8.4), layout="constrained")
    tree = report(diffusion)
    nrm.nested.plots.plot_tree(tree, plot_collection=panel(left, "Node means diffuse down the tree"))
    components = nrm.stats.component_draws(published)
    classes = nrm.point_estimate(components, max_clusters=8, random_seed=1).labels.values + 1
    report(published)
    estimate = nrm.nested.nested_point_estimate(published, random_seed=1)
    title = "Published model: least expected loss, components in colours"
    nrm.nested.plots.plot_tree(estimate, composition=classes, plot_collection=panel(right, title))
    for k in range(1, classes.max() + 1):
        print(f"component {k}: {', '.join(np.array(ANIMALS)[classes == k])}")
    figure.savefig(path, dpi=90)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
