"""Hyperpriors: what they say about the number of clusters, before and after the data.

How many groups of galaxies there are depends on the prior over partitions, which depends on its hyperparameters.  We
fit the same mixture of normal distributions to the velocities of 82 galaxies under five priors: Dirichlet processes
(DP) whose concentration parameter is fixed, or has the hyperprior of the recipes, a usual or a vague one, and a
normalized generalized gamma measure (NGG) with two unknown parameters.

The picture shows prior and posterior of the number of clusters under each.  A fixed parameter is the strongest
assumption of all, though it looks like none; hyperpriors spread the prior and let the data move it.  The default of the
recipes, Exponential(log n), gives one cluster a probability of about 1/2 for any n, and two clusters in the mean: it
asks whether there are clusters at all.  A vague hyperprior does not help: Gamma(1, 0.1) gives a tenth of its mass to
values above 23, and so to dozens of clusters, and if the data say little, as here, the posterior follows.

Run with ``python examples/hyperprior_study.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.datasets import galaxies

# Each entry makes the measure inside a model.
PRIORS = {
    "DP, alpha = 1": lambda: nrm.DirichletProcess(1.0),
    "DP, alpha ~ Exponential(log n)": lambda: nrm.DirichletProcess(pm.Exponential("alpha", np.log(82))),
    "DP, alpha ~ Gamma(2, 1)": lambda: nrm.DirichletProcess(pm.Gamma("alpha", 2, 1)),
    "DP, alpha ~ Gamma(1, 0.1)": lambda: nrm.DirichletProcess(pm.Gamma("alpha", 1, 0.1)),
    "NGG, alpha ~ Gamma(2, 1), sigma ~ Beta(1, 4)": lambda: nrm.NormalizedGeneralizedGamma(
        pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1, 4)
    ),
}


def build_model(make_measure, velocities):
    with pm.Model(coords={"galaxy": range(len(velocities))}) as model:
        z = nrm.Partition("z", make_measure(), dims="galaxy")
        family = nrm.NormalGamma(mu=velocities.mean(), kappa=0.1, alpha=2, beta=1.5)
        nrm.Mixture("velocity", z, family, observed=velocities, dims="galaxy")
    return model


def panel(axes, title):
    """One plot of a figure to draw on."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib")


def n_clusters(draws):
    return draws["z"].max("galaxy").values.ravel() + 1


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "hyperprior_study.png")
    velocities = galaxies() / 1000
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(2, 3, figsize=(13, 6.6), layout="constrained")
    *plots, empty = axes.flat
    empty.axis("off")
    legend = {"loc": "center", "bbox_to_anchor": (0.5, 0.5), "bbox_transform": empty.transAxes, "ncols": 1}
    table = {}
    for (name, make_measure), plot in zip(PRIORS.items(), plots, strict=True):
        with build_model(make_measure, velocities):
            idata = nrm.sample(4000, tune=500, chains=4, random_seed=1)
            prior = pm.sample_prior_predictive(20_000, var_names=["z"], random_seed=1)
        before, after = pd.Series(n_clusters(prior.prior)), pd.Series(n_clusters(idata.posterior))
        table[name] = {
            "prior mean": before.mean(),
            "prior sd": before.std(),
            "posterior mean": after.mean(),
            "posterior sd": after.std(),
            "shift / prior sd": (after.mean() - before.mean()) / before.std(),
        }
        visuals = {"legend": legend if plot is plots[0] else False}
        nrm.plots.plot_n_clusters(idata, prior=prior, plot_collection=panel(plot, name), visuals=visuals)
        plot.set(xlim=(0, 50), xticks=[1, 10, 20, 30, 40, 50], xticklabels=[1, 10, 20, 30, 40, 50])
    print(pd.DataFrame(table).T.round(2).to_string())
    figure.savefig(path, dpi=100)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
