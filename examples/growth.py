"""Groups of growth curves.

Sixty chicks are weighed on twelve days, some of them not until the end.  They grow in three ways, which nobody
recorded.  Logarithms of their weights follow Gompertz curves, ``start + gain * (1 - exp(-rate * day))``, whose gain and
rate depend on the group; every chick has a start of its own, and errors have a t distribution.  No prior is conjugate
here: the labels of a ``Partition`` with ``max_clusters`` index gain and rate, and ``[chick]`` repeats those of a chick
for all of its weights.  The data are simulated, so the truth is known.

The picture shows the weights, and the curves of the groups of the point estimate with 90 % intervals.  Dashed lines are
the true curves.  The middle shows the probabilities that two chicks share a group.  On the right are gain and rate of
every chick, as posterior means and 90 % intervals; intervals are wide where it is in doubt which group a chick is in.
Crosses mark the truth.

Run with ``python examples/growth.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import xarray as xr

import pymc_nrm as nrm

COLORS = ["#332288", "#cc6677", "#117733", "#ddaa33", "#88ccee"]
N_CHICKS, START = 60, np.log(41)
DAYS = np.array([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 21])
GAIN, RATE = np.array([2.3, 1.6, 1.0]), np.array([0.07, 0.10, 0.20])


def simulate(rng):
    group = rng.choice(3, N_CHICKS, p=[0.45, 0.35, 0.2])
    n_weights = np.where(rng.random(N_CHICKS) < 0.15, rng.integers(4, 12, N_CHICKS), 12)
    chick = np.repeat(np.arange(N_CHICKS), n_weights)
    day = np.concatenate([DAYS[:n] for n in n_weights])
    level = rng.normal(START, 0.04, N_CHICKS)[chick] + GAIN[group][chick] * (1 - np.exp(-RATE[group][chick] * day))
    return {"group": group, "chick": chick, "day": day, "weight": np.exp(level + 0.06 * rng.standard_t(4, len(day)))}


def build_model(data):
    chick, day = data["chick"], data["day"]
    with pm.Model(coords={"chick": range(N_CHICKS), "cluster": range(20)}) as model:
        alpha = pm.Gamma("alpha", 2, 2)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="chick", max_clusters="cluster")
        gain = pm.LogNormal("gain", 0.5, 0.5, dims="cluster")
        rate = pm.LogNormal("rate", -2.3, 0.5, dims="cluster")
        spread = pm.HalfNormal("spread", 0.2)
        start = pm.Normal("start", START, spread, dims="chick")
        noise = pm.HalfNormal("noise", 0.2)
        mean = start[chick] + gain[z][chick] * (1 - pm.math.exp(-rate[z][chick] * day))
        pm.StudentT("log_weight", nu=4, mu=mean, sigma=noise, observed=np.log(data["weight"]))
    return model


def panel(axes, title):
    """One plot of a figure to draw on."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib")


def plot_curves(axes, data, labels, parameters):
    """Weights, and the curves of the groups of the estimate."""
    for chick in range(N_CHICKS):
        own = data["chick"] == chick
        axes.plot(data["day"][own], data["weight"][own], color=COLORS[labels[chick]], alpha=0.25, linewidth=0.7)
    day = xr.DataArray(np.linspace(0, 21, 60), dims="day")
    curves = np.exp(START + parameters["gain"] * (1 - np.exp(-parameters["rate"] * day)))
    for group, curve in curves.groupby("cluster"):
        low, high = curve.squeeze("cluster").quantile([0.05, 0.95], ("chain", "draw"))
        axes.fill_between(day, low, high, color=COLORS[group], alpha=0.4, linewidth=0)
        middle = curve.squeeze("cluster").mean(("chain", "draw"))
        axes.plot(day, middle, color=COLORS[group], linewidth=2, label=f"{(labels == group).sum()} chicks")
    for gain, rate in zip(GAIN, RATE, strict=True):
        axes.plot(day, np.exp(START + gain * (1 - np.exp(-rate * day))), color="black", linewidth=1, linestyle="--")
    axes.set(xlabel="day", ylabel="weight in grams", yscale="log", yticks=[50, 100, 200], yticklabels=[50, 100, 200])
    axes.minorticks_off()
    axes.set_title("Curves of the groups", fontsize=11)
    axes.legend(frameon=False, fontsize=9)


def plot_parameters(axes, of_chick, labels):
    """Gain and rate of the chicks."""
    means = of_chick.mean(("chain", "draw"))
    quantiles = of_chick.quantile([0.05, 0.95], ("chain", "draw"))
    colors = [COLORS[label] for label in labels]
    axes.hlines(means["gain"], *quantiles["rate"], color=colors, alpha=0.4, linewidth=0.8)
    axes.vlines(means["rate"], *quantiles["gain"], color=colors, alpha=0.4, linewidth=0.8)
    axes.scatter(means["rate"], means["gain"], color=colors, s=14, edgecolor="white", linewidth=0.4, zorder=3)
    axes.plot(RATE, GAIN, "x", color="black", markersize=9, zorder=4, label="truth")
    axes.set(xlabel="rate per day", ylabel="gain")
    axes.set_title("Gain and rate of every chick", fontsize=11)
    axes.legend(frameon=False, fontsize=9)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "growth.png")
    data = simulate(np.random.default_rng(6))
    with build_model(data):
        idata = nrm.sample(1000, tune=500, chains=2, random_seed=1)
    print(nrm.summary(idata, ["alpha", "spread", "noise", "z"]).to_string())
    estimate = nrm.point_estimate(idata, random_seed=1)
    labels = estimate["labels"].values
    agreement = nrm.stats.adjusted_rand(labels, data["group"])
    print(f"\npoint estimate: {int(estimate.n_clusters)} groups, adjusted Rand index with the truth {agreement:.3f}")
    parameters = nrm.stats.cluster_parameters(idata, estimate)
    posterior = idata.posterior.to_dataset()
    of_chick = posterior[["gain", "rate"]].isel(cluster=posterior["z"])
    for name, truth in {"gain": GAIN, "rate": RATE}.items():
        low, high = of_chick[name].quantile([0.05, 0.95], ("chain", "draw")).values
        true = truth[data["group"]]
        print(f"{name}: 90 % intervals hold the truth of {np.mean((low <= true) & (true <= high)):.0%} of the chicks")

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    plot_curves(left, data, labels, parameters)
    pc = panel(middle, "Probability of sharing a group")
    visuals = {name: {"text": "chick, by group of the estimate"} for name in ("xlabel", "ylabel")}
    nrm.plots.plot_similarity(idata, estimate=estimate, plot_collection=pc, visuals=visuals)
    plot_parameters(right, of_chick, labels)
    figure.savefig(path, dpi=95)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
