"""Density of galaxy velocities under an NGG mixture: model, sampling, summary, picture.

Run with ``python examples/galaxies.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_nrm as nrm
from pymc_nrm.datasets import galaxies
from pymc_nrm.families.base import broadcast_hyperparameters, localise, log_predictive, prepare_data
from pymc_nrm.generic import kernel
from pymc_nrm.measures.base import log_eppf, n_clusters_log_pmf
from pymc_nrm.partitions import build_state, label_counts

# Colours that people with any colour vision tell apart (Okabe & Ito).
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"


def build_model(velocities):
    with pm.Model(coords={"galaxy": np.arange(len(velocities))}) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        sigma = pm.Beta("sigma", 1, 4)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, sigma), dims="galaxy")
        scale = pm.LogNormal("scale", 0, 1)
        family = nrm.NormalGamma(mu=velocities.mean(), kappa=0.1, alpha=2, beta=scale)
        nrm.Mixture("velocity", z, family, observed=velocities, dims="galaxy")
    return model


def predictive_densities(posterior, velocities, grid):
    """Density of the velocity of one more galaxy, on a grid, for each draw; shape (n_draws, n_grid)."""
    flat = posterior.dataset.stack(sample=("chain", "draw")).transpose("sample", ...)
    densities = []
    for labels, alpha, sigma, scale in zip(
        *(flat[name].values for name in ("z", "alpha", "sigma", "scale")), strict=True
    ):
        chances = chances_of_next(nrm.NormalizedGeneralizedGamma(alpha, sigma), labels)
        family = nrm.NormalGamma(mu=velocities.mean(), kappa=0.1, alpha=2, beta=scale)
        densities.append(mixture_density(family, labels, chances, velocities, grid))
    return np.array(densities)


def chances_of_next(measure, labels):
    """Probability that one more item joins each cluster or, last, starts a new one; shape (n_clusters + 1,)."""
    counts = label_counts(labels)
    larger = [*(counts + row for row in np.eye(len(counts), dtype=int)), np.append(counts, 1)]
    return np.exp([log_eppf(measure, sizes) - log_eppf(measure, counts) for sizes in larger])


def mixture_density(family, labels, chances, velocities, grid):
    family = broadcast_hyperparameters(family, len(velocities), 1)
    data = prepare_data(family, velocities[:, None])
    points = data._replace(values=grid[:, None] - data.center)
    return sum_predictives(localise(family, data), data, labels, chances, points, len(grid))


@kernel
def sum_predictives(family, data, labels, chances, points, n_points):
    """Predictive densities of the clusters, weighted; slot k holds cluster k, and the next slot no data."""
    state = build_state(labels, family, data)
    density = np.zeros(n_points)
    for k in range(chances.shape[0]):
        for i in range(n_points):
            density[i] += chances[k] * np.exp(log_predictive(family, state.cache[k], points, i))
    return density


def prior_of_n_clusters(model, n):
    """Prior probabilities of 1, ..., n clusters: exact given alpha and sigma, averaged over draws of these two."""
    alphas, sigmas = pm.draw([model["alpha"], model["sigma"]], draws=1000, random_seed=1)
    measures = [nrm.NormalizedGeneralizedGamma(alpha, sigma) for alpha, sigma in zip(alphas, sigmas, strict=True)]
    return np.mean([np.exp(n_clusters_log_pmf(measure, n)) for measure in measures], axis=0)


def plot(idata, model, velocities, path):
    grid = np.linspace(6, 38, 400)
    densities = predictive_densities(idata.posterior.sel(draw=slice(None, None, 10)), velocities, grid)
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(11, 3.4), width_ratios=[1.5, 1, 1], layout="constrained", dpi=110
    )

    left.hist(velocities, bins=np.arange(8, 37), density=True, color="#D9D9D9", label="82 galaxies")
    left.plot(velocities, np.full(len(velocities), -0.006), "|", color="black", markersize=6, alpha=0.6)
    left.fill_between(grid, *np.quantile(densities, [0.05, 0.95], axis=0), color=BLUE, alpha=0.25, label="90% of draws")
    left.plot(grid, densities.mean(axis=0), color=BLUE, linewidth=2, label="predictive density")
    left.set(xlabel="velocity (1000 km/s)", ylabel="density", title="Velocity of one more galaxy", xlim=(6, 38))
    left.legend(frameon=False)

    k = np.arange(1, 41)
    n_clusters = idata.posterior["z_n_clusters"].values
    posterior = np.bincount(n_clusters.ravel(), minlength=41)[1:41] / n_clusters.size
    middle.bar(k, posterior, color=BLUE, alpha=0.8, label="posterior")
    middle.plot(k, prior_of_n_clusters(model, len(velocities))[:40], "o-", color=ORANGE, markersize=3, label="prior")
    middle.set(xlabel="number of clusters", ylabel="probability", title="Clusters among 82 galaxies")
    middle.set_xticks([1, 10, 20, 30, 40])
    middle.legend(frameon=False)

    for trace, color in zip(idata.sample_stats["log_joint"].values, [BLUE, ORANGE, GREEN, PURPLE], strict=True):
        right.plot(trace, color=color, linewidth=0.4, alpha=0.8)
    right.set(xlabel="draw", ylabel="log p(data, partition, u)", title="Log joint density, four chains")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "galaxies.png")
    velocities = galaxies() / 1000
    model = build_model(velocities)
    with model:
        idata = nrm.sample(2000, chains=4, random_seed=1)
    print(az.summary(idata, var_names=["alpha", "sigma", "scale", "z_n_clusters"]).to_string())
    plot(idata, model, velocities, path)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
