"""Clusters of patients from mixed data with gaps, and a regression with clustered random effects, in one model.

Every patient has two blood values and three questionnaire answers, some of them missing, a number of admissions, and
six visits with an outcome.  One partition of the patients stands behind all of it.  The outcome follows
``outcome = slope' covariates + effect[patient] + noise``, where the effects are clustered as well.

Data are simulated, so that the truth is known.  Run with ``python examples/mixed_data.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_nrm as nrm

# Colours that people with any colour vision tell apart (Okabe & Ito).
COLORS = np.array(["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"])
TRUE_SLOPES = {"dose": 1.5, "age": -0.7}
N_PATIENTS, N_VISITS = 150, 6


def simulate(rng):
    """Data of three groups of patients; NaN where a value is missing."""
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

        # No data of its own: the effects are unknown, and NUTS samples them given the partition.
        effect = nrm.Mixture("effect", z, nrm.NormalGamma(mu=0, kappa=0.1, alpha=3, beta=0.5), dims="patient")
        slope = pm.Normal("slope", 0, 3, dims="covariate")
        noise = pm.HalfNormal("noise", 2)
        mean = data["covariates"] @ slope + effect[:, None]
        pm.Normal("outcome", mean, noise, observed=data["outcome"], dims=("patient", "visit"))
    return model


def representative(labels):
    """The draw whose pairs agree best with all draws (least Binder loss), from labels of shape (n_draws, n)."""
    together = np.mean([draw[:, None] == draw for draw in labels], axis=0)
    losses = [np.abs((draw[:, None] == draw) - together).sum() for draw in labels]
    return labels[np.argmin(losses)], together


def adjusted_rand(first, second):
    """Agreement of two partitions: 1 if they are equal, 0 on average by chance (Hubert & Arabie 1985)."""

    def pairs(counts):
        return (counts * (counts - 1) / 2).sum()

    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    rows, columns = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = rows * columns / pairs(np.array([len(first)]))
    return (pairs(table) - expected) / ((rows + columns) / 2 - expected)


def compare(idata, data, best):
    posterior = idata.posterior
    n_clusters = posterior["z_n_clusters"]
    print(f"number of clusters      mean {float(n_clusters.mean()):.2f}, of the representative draw {best.max() + 1}")
    print(f"adjusted Rand index     {adjusted_rand(best, data['group']):.3f} between that draw and the true groups")
    for name, truth in TRUE_SLOPES.items():
        low, mean, high = interval(posterior["slope"].sel(covariate=name))
        print(f"slope of {name:<14} {mean:.2f}, 90% interval ({low:.2f}, {high:.2f}), truth {truth}")
    low, mean, high = interval(posterior["noise"])
    print(f"noise                   {mean:.2f}, 90% interval ({low:.2f}, {high:.2f}), truth 0.5")
    effects = posterior["effect"].mean(("chain", "draw"))
    print(f"random effects          correlation of posterior means with the truth {corr(effects, data['effect']):.3f}")


def interval(draws):
    low, high = np.quantile(draws, [0.05, 0.95])
    return low, float(draws.mean()), high


def corr(x, y):
    return np.corrcoef(x, y)[0, 1]


def plot(idata, data, best, together, path):
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained", dpi=110)

    for group, marker in enumerate("os^"):
        members = data["group"] == group
        colors = COLORS[best[members] % len(COLORS)]
        left.scatter(*data["blood"][members].T, c=colors, marker=marker, s=22, label=f"true group {group + 1}")
    left.set(xlabel="first blood value", ylabel="second blood value", title="Colour: representative draw")
    left.legend(frameon=False, labelcolor="black")

    order = np.argsort(data["group"], kind="stable")
    image = middle.imshow(together[np.ix_(order, order)], cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    for edge in np.cumsum(np.bincount(data["group"]))[:-1]:
        middle.axhline(edge - 0.5, color=COLORS[1], linewidth=0.8)
        middle.axvline(edge - 0.5, color=COLORS[1], linewidth=0.8)
    middle.set(
        xlabel="patient, by true group", ylabel="patient, by true group", title="Probability of sharing a cluster"
    )
    figure.colorbar(image, ax=middle, shrink=0.9)

    effects = idata.posterior["effect"]
    low, high = np.quantile(effects, [0.05, 0.95], axis=(0, 1))
    means = effects.mean(("chain", "draw"))
    right.vlines(data["effect"], low, high, color="#BFBFBF", linewidth=0.8, zorder=1, label="90% interval")
    right.scatter(data["effect"], means, c=COLORS[best % len(COLORS)], s=14, zorder=2)
    right.axline((0, 0), slope=1, color="black", linewidth=0.8, label="equality")
    right.set(xlabel="true effect", ylabel="posterior of the effect", title="Random effects in the regression")
    right.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "mixed_data.png")
    data = simulate(np.random.default_rng(1))
    with build_model(data):
        idata = nrm.sample(1000, chains=4, target_accept=0.9, random_seed=1)
    names = ["alpha", "sigma", "spread", "evenness", "shape", "rate", "slope", "noise", "z_n_clusters"]
    print(az.summary(idata, var_names=names).to_string())
    best, together = representative(idata.posterior["z"].values[:, ::4].reshape(-1, N_PATIENTS))
    compare(idata, data, best)
    plot(idata, data, best, together, path)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
