"""Characters of a novel: a network of counts, with and without degree correction.

How often two of 77 characters of "Les Misérables" appear in the same chapter (Knuth 1993, "The Stanford GraphBase").
Valjean meets everybody, others only a few.  A block model explains this by clusters of the more and the less frequent;
with degree correction, characters of a cluster differ in how often they appear, and the largest clusters are larger.
There are about 24 clusters without it and 20 with it: counts vary more than Poisson variables of a few rates, and
characters such as Valjean are clusters of their own.

The two chains agree (R-hat at most 1.03), but without degree correction probabilities that two characters are in one
cluster have standard errors up to 0.06; the log says that 5000 draws would bring them to 0.035.

The picture shows the counts sorted by clusters, and the posterior means of the rates between them, without degree
correction above and with it below.

The data come with networkx, which the example needs: ``pip install networkx``.

Run with ``python examples/les_miserables.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import xarray as xr

import pymc_nrm as nrm

TITLES = {False: "without degree correction", True: "with degree correction"}


def panels(axes):
    """Two plots of a figure to draw on."""
    plots = np.empty(2, dtype=object)
    plots[:] = list(axes)
    data = xr.Dataset({"figure": axes[0].figure, "plot": ("panel", plots)}, {"panel": ["pairs", "blocks"]})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(data), backend="matplotlib")


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "les_miserables.png")
    graph = nx.les_miserables_graph()
    figure, axes = plt.subplots(2, 2, figsize=(12, 10), layout="constrained")
    for row, (is_corrected, title) in zip(axes, TITLES.items(), strict=True):
        model = nrm.networks.network_model(graph, degree_corrected=is_corrected)
        idata = nrm.sample(1500, tune=1000, chains=2, model=model, random_seed=1)
        print(nrm.summary(idata).to_string(), "\n")
        estimate = nrm.point_estimate(idata, random_seed=1)
        print(f"{title}: {nrm.describe(idata, model, estimate)}\n")
        row[0].set_title(title)
        nrm.networks.plots.plot_blocks(idata, model, estimate, plot_collection=panels(row))
    figure.savefig(path, dpi=80)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
