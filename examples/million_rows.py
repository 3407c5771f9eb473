"""A million rows on disk.

A table of a million rows lies in a file: points of a plane in ten clusters of unequal sizes, some of which overlap,
and a thin background over all of it.  ``Chunks`` reads it block by block, an exact chain runs over all rows on all
cores, and results hold labels of ten thousand rows and the statistics of all clusters.  ``label_rows`` gives every row
its cluster and the probability of it, by one pass.  The data are simulated, so the truth is known.

The picture shows all rows on the left, brighter where there are more, with the covariance of every cluster of the
estimate (two standard deviations).  On the right is how surely rows belong to their clusters: most do without a doubt,
and those between two clusters do not.

Run with ``python examples/million_rows.py [FILE.png]``.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
from matplotlib.patches import Ellipse

import pymc_nrm as nrm

N_ROWS, N_CLUSTERS = 1_000_000, 10


def simulate(rng):
    """Rows and their clusters, -1 for the background."""
    means = rng.uniform(-10, 10, (N_CLUSTERS, 2))
    labels = rng.choice(N_CLUSTERS, N_ROWS, p=rng.dirichlet(np.full(N_CLUSTERS, 3.0)))
    factors = np.eye(2) + rng.normal(0, 0.4, (N_CLUSTERS, 2, 2))
    X = means[labels] + np.einsum("nij,nj->ni", factors[labels], rng.normal(size=(N_ROWS, 2)))
    background = rng.random(N_ROWS) < 0.01
    X[background] = rng.uniform(-15, 15, (background.sum(), 2))
    return X, np.where(background, -1, labels)


def fit(path):
    """The model, its draws, the estimate and the labels of all rows."""
    rows = nrm.Chunks(np.load(path, mmap_mode="r"))
    with pm.Model() as model:
        alpha = pm.Exponential("alpha", np.log(N_ROWS))
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), chunks=rows)
        nrm.Mixture("x", z, nrm.NormalWishart.from_data(rows), observed=rows)
        idata = nrm.sample(20, tune=20, chains=2, random_seed=1, compute_convergence_checks=False)
    estimate = nrm.point_estimate(idata, random_seed=1)
    return rows, estimate, nrm.label_rows(idata, model, estimate=estimate, n_draws=20, random_seed=1)


def plot(X, labelled, path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    left.hist2d(*X.T, bins=300, norm="log", cmap="cividis")
    labels = labelled["labels"].values
    for label in np.unique(labels[labels >= 0]):
        own = X[labels == label]
        if len(own) < 0.001 * len(X):
            continue
        variances, axes = np.linalg.eigh(np.cov(own.T))
        angle = np.degrees(np.arctan2(*axes[::-1, 1]))
        width, height = 4 * np.sqrt(variances[::-1])
        left.add_patch(Ellipse(own.mean(axis=0), width, height, angle=angle, fill=False, color="white", lw=1.5))
    left.set(xlabel="first column", ylabel="second column", title=f"{len(X):,} rows and the clusters of the estimate")
    right.hist(labelled["probability"].values, bins=50, range=(0, 1), color="#332288")
    right.set(xlabel="probability of the cluster of a row", ylabel="rows", title="How surely rows belong", yscale="log")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    X, truth = simulate(np.random.default_rng(1))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.npy")
        np.save(file, X)
        rows, estimate, labelled = fit(file)
    known = truth >= 0
    rand = nrm.stats.adjusted_rand(truth[known], labelled["labels"].values[known])
    print(f"{rows}: {estimate.labels.values.max() + 1} clusters in the estimate, adjusted Rand index {rand:.3f}")
    plot(X, labelled, sys.argv[1] if len(sys.argv) > 1 else "million_rows.png")
