"""Survival of patients whom a treatment helps, and of others.

Patients are treated or not, and followed until they die or the study ends.  They are of kinds that nobody knows; two
blood values say something about the kind, and the effect of the treatment depends on it.  One partition has both: the
blood values are a ``Mixture``, whose parameters are integrated out, and the survival times are censored Weibull
variables whose shape, scale and effect of the treatment are indexed by the labels.  This is called profile regression.
The data are simulated, so the truth is known.

The picture shows the blood values with the groups of the point estimate; the effect of the treatment on the logarithm
of survival time in each group, with its 90 % interval and a cross at the mean of the true effects of its patients; and
survival in the three largest groups: curves of the model with 90 % intervals, and estimates of Kaplan and Meier as
black steps.

Run with ``python examples/survival.py [FILE.png]``.
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
N_PATIENTS, END = 400, 36.0
SHAPE, LEVEL, EFFECT = np.array([1.5, 2.5, 1.2]), np.log([12.0, 24.0, 16.0]), np.array([1.0, -0.8, 0.0])


def simulate(rng):
    group = rng.choice(3, N_PATIENTS, p=[0.4, 0.35, 0.25])
    blood = np.array([[0.0, 0.0], [2.5, 0.5], [1.0, 3.0]])[group] + rng.normal(size=(N_PATIENTS, 2)) * [0.9, 0.8]
    treated = rng.integers(0, 2, N_PATIENTS)
    life = rng.weibull(SHAPE[group]) * np.exp(LEVEL[group] + EFFECT[group] * treated)
    until = rng.uniform(12, END, N_PATIENTS)
    return {
        "group": group,
        "blood": blood,
        "treated": treated,
        "months": np.minimum(life, until),
        "died": life <= until,
    }


def build_model(data):
    with pm.Model(coords={"patient": range(N_PATIENTS), "cluster": range(20)}) as model:
        alpha = pm.Gamma("alpha", 2, 2)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="patient", max_clusters="cluster")
        nrm.Mixture("blood", z, nrm.NormalWishart.from_data(data["blood"]), observed=data["blood"])
        shape = pm.LogNormal("shape", 0.5, 0.5, dims="cluster")
        level = pm.Normal("level", 2.5, 1, dims="cluster")
        effect = pm.Normal("effect", 0, 1, dims="cluster")
        months = pm.Weibull.dist(shape[z], pm.math.exp(level[z] + effect[z] * data["treated"]))
        upper = np.where(data["died"], np.inf, data["months"])
        pm.Censored("months", months, lower=None, upper=upper, observed=data["months"], dims="patient")
    return model


def panel(axes, title):
    """One plot of a figure to draw on."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib")


def kaplan_meier(months, died):
    """Times of death, and the shares that survive them."""
    order = np.argsort(months)
    at_risk = len(months) - np.arange(len(months))
    return np.append(0, months[order]), np.append(1, np.cumprod(1 - died[order] / at_risk))


def plot_effects(axes, of_patient, labels, truth):
    for group in range(labels.max() + 1):
        effect = of_patient["effect"].isel(patient=labels == group).mean("patient")
        low, high = effect.quantile([0.05, 0.95], ("chain", "draw"))
        axes.hlines(group, low, high, color=COLORS[group], linewidth=3, alpha=0.5)
        axes.plot(effect.mean(), group, "o", color=COLORS[group])
        axes.plot(truth[labels == group].mean(), group, "x", color="black", markersize=9, zorder=4)
    axes.axvline(0, color="#8c8c8c", linewidth=0.8)
    axes.set(ylim=(labels.max() + 0.6, -0.6), yticks=range(labels.max() + 1), ylabel="group")
    axes.set(xlabel="effect on the log of survival time")
    axes.set_title("Effect of the treatment", fontsize=11)


def plot_survival(axes, data, of_patient, group, members):
    """Survival in a group of the estimate, by treatment."""
    months = xr.DataArray(np.linspace(0, END, 60), dims="month")
    parameters = of_patient.isel(patient=members)
    for treated, style in ((0, "--"), (1, "-")):
        scale = np.exp(parameters["level"] + parameters["effect"] * treated)
        curve = np.exp(-((months / scale) ** parameters["shape"])).mean("patient")
        low, high = curve.quantile([0.05, 0.95], ("chain", "draw"))
        axes.fill_between(months, low, high, color=COLORS[group], alpha=0.2, linewidth=0)
        label = "treated" if treated else "not treated"
        axes.plot(months, curve.mean(("chain", "draw")), style, color=COLORS[group], label=label)
        chosen = members & (data["treated"] == treated)
        steps = kaplan_meier(data["months"][chosen], data["died"][chosen])
        axes.step(*steps, where="post", color="black", linewidth=0.8, linestyle=style)
    axes.set(xlabel="months", ylim=(0, 1.02), xlim=(0, END))
    axes.set_title(f"Survival of group {group}: {members.sum()} patients", fontsize=11)
    axes.legend(frameon=False, fontsize=9)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "survival.png")
    data = simulate(np.random.default_rng(2))
    with build_model(data):
        idata = nrm.sample(1000, tune=500, chains=2, target_accept=0.97, random_seed=1)
    print(nrm.summary(idata, ["alpha", "z"]).to_string())
    estimate = nrm.point_estimate(idata, random_seed=1)
    # Large groups first, as in plot_clusters.
    labels = estimate["labels"].values
    labels = np.argsort(np.argsort(-np.bincount(labels), kind="stable"))[labels]
    agreement = nrm.stats.adjusted_rand(labels, data["group"])
    print(f"\n{np.mean(~data['died']):.0%} of the times are censored")
    print(f"point estimate: {int(estimate.n_clusters)} groups, adjusted Rand index with the truth {agreement:.3f}")
    posterior = idata.posterior.to_dataset()
    of_patient = posterior[["shape", "level", "effect"]].isel(cluster=posterior["z"])
    truth = EFFECT[data["group"]]
    low, high = of_patient["effect"].quantile([0.05, 0.95], ("chain", "draw")).values
    print(f"90 % intervals hold the true effect of {np.mean((low <= truth) & (truth <= high)):.0%} of the patients")

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure = plt.figure(figsize=(12, 7.2), layout="constrained")
    axes = figure.subplot_mosaic([["blood"] * 3 + ["effect"] * 3, [0, 0, 1, 1, 2, 2]])
    pc = panel(axes["blood"], "Blood values")
    visuals = {"legend": False, "components": False}
    nrm.plots.plot_clusters(idata, data["blood"], estimate=estimate, plot_collection=pc, visuals=visuals)
    axes["blood"].set(xlabel="first blood value", ylabel="second blood value")
    plot_effects(axes["effect"], of_patient, labels, truth)
    for group in range(min(3, labels.max() + 1)):
        plot_survival(axes[group], data, of_patient, group, labels == group)
    figure.savefig(path, dpi=95)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
