"""Old Faithful: density and clusters in two dimensions.

The geyser Old Faithful makes its visitors wait.  How are the duration of an eruption and the waiting time to the next
one related, and how many kinds of eruptions are there?  The model is a Dirichlet process mixture of normal
distributions with full covariances and an unknown concentration parameter.

The picture shows contours of the predictive density of one more eruption; the clusters of the point estimate, with
ellipses that hold 90 % of each normal component, and paler points if their cluster is less certain; and the posterior
of the number of clusters beside its prior.

Run with ``python examples/old_faithful.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.datasets import old_faithful

FEATURES = ["duration (minutes)", "wait for the next one (minutes)"]
LOWER_RIGHT = {"loc": "lower right", "bbox_to_anchor": (1, 0)}


def build_model(eruptions):
    with pm.Model(coords={"eruption": range(len(eruptions)), "feature": FEATURES}) as model:
        alpha = pm.Gamma("alpha", 2, 2)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="eruption")
        family = nrm.NormalWishart.from_data(eruptions)
        nrm.Mixture("x", z, family, observed=eruptions, dims=("eruption", "feature"))
    return model


def panel(axes, title):
    """One plot of a figure to draw on, and the place of its legend."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    legend = {"loc": "upper right", "bbox_to_anchor": (1, 1), "bbox_transform": axes.transAxes, "ncols": 1}
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib"), legend | {"fontsize": 9}


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "old_faithful.png")
    eruptions = old_faithful()
    with build_model(eruptions) as model:
        idata = nrm.sample(3000, chains=4, random_seed=1)
        prior = pm.sample_prior_predictive(20_000, var_names=["z"], random_seed=1)
    print(nrm.summary(idata).to_string())

    estimate = nrm.stats.point_estimate(idata, random_seed=1)
    uncertain = nrm.stats.assignment_uncertainty(idata, estimate) > 0.1
    parameters = nrm.sample_cluster_parameters(idata, model, random_seed=1)
    thinned = idata.sel(draw=slice(None, None, 30))
    grid = np.stack(np.meshgrid(np.linspace(0.8, 6, 80), np.linspace(35, 105, 80), indexing="ij"), axis=-1)
    density = nrm.predictive_density(thinned, model, grid.reshape(-1, 2))
    n_clusters, n_uncertain = int(estimate.n_clusters), int(uncertain.sum())
    print(f"\npoint estimate: {n_clusters} clusters; the cluster of {n_uncertain} eruptions is uncertain")
    means = parameters.item_mean.mean(("chain", "draw"))
    for k, size in enumerate(np.bincount(estimate.labels)):
        duration, wait = means[estimate.labels.values == k].mean("eruption").values
        print(f"cluster {k + 1}: size {size}, mean duration {duration:.2f} and wait {wait:.1f} minutes")

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    pc, legend = panel(left, "Predictive density")
    nrm.plots.plot_density(density, data=eruptions, plot_collection=pc, visuals={"legend": legend | LOWER_RIGHT})
    pc, legend = panel(middle, "Point estimate and components")
    visuals = {"legend": legend | LOWER_RIGHT}
    nrm.plots.plot_clusters(
        idata, eruptions, estimate=estimate, components=parameters, plot_collection=pc, visuals=visuals
    )
    for axes in (left, middle):
        axes.set(xlabel=FEATURES[0], ylabel=FEATURES[1], xlim=(0.8, 6), ylim=(35, 105))
    pc, legend = panel(right, "Number of clusters")
    nrm.plots.plot_n_clusters(idata, prior=prior, plot_collection=pc, visuals={"legend": legend})
    figure.savefig(path, dpi=100)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
