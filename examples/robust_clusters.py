"""Clusters among outliers.

Three groups of points, and one point in twelve is anywhere.  A mixture of Gaussians makes a wide cluster for these,
which also takes points from the edges of the groups.  A t distribution with three degrees of freedom expects some
points far out.  It has no conjugate prior; as the likelihood of a ``Partition`` with ``max_clusters`` it needs none:
centres and Cholesky factors of the clusters are ordinary variables, indexed by the labels.

The left picture shows the point estimate under ``NormalWishart`` and the middle one that under the t distribution, with
curves that hold 90 % of each cluster.  Crosses mark the outliers.  On the right are the posterior probabilities of the
numbers of clusters: with Gaussians three are out of the question.  The data are simulated, and the groups are Gaussian.

Run with ``python examples/robust_clusters.py [FILE.png]``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy import stats

import pymc_nrm as nrm

COLORS = ["#332288", "#cc6677", "#117733", "#ddaa33", "#88ccee", "#aa4499", "#882255", "#44aa99", "#999933"]
CENTRES = np.array([[-3.0, -1.0], [3.0, 0.0], [0.0, 3.5]])
FACTORS = np.array([[[0.8, 0], [0.5, 0.5]], [[0.6, 0], [-0.5, 0.8]], [[0.9, 0], [0.0, 0.5]]])
N_POINTS, NU = 240, 3


def simulate(rng):
    group = rng.choice(3, N_POINTS, p=[0.45, 0.35, 0.2])
    X = CENTRES[group] + np.einsum("nij,nj->ni", FACTORS[group], rng.normal(size=(N_POINTS, 2)))
    outlier = rng.random(N_POINTS) < 1 / 12
    X[outlier] = rng.uniform([-9, -7], [9, 10], (outlier.sum(), 2))
    return X, group, outlier


def gaussian_model(X):
    with pm.Model(coords={"point": range(len(X))}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Gamma("alpha", 2, 2)), dims="point")
        nrm.Mixture("x", z, nrm.NormalWishart.from_data(X), observed=X)
    return model


def t_model(X):
    with pm.Model(coords={"point": range(len(X)), "cluster": range(20), "axis": ["x", "y"]}) as model:
        alpha = pm.Gamma("alpha", 2, 2)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="point", max_clusters="cluster")
        center = pm.Normal("center", 0, 4, dims=("cluster", "axis"))
        width = pm.LogNormal("width", -0.3, 0.5, dims=("cluster", "axis"))
        slope = pm.Normal("slope", 0, 0.7, dims="cluster")
        # Whitened by the Cholesky factor [[w0, 0], [slope w1, w1]] of each cluster.
        first = (X[:, 0] - center[z, 0]) / width[z, 0]
        second = (X[:, 1] - center[z, 1]) / width[z, 1] - slope[z] * first
        squared, log_width = first**2 + second**2, pt.log(width[z]).sum(-1)
        pm.Potential("x", -(NU + 2) / 2 * pt.log1p(squared / NU) - log_width)
    return model


def factors(width, slope):
    """Cholesky factors, shape (..., 2, 2)."""
    zero = np.zeros_like(slope)
    rows = [np.stack([width[..., 0], zero], -1), np.stack([slope * width[..., 1], width[..., 1]], -1)]
    return np.stack(rows, -2)


def plot_points(axes, X, outlier, labels, title):
    """Points in the colours of their clusters, large clusters first; points in clusters of fewer than five are open."""
    sizes = np.bincount(labels)
    order = np.argsort(-sizes, kind="stable")
    rank = np.argsort(order)[labels]
    small = sizes[labels] < 5
    axes.scatter(*X[small].T, s=16, facecolor="none", edgecolor="#595959", linewidth=0.8)
    axes.scatter(*X[~small].T, s=12, color=[COLORS[r % len(COLORS)] for r in rank[~small]], zorder=2)
    axes.plot(*X[outlier].T, "x", color="#8c8c8c", markersize=7, markeredgewidth=0.7, zorder=1)
    axes.set(xlim=(-10, 10), ylim=(-8, 11), xlabel="x", ylabel="y")
    axes.set_title(title, fontsize=11)
    return [k for k in order if sizes[k] >= 5]


def plot_ellipse(axes, center, factor, radius, color):
    angle = np.linspace(0, 2 * np.pi, 100)
    circle = radius * np.stack([np.cos(angle), np.sin(angle)])
    axes.plot(*(center[:, None] + factor @ circle), color=color, linewidth=1.2)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "robust_clusters.png")
    X, group, outlier = simulate(np.random.default_rng(4))
    models = {"Gaussian": gaussian_model(X), "t distribution": t_model(X)}
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for number, (name, model) in enumerate(models.items()):
        with model:
            idata = nrm.sample(1000, tune=500, chains=2, random_seed=1)
        print(nrm.summary(idata, ["alpha", "z"]).to_string())
        estimate = nrm.point_estimate(idata, random_seed=1)
        labels = estimate["labels"].values
        agreement = nrm.stats.adjusted_rand(labels[~outlier], group[~outlier])
        print(f"\n{name}: {int(estimate.n_clusters)} clusters in the estimate")
        print(f"adjusted Rand index without the outliers {agreement:.3f}\n")
        large = plot_points(axes[number], X, outlier, labels, f"{name}: {int(estimate.n_clusters)} clusters")
        if number == 0:
            for k, color in zip(large, COLORS, strict=False):
                own = X[labels == k]
                radius = np.sqrt(stats.chi2.ppf(0.9, 2))
                plot_ellipse(axes[number], own.mean(axis=0), np.linalg.cholesky(np.cov(own.T)), radius, color)
        else:
            means = nrm.stats.cluster_parameters(idata, estimate).mean(("chain", "draw"))
            for k, color in zip(large, COLORS, strict=False):
                own = means.sel(cluster=k)
                radius = np.sqrt(2 * stats.f.ppf(0.9, 2, NU))
                factor = factors(own["width"].values, own["slope"].values)
                plot_ellipse(axes[number], own["center"].values, factor, radius, color)
        counts = np.bincount(idata.posterior["z_n_clusters"].values.ravel(), minlength=16)
        place = np.arange(len(counts)) + 0.4 * number - 0.2
        axes[2].bar(place, counts / counts.sum(), width=0.4, color=COLORS[number], label=name)
    axes[2].set(xlabel="number of clusters", ylabel="posterior probability", xlim=(1.5, 12))
    axes[2].set_title("How many clusters", fontsize=11)
    axes[2].legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=95)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
