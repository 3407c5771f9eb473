"""A mixture of three regressions: coefficients integrated out, against coefficients as parameters of slots."""

import warnings
from functools import partial

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from common.chains import run_chains
from common.functionals import rates, uncertain_pairs
from common.part import Part, columns, where
from peers.stick_breaking import stick_log_weights
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import canonical_labels

INTEGRATED, SLOTS, SUMMED = "NormalRegression", "slots", "stock PyMC: NUTS, labels summed out"
ALPHA, N_SLOTS, N_CHAINS, TUNE = 1.0, 20, 2, 300
PRECISION, SHAPE, SCALE = 0.1, 2.5, 0.4
NAMES = {"clusters": "number of clusters", "pair": "a pair"}


def data(n, seed=1):
    """Covariates and responses of three lines that cross."""
    rng = np.random.default_rng(seed)
    group, x = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.uniform(-2, 2, n)
    intercept, slope, scale = np.array([[0, 2, -1], [1, -1, 0.5], [0.4, 0.4, 0.8]])[:, group]
    return x, intercept + slope * x + scale * rng.normal(size=n)


def integrated_model(x, y):
    """The mixture with parameters integrated out, its step, and starts."""
    design = np.column_stack([np.ones(len(x)), x])
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(ALPHA), n=len(x))
        family = nrm.NormalRegression(design, 0.0, PRECISION * np.eye(2), SHAPE, SCALE)
        nrm.Mixture("y", z, family, observed=y)
        return model, nrm.steps.TreeGuided([z]), [model.initial_point()] * N_CHAINS


def slot_model(x, y):
    """The same priors, with parameters of slots, and the steps that ``nrm.sample`` chooses."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(ALPHA), n=len(x), max_clusters=N_SLOTS)
        intercept, slope, width = _parameters()
        pm.Normal("y", intercept[z] + slope[z] * x, width[z], observed=y)
        return model, CompoundStep([nrm.steps.SlotNUTS(), nrm.steps.SlotGibbs([z])]), [model.initial_point()] * N_CHAINS


def summed_model(x, y):
    """The same priors, sticks truncated at as many components, and labels summed out, for NUTS of PyMC."""
    with pm.Model() as model:
        log_weights = stick_log_weights(ALPHA, N_SLOTS)
        intercept, slope, width = _parameters()
        law = pm.Normal.dist(intercept + slope * x[:, None], width)
        log_p = pm.Deterministic("log_p", log_weights + pm.logp(law, y[:, None]))
        pm.Potential("y", pt.logsumexp(log_p, axis=1).sum())
        return model, pm.NUTS(), [model.initial_point()] * N_CHAINS


def _parameters():
    width = pm.math.sqrt(pm.InverseGamma("variance", SHAPE, SCALE, shape=N_SLOTS))
    intercept, slope = (pm.Normal(name, 0, PRECISION**-0.5, shape=N_SLOTS) for name in ("intercept", "slope"))
    return width * intercept, width * slope, width


def labels_of(model, points, seed):
    """Canonical labels of points, drawn where they are summed out. Shape (draws, n)."""
    if "z" in points[0]:
        return np.array([canonical_labels(one["z"]) for one in points])
    rng, [graph] = np.random.default_rng(seed), model.replace_rvs_by_values([model["log_p"]])
    tables = map(model.compile_fn(graph, inputs=model.value_vars), points)
    return np.array([canonical_labels((one + rng.gumbel(size=one.shape)).argmax(axis=1)) for one in tables])


MODELS = {INTEGRATED: integrated_model, SLOTS: slot_model, SUMMED: summed_model}
FULL = {INTEGRATED: 10.0, SLOTS: 20.0, SUMMED: 15.0}
QUICK = {INTEGRATED: 3.0, SLOTS: 5.0}


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    x, y = data(200 if quick else 1000)
    rows, pairs = [], None
    for method, seconds in (QUICK if quick else FULL).items():
        model, chains, compilation = run_chains(partial(MODELS[method], x, y), tune=TUNE, seconds=seconds)
        chains = list(chains)
        labels = [labels_of(model, chain.points, seed) for seed, chain in enumerate(chains)]
        if pairs is None:
            # Of a probability between 0.2 and 0.8 in the first run.
            pairs = uncertain_pairs(labels[0], 1, np.random.default_rng(1))
        first, second = pairs[0]
        values = [np.column_stack([z.max(axis=1) + 1, z[:, first] == z[:, second]]) for z in labels]
        rows.append({"method": method, "n": len(x), "compilation": compilation} | rates(values, chains, NAMES))
        print(rows[-1], flush=True)
    return rows


def table(rows):
    text = (
        f"Mixture of three regressions, n = {rows[0]['n'] if rows else 0}, DP({ALPHA:g}), the same conjugate priors: "
        f"coefficients and variances integrated out, parameters of {N_SLOTS} slots, or stick-breaking truncated "
        f"there.  {N_CHAINS} chains after {TUNE} draws of tuning; mean, effective samples per CPU second, and "
        "R-hat.\n\n"
    )
    shown = {"Method": "method", "ms/draw": "milliseconds"}
    for name in NAMES:
        shown[name] = lambda row, name=name: f"{row[name]:.3f} ± {row[f'{name}_mcse']:.3f}"
        shown[f"{name}, per CPU s"] = f"rate_{name}"
        shown[f"{name}, R-hat"] = lambda row, name=name: f"{row[f'r_hat_{name}']:.2f}"
    return text + columns(rows, shown)


def headline(rows):
    """Claims: the smallest gain over each peer."""
    claims = []
    for ours in where(rows, method=INTEGRATED):
        for peer in [row for row in rows if row is not ours]:
            gain = {title: ours[f"rate_{name}"] / peer[f"rate_{name}"] for name, title in NAMES.items()}
            text = ", ".join(f"{value:.3g} times ({title})" for title, value in gain.items())
            if any(peer[f"r_hat_{name}"] > 1.1 for name in NAMES):
                text += ", at least: chains disagree"
            claim = f"Mixture of regressions, ESS per CPU second over {peer['method']}"
            claims.append((claim, text, "at least 20 times", min(gain.values()) >= 20.0))
    return claims


MEANING = "Integration of the lines gains little over slots, whose sweeps cost as much, and much over stock PyMC."
PART = Part("collapsed_regressions", measure, table, headline=headline, meaning=MEANING, peers=("pymc",))
