"""Galaxies: the density of their velocities, and the number of clusters.

How are the velocities of 82 galaxies distributed, and in how many groups do they come?  The data of each cluster are
normal with unknown mean and variance.  The prior over partitions is that of a normalized generalized gamma measure.

The analysis is that of Favaro & Teh (2013, "MCMC for normalized random measure mixture models"), with all of their
priors: Gamma(1, 1) for alpha, Beta(1, 2) for sigma, and for the squared width of clusters, relative to half of the
range of the velocities, a gamma distribution that allows very narrow and very wide ones.  Crosses in the picture mark
the posterior of the number of clusters that their program gives, and the table printed last compares its moments.

The data determine the density well, but hardly the number of clusters: mixtures with more or fewer overlapping
components describe the density about equally well.  ``examples/galaxy_priors.py`` compares three priors.

Run with ``python examples/galaxies.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz as az
import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import pymc_nrm as nrm

# What the program of Favaro & Teh gives: moments, and probabilities of 4, 5, ..., 16 clusters.
PUBLISHED = {"n_clusters": 10.77, "sd of n_clusters": 3.27, "alpha": 1.22, "sigma": 0.259}
PUBLISHED_LAW = [0.005, 0.018, 0.042, 0.083, 0.108, 0.127, 0.129, 0.124, 0.102, 0.078, 0.054, 0.041, 0.031]
GRID = np.linspace(5, 39, 300)


def build_model(velocities, measure=nrm.NormalizedGeneralizedGamma):
    low, high = velocities.min(), velocities.max()
    middle, reach = (high + low) / 2, (high - low) / 2
    with pm.Model(coords={"galaxy": range(len(velocities))}) as model:
        parameters = [pm.Gamma("alpha", 1, 1)]
        if measure is nrm.NormalizedGeneralizedGamma:
            parameters.append(pm.Beta("sigma", 1, 2))
        z = nrm.Partition("z", measure(*parameters), dims="galaxy")
        width = pm.Gamma("width", 0.2, 5)
        family = nrm.NormalGamma(mu=middle, kappa=width / 2, alpha=2, beta=width * reach**2 / 2)
        nrm.Mixture("velocity", z, family, observed=velocities, dims="galaxy")
    return model


def agreement(idata):
    """Posterior moments beside the published ones, and their difference in Monte Carlo standard errors."""
    n_clusters = idata.posterior["z_n_clusters"].astype(float)
    quantities = {"n_clusters": n_clusters, "alpha": idata.posterior["alpha"], "sigma": idata.posterior["sigma"]}
    rows = {name: (float(draws.mean()), float(az.mcse(draws))) for name, draws in quantities.items()}
    rows["sd of n_clusters"] = float(n_clusters.std()), float(az.mcse(n_clusters, method="sd"))
    table = pd.DataFrame(rows, index=["here", "mcse"]).T.loc[list(PUBLISHED)]
    return table.assign(published=PUBLISHED, z=lambda rows: (rows["here"] - rows["published"]) / rows["mcse"])


def draw_density(axes, density, velocities, *, title="", has_legend=True):
    pc, legend = _panel(axes, title)
    visuals = {"legend": legend if has_legend else False, "xlabel": {"text": "velocity (1000 km/s)"}}
    nrm.plots.plot_density(density, data=velocities, bins=np.arange(8, 37), plot_collection=pc, visuals=visuals)
    axes.set(ylim=(-0.015, 0.33))


def draw_n_clusters(axes, idata, prior, *, has_legend=True, has_published=False):
    pc, legend = _panel(axes, "")
    visuals = {"legend": legend if has_legend else False}
    nrm.plots.plot_n_clusters(idata, prior=prior, plot_collection=pc, visuals=visuals)
    axes.set(xlim=(0, 45), ylim=(0, 0.2), xticks=[1, 10, 20, 30, 40], xticklabels=[1, 10, 20, 30, 40])
    if has_published:
        numbers = range(4, 4 + len(PUBLISHED_LAW))
        [crosses] = axes.plot(numbers, PUBLISHED_LAW, "x", color="black", zorder=4, label="program of Favaro & Teh")
        # Below the entries of the plot, and in line with them.
        place = {"loc": "upper left", "bbox_to_anchor": (0.435, 0.81)} if has_legend else {"loc": "upper right"}
        axes.legend(handles=[crosses], **place, frameon=False, fontsize=9)


def _panel(axes, title):
    """One plot of a figure to draw on, and the place of its legend."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    legend = {"loc": "upper right", "bbox_to_anchor": (1, 1), "bbox_transform": axes.transAxes, "ncols": 1}
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib"), legend | {"fontsize": 9}


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "galaxies.png")
    velocities = nrm.datasets.galaxies() / 1000
    with build_model(velocities) as model:
        idata = nrm.sample(1000, tune=500, chains=4, random_seed=1, target_accept=0.95)
        prior = pm.sample_prior_predictive(5_000, var_names=["z"], random_seed=1)
    print(nrm.summary(idata, n_sizes=2).to_string())
    print(f"\nBeside the program of Favaro & Teh:\n{agreement(idata).round(3).to_string()}")
    density = nrm.predictive_density(idata.sel(draw=slice(None, None, 5)), model, GRID)

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    draw_density(left, density, velocities)
    draw_n_clusters(right, idata, prior, has_published=True)
    figure.savefig(path, dpi=100)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
