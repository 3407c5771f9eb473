"""The karate club: who is tied to whom, and predictions of friendships that were not observed.

Which of 34 members of a karate club were friends outside of it, before the club fell apart in two (Zachary 1977, "An
information flow model for conflict and fission in small groups").  Clusters of a block model are those who are tied to
the same others: two leaders with few friends in common, and the circles around each.  Hardly a cluster has members of
both later clubs.  With degree correction, which allows members to differ in how many friends they have, the friendships
barely tell groups apart, and the description says so.

A tenth of the pairs is then held out.  The block model predicts them by posterior probabilities of a friendship; the
area under the ROC curve says how often a pair of friends has a higher probability than another pair.

The picture shows friendships sorted by clusters, the probabilities that two members share a cluster, and the
probabilities of the pairs that were held out.

The data come with networkx, which the example needs: ``pip install networkx``.

Run with ``python examples/karate.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import xarray as xr

import pymc_nrm as nrm

BLUE = "#332288"


def panels(axes, names):
    """Plots of a figure to draw on."""
    plots = np.empty(len(names), dtype=object)
    plots[:] = list(axes)
    data = xr.Dataset({"figure": axes[0].figure, "plot": ("panel", plots)}, {"panel": names})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(data), backend="matplotlib")


def panel(axes):
    """One plot of a figure to draw on."""
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib")


def hold_out(friends, rng):
    """Friendships with a tenth of the pairs missing, these pairs, and their values."""
    first, second = np.triu_indices(len(friends), 1)
    chosen = rng.random(len(first)) < 0.1
    pairs = np.column_stack([first, second])[chosen]
    known = friends.astype("float64")
    known[pairs[:, 0], pairs[:, 1]] = known[pairs[:, 1], pairs[:, 0]] = np.nan
    return known, pairs, friends[pairs[:, 0], pairs[:, 1]]


def area_under_curve(probability, is_tie):
    """How often a tie has a higher probability than another pair; equal ones count one half."""
    differences = probability[is_tie == 1][:, None] - probability[is_tie == 0]
    return ((differences > 0) + 0.5 * (differences == 0)).mean()


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "karate.png")
    graph = nx.karate_club_graph()
    friends = nx.to_numpy_array(graph, weight=None, dtype=int)
    club = np.array([graph.nodes[node]["club"] == "Officer" for node in graph]).astype(int)
    model = nrm.networks.network_model(friends)
    idata = nrm.sample(1000, tune=500, chains=2, model=model, random_seed=1)
    print(nrm.summary(idata).to_string(), "\n")
    estimate = nrm.point_estimate(idata, random_seed=1)
    print(nrm.describe(idata, model, estimate), "\n")
    in_club = np.eye(2)[club]
    majority = (np.eye(int(estimate.n_clusters))[estimate["labels"].values].T @ in_club).max(axis=1).sum()
    print(f"{majority:.0f} of {len(club)} members are in the club of most of their cluster")
    corrected = nrm.networks.network_model(friends, degree_corrected=True)
    draws = nrm.sample(1000, tune=500, chains=2, model=corrected, random_seed=1)
    print(f"with degree correction: {nrm.describe(draws, corrected).title}\n")

    known, pairs, values = hold_out(friends, np.random.default_rng(1))
    plain = nrm.networks.network_model(known)
    draws = nrm.sample(1000, tune=500, chains=2, model=plain, random_seed=1)
    predicted = nrm.networks.pair_probabilities(draws, plain, pairs)["tie_probability"].values
    print(f"area under the ROC curve of {len(pairs)} pairs held out: {area_under_curve(predicted, values):.2f}")

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(2, 2, figsize=(12, 10), layout="constrained")
    nrm.networks.plots.plot_blocks(idata, model, estimate, plot_collection=panels(axes[0], ["pairs", "blocks"]))
    nrm.plots.plot_similarity(idata, estimate=estimate, plot_collection=panel(axes[1, 0]))
    rng = np.random.default_rng(2)
    for tie in (0, 1):
        own = predicted[values == tie]
        axes[1, 1].plot(own, tie + rng.uniform(-0.2, 0.2, len(own)), "o", color=BLUE, alpha=0.5, markersize=5)
    axes[1, 1].set(yticks=[0, 1], yticklabels=["no friends", "friends"], xlabel="posterior probability of a friendship")
    axes[1, 1].set_title("Pairs that were held out", fontsize=11)
    figure.savefig(path, dpi=80)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
