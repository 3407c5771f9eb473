"""Samplers: three ways to move a partition, compared by effective draws per second.

Which sampler should you choose?  A thousand points come from six normal distributions side by side, so close together
that it is uncertain where some points belong.  The model is the same for all samplers: a Dirichlet process mixture of
normal distributions.  ``TreeGuided``, the default, moves blocks of a tree; ``SplitMerge`` splits and merges clusters
chosen by two random items; ``MarginalGibbs`` moves one item at a time.

The picture shows the number of clusters in the same number of draws, and what counts in the end: effective draws per
CPU second, including tuning.  All three samplers are exact and agree in the long run, but Gibbs needs a very long run
here, since on the way from one cluster to two every single item is better off where it is.  Its chains start from one
cluster.  Some have not found all six after thousands of draws, and ``nrm.sample`` rightly warns that they disagree.
Times depend on the machine, and the order of the samplers on the data: if clusters overlap more than here, Gibbs gains.

Run with ``python examples/samplers.py [FILE.png]``.
"""

import sys
import time
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import pymc_nrm as nrm

SAMPLERS = {
    "TreeGuided": nrm.steps.TreeGuided,
    "SplitMerge": nrm.steps.SplitMerge,
    "MarginalGibbs": nrm.steps.MarginalGibbs,
}
QUANTITIES = {"z[n_clusters]": "number of clusters", "z[entropy]": "entropy", "z[log_joint]": "log joint density"}
# Paul Tol's muted colours, which people with any colour vision can tell apart.
COLORS = ["#332288", "#cc6677", "#117733"]
N_DRAWS, N_CHAINS = 2000, 3


def simulate(rng, n=1000):
    angles = np.pi / 3 * rng.choice(6, n)
    return 4 * np.stack([np.cos(angles), np.sin(angles)], axis=1) + rng.normal(size=(n, 2))


def draw(step_class, X, n_draws):
    """Posterior draws, and the CPU seconds that they took."""
    with pm.Model(coords={"item": range(len(X))}):
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="item")
        nrm.Mixture("x", z, nrm.NormalWishart.from_data(X), observed=X)
        step = step_class([z])
        start = time.process_time()
        checks = n_draws == N_DRAWS
        idata = nrm.sample(
            n_draws,
            tune=n_draws // 4,
            chains=N_CHAINS,
            cores=1,
            step=step,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=checks,
            partition_diagnostics=False,
        )
    return idata, time.process_time() - start


def panel(axes, title):
    """One plot of a figure, to draw on."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib")


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "samplers.png")
    X = simulate(np.random.default_rng(5))
    results, table = {}, {}
    for name, step_class in SAMPLERS.items():
        draw(step_class, X, 20)  # compiles the kernels
        idata, seconds = draw(step_class, X, N_DRAWS)
        rows = nrm.summary(idata, round_to="none").loc[list(QUANTITIES)]
        results[name] = idata
        table[name] = {
            "seconds": seconds,
            "mean n_clusters": rows["mean"].iloc[0],
            "mcse": rows["mcse_mean"].iloc[0],
        } | {f"ESS/s {QUANTITIES[row]}": ess / seconds for row, ess in rows["ess_bulk"].items()}
    table = pd.DataFrame(table).T
    print(table.round(2).T.to_string())

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure = plt.figure(figsize=(12, 6), layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=[1.5, 1])
    shared = None
    for i, (name, idata) in enumerate(results.items()):
        axes = figure.add_subplot(grid[i, 0], sharex=shared, sharey=shared)
        shared = shared or axes
        for chain, shade in zip(idata.posterior["z"].max("item") + 1, (1.0, 0.6, 0.35), strict=True):
            axes.plot(chain, color=COLORS[i], alpha=shade, linewidth=0.6)
        axes.set_title(f"{name}: {table.loc[name, 'seconds']:.1f} seconds", fontsize=11)
        axes.set(ylabel="clusters", xlim=(0, N_DRAWS), yticks=[2, 4, 6, 8, 10, 12])
        axes.tick_params(labelbottom=i == 2)
    axes.set_xlabel("draw after tuning (three chains)")

    axes = figure.add_subplot(grid[:2, 1])
    pc = panel(axes, "Data and point estimate")
    estimate = nrm.stats.point_estimate(results["TreeGuided"], random_seed=1)
    visuals = {"legend": False, "xlabel": False, "ylabel": False}
    nrm.plots.plot_clusters(results["TreeGuided"], X, estimate=estimate, plot_collection=pc, visuals=visuals)
    axes = figure.add_subplot(grid[2, 1])
    place = np.arange(len(QUANTITIES))
    for i, name in enumerate(SAMPLERS):
        values = table.loc[name, [f"ESS/s {quantity}" for quantity in QUANTITIES.values()]]
        axes.barh(place + 0.27 * (i - 1), values, height=0.25, color=COLORS[i], label=name)
    axes.set_yticks(place, QUANTITIES.values())
    axes.invert_yaxis()
    axes.set_xlabel("effective draws per second")
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=95)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
