"""Galaxies: one density, three priors over partitions.

How are the velocities of 82 galaxies distributed, and in how many groups do they come?  The data of each cluster are
normal with unknown mean and variance.  The prior over partitions is that of a Dirichlet process, of a normalized
inverse Gaussian measure, or of a normalized generalized gamma measure (NGG), which contains both.

For each prior, the picture shows the predictive density of the velocity of one more galaxy, and the number of clusters.
The data determine the density well, and it hardly depends on the prior.  They do not determine the number of clusters,
which depends on the prior: mixtures with more or fewer overlapping components describe the density about equally well.
Leave-one-out cross-validation, printed last, therefore prefers none of the priors: differences are smaller than their
standard errors.

Run with ``python examples/galaxies.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz as az
import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.datasets import galaxies

MEASURES = {
    "Dirichlet process": nrm.DirichletProcess,
    "normalized inverse Gaussian": nrm.NormalizedInverseGaussian,
    "NGG": nrm.NormalizedGeneralizedGamma,
}


def build_model(measure, velocities):
    with pm.Model(coords={"galaxy": range(82)}) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        parameters = [alpha]
        if measure is nrm.NormalizedGeneralizedGamma:
            parameters.append(pm.Beta("sigma", 1, 4))
        z = nrm.Partition("z", measure(*parameters), dims="galaxy")
        scale = pm.LogNormal("scale", 0, 1)
        family = nrm.NormalGamma(mu=velocities.mean(), kappa=0.1, alpha=2, beta=scale)
        nrm.Mixture("velocity", z, family, observed=velocities, dims="galaxy")
    return model


def panel(axes, title):
    """One plot of a figure to draw on, and the place of its legend."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    legend = {"loc": "upper right", "bbox_to_anchor": (1, 1), "bbox_transform": axes.transAxes, "ncols": 1}
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib"), legend | {"fontsize": 9}


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "galaxies.png")
    velocities = galaxies() / 1000
    grid = np.linspace(5, 39, 300)
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, (top, bottom) = plt.subplots(2, 3, figsize=(12, 6.6), sharey="row", layout="constrained")
    results = {}
    for i, (name, measure) in enumerate(MEASURES.items()):
        with build_model(measure, velocities) as model:
            idata = nrm.sample(4000, chains=4, random_seed=1)
            prior = pm.sample_prior_predictive(20_000, var_names=["z"], random_seed=1)
        print(f"{name}:\n{nrm.summary(idata, n_sizes=2).to_string()}\n")
        results[name] = nrm.compute_log_likelihood(idata.sel(draw=slice(None, None, 4)), model)
        density = nrm.density(idata.sel(draw=slice(None, None, 10)), model, grid)

        pc, legend = panel(top[i], name)
        visuals = {"legend": legend if i == 0 else False, "xlabel": {"text": "velocity (1000 km/s)"}}
        nrm.plots.plot_density(density, data=velocities, bins=np.arange(8, 37), plot_collection=pc, visuals=visuals)
        pc, legend = panel(bottom[i], "")
        visuals = {"legend": legend if i == 0 else False}
        nrm.plots.plot_n_clusters(idata, prior=prior, plot_collection=pc, visuals=visuals)
        bottom[i].set(xlim=(0, 45), xticks=[1, 10, 20, 30, 40], xticklabels=[1, 10, 20, 30, 40])
    top[0].set(ylim=(-0.015, 0.33))
    bottom[0].set(ylim=(0, 0.16))
    print(az.compare(results, round_to=2).to_string())
    figure.savefig(path, dpi=100)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
