"""Random effects with a distribution of unknown shape.

Sixty clinics treat patients; each clinic has an effect on the outcome, and a few covariates of the patients matter too.
Most random effects models assume that the effects are normal.  Here they follow a Dirichlet process mixture of normal
distributions: a latent ``Mixture``, which NUTS samples given the partition of the clinics, in the same model as the
regression.  The data are simulated, with effects of three kinds of clinics, so the truth is known.

The picture compares the posterior means of the effects with the truth; the area of a point shows the number of
patients.  The normal model shrinks all effects towards one mean, those of small clinics most.  The mixture shrinks each
clinic towards those of its kind, and is closer to the truth.  The last plot shows the distribution of the effect of one
more clinic, with the true effects below it; no normal distribution has its three peaks.

Run with ``python examples/random_effects.py [FILE.png]``.
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

BLUE, ORANGE, GREY = "#332288", "#cc6677", "#8c8c8c"
N_CLINICS = 60
CENTRES, SPREAD, NOISE = np.array([-2.5, 0.0, 2.5]), 0.25, 1.2
SLOPES = {"age": 0.8, "dose": -0.5}


def simulate(rng):
    kind = rng.choice(3, N_CLINICS, p=[0.4, 0.35, 0.25])
    effect = CENTRES[kind] + rng.normal(0, SPREAD, N_CLINICS)
    clinic = np.repeat(np.arange(N_CLINICS), rng.integers(4, 14, N_CLINICS))
    covariates = rng.normal(size=(len(clinic), len(SLOPES)))
    outcome = covariates @ list(SLOPES.values()) + effect[clinic] + rng.normal(0, NOISE, len(clinic))
    return {"kind": kind, "effect": effect, "clinic": clinic, "covariates": covariates, "outcome": outcome}


def build_model(data, *, mixture):
    with pm.Model(coords={"clinic": range(N_CLINICS), "covariate": list(SLOPES)}) as model:
        if mixture:
            alpha = pm.Gamma("alpha", 2, 4)
            z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="clinic")
            family = nrm.NormalGamma(mu=0, kappa=0.1, alpha=4, beta=0.5)
            effect = nrm.Mixture("effect", z, family, dims="clinic")
        else:
            middle, spread = pm.Normal("middle", 0, 3), pm.HalfNormal("spread", 3)
            effect = pm.Normal("effect", middle, spread, dims="clinic")
        slope = pm.Normal("slope", 0, 3, dims="covariate")
        noise = pm.HalfNormal("noise", 3)
        pm.Normal("outcome", data["covariates"] @ slope + effect[data["clinic"]], noise, observed=data["outcome"])
    return model


def panel(axes, title):
    """One plot of a figure to draw on, and the place of its legend."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    legend = {"loc": "upper right", "bbox_to_anchor": (1, 1), "bbox_transform": axes.transAxes, "ncols": 1}
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib"), legend | {"fontsize": 9}


def plot_effects(axes, data, posterior, title, color):
    """Posterior means and intervals of the effects against the truth."""
    draws = posterior["effect"].stack(sample=("chain", "draw"))
    low, high = draws.quantile([0.05, 0.95], "sample")
    axes.axline((0, 0), slope=1, color="black", linewidth=0.8, label="equality")
    axes.vlines(data["effect"], low, high, color="#c8c8c8", linewidth=1, label="90 % interval")
    size = 5 * np.bincount(data["clinic"])
    axes.scatter(data["effect"], draws.mean("sample"), s=size, color=color, edgecolor="white", zorder=3)
    axes.set(title=title, xlabel="true effect", ylabel="posterior of the effect")
    axes.legend(frameon=False, loc="upper left", fontsize=9)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "random_effects.png")
    data = simulate(np.random.default_rng(3))
    with build_model(data, mixture=False):
        normal = pm.sample(1000, chains=4, target_accept=0.9, random_seed=1)
    with build_model(data, mixture=True) as model:
        idata = nrm.sample(2000, chains=4, target_accept=0.9, random_seed=1)
    print(az.summary(normal, var_names=["slope", "noise", "middle", "spread"]).to_string())
    print(nrm.summary(idata, ["alpha", "slope", "noise", "z"]).to_string())

    estimate = nrm.stats.point_estimate(idata, random_seed=1)
    agreement = nrm.stats.adjusted_rand(estimate.labels.values, data["kind"])
    print(f"\nThe point estimate has {int(estimate.n_clusters)} clusters; adjusted Rand index {float(agreement):.2f}")
    for name, result in {"normal": normal, "mixture": idata}.items():
        means = result.posterior["effect"].mean(("chain", "draw")).values
        error = np.sqrt(np.mean((means - data["effect"]) ** 2))
        print(f"{name:>8} effects: root mean squared error {error:.3f}")

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    plot_effects(left, data, normal.posterior, "Normal random effects", ORANGE)
    plot_effects(middle, data, idata.posterior, "Mixture of normal random effects", BLUE)
    grid = np.linspace(-5, 5.5, 200)
    density = nrm.predictive_density(idata.sel(draw=slice(None, None, 10)), model, grid)
    pc, legend = panel(right, "Effect of one more clinic")
    nrm.plots.plot_density(density, plot_collection=pc, visuals={"legend": legend, "xlabel": {"text": "effect"}})
    right.plot(data["effect"], np.full(N_CLINICS, -0.012), "|", color="#595959", markersize=6)
    right.set(ylim=(-0.025, 1.25 * right.get_ylim()[1]))
    middle.sharey(left)
    figure.savefig(path, dpi=100)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
