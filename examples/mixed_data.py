"""Mixed data with gaps and a regression, in one model.

Every patient has two blood values and three questionnaire answers, some of them missing, a number of admissions, and
six visits with an outcome.  All of these depend on one partition of the patients.  The outcome follows
``outcome = slope' covariates + effect[patient] + noise``, where the effects are clustered as well.

Data are simulated, so the truth is known.  The picture shows the clusters of the point estimate in the plane of the two
blood values, the posterior probabilities that two patients share a cluster, and the random effects against the truth.
All data together determine the partition, though none of them alone separates the groups.

Run with ``python examples/mixed_data.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import xarray as xr

import pymc_nrm as nrm

BLUE = "#332288"
TRUE_SLOPES = {"dose": 1.5, "age": -0.7}
N_PATIENTS, N_VISITS = 150, 6


def simulate(rng):
    """Data of three groups of patients; missing values are NaN."""
    group = rng.choice(3, N_PATIENTS, p=[0.45, 0.35, 0.2])
    blood = np.array([[0.0, 0.0], [2.5, 0.5], [1.0, 3.0]])[group] + rng.normal(size=(N_PATIENTS, 2)) * [0.9, 0.7]
    chances = np.array([[0.7, 0.2, 0.1], [0.15, 0.7, 0.15], [0.1, 0.2, 0.7]])
    answers = np.array([rng.choice(3, 3, p=chances[g]) for g in group]).astype(float)
    admissions = rng.poisson(np.array([0.5, 2.0, 5.0])[group])
    blood[rng.random(blood.shape) < 0.10] = np.nan
    answers[rng.random(answers.shape) < 0.15] = np.nan

    effect = np.array([-2.0, 0.5, 2.5])[group] + rng.normal(0, 0.5, N_PATIENTS)
    covariates = rng.normal(size=(N_PATIENTS, N_VISITS, 2))
    outcome = covariates @ list(TRUE_SLOPES.values()) + effect[:, None]
    outcome += rng.normal(0, 0.5, outcome.shape)
    return {
        "group": group,
        "blood": blood,
        "answers": answers,
        "admissions": admissions,
        "effect": effect,
        "covariates": covariates,
        "outcome": outcome,
    }


def build_model(data):
    coords = {
        "patient": np.arange(N_PATIENTS),
        "visit": np.arange(N_VISITS),
        "value": ["first", "second"],
        "question": ["a", "b", "c"],
        "covariate": list(TRUE_SLOPES),
    }
    with pm.Model(coords=coords) as model:
        alpha = pm.Gamma("alpha", 2, 2)
        sigma = pm.Beta("sigma", 1, 4)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, sigma), dims="patient")

        spread = pm.LogNormal("spread", 0, 1, dims="value")
        nrm.Mixture(
            "blood",
            z,
            nrm.NormalGamma(mu=0, kappa=0.1, alpha=3, beta=spread),
            observed=data["blood"],
            dims=("patient", "value"),
        )
        evenness = pm.LogNormal("evenness", 0, 1)
        nrm.Mixture(
            "answers",
            z,
            nrm.CategoricalDirichlet(alpha=evenness * np.ones((3, 3))),
            observed=data["answers"],
            dims=("patient", "question"),
        )
        shape = pm.LogNormal("shape", 0, 1)
        rate = pm.LogNormal("rate", 0, 1)
        nrm.Mixture("admissions", z, nrm.PoissonGamma(shape, rate), observed=data["admissions"], dims="patient")

        # The effects have no data: they are unknown, and NUTS samples them given the partition.
        effect = nrm.Mixture("effect", z, nrm.NormalGamma(mu=0, kappa=0.1, alpha=3, beta=0.5), dims="patient")
        slope = pm.Normal("slope", 0, 3, dims="covariate")
        noise = pm.HalfNormal("noise", 2)
        mean = data["covariates"] @ slope + effect[:, None]
        pm.Normal("outcome", mean, noise, observed=data["outcome"], dims=("patient", "visit"))
    return model


def panel(axes, title):
    """One plot of a figure, to draw on."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib")


def plot_effects(axes, effects, truth):
    """Posterior means and intervals of the effects against the truth."""
    low, high = effects.quantile([0.05, 0.95], ("chain", "draw"))
    axes.vlines(truth, low, high, color="#c8c8c8", linewidth=0.8, label="90 % interval")
    axes.scatter(truth, effects.mean(("chain", "draw")), color=BLUE, edgecolor="white", linewidth=0.5, s=20, zorder=2)
    axes.axline((0, 0), slope=1, color="black", linewidth=0.8, label="equality")
    axes.set(xlabel="true effect", ylabel="posterior of the effect")
    axes.set_title("Random effects in the regression", fontsize=11)
    axes.legend(frameon=False)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "mixed_data.png")
    data = simulate(np.random.default_rng(1))
    with build_model(data):
        idata = nrm.sample(1000, chains=4, target_accept=0.9, random_seed=1)
    print(nrm.summary(idata, ["slope", "noise", "z"]).to_string())
    estimate = nrm.stats.point_estimate(idata, random_seed=1)
    agreement = nrm.stats.adjusted_rand(estimate.labels.values, data["group"])
    effects = idata.posterior["effect"]
    correlation = np.corrcoef(effects.mean(("chain", "draw")), data["effect"])[0, 1]
    print(f"\npoint estimate: {int(estimate.n_clusters)} clusters, adjusted Rand index with the truth {agreement:.3f}")
    print(f"random effects: correlation of posterior means with the truth {correlation:.3f}")

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    pc = panel(left, "Point estimate")
    legend = {"loc": "upper right", "bbox_to_anchor": (1, 1), "bbox_transform": left.transAxes, "fontsize": 9}
    visuals = {"legend": legend, "components": False}
    nrm.plots.plot_clusters(idata, data["blood"], estimate=estimate, plot_collection=pc, visuals=visuals)
    left.set(xlabel="first blood value", ylabel="second blood value", xlim=(-3, 7))
    pc = panel(middle, "Probability of sharing a cluster")
    visuals = {name: {"text": "patient, by cluster of the estimate"} for name in ("xlabel", "ylabel")}
    nrm.plots.plot_similarity(idata, estimate=estimate, plot_collection=pc, visuals=visuals)
    plot_effects(right, effects, data["effect"])
    figure.savefig(path, dpi=95)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
