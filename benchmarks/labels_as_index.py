"""Mixtures with any likelihood: labels that index parameters, against stick-breaking with labels summed out."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from common.chains import run_chains
from common.functionals import rates
from common.part import Part, groups, interval, markdown, skipping, spread, where
from peers import stock_steps
from peers.stick_breaking import log_weights_of, stick_log_weights, values_of
from pymc.step_methods import CompoundStep
from scipy import stats

import pymc_nrm as nrm


class Problem(NamedTuple):
    """Data, priors of the parameters of components, and the likelihood of items."""

    y: Any
    x: Any
    priors: Callable
    likelihood: Any
    arguments: Callable
    log_density: Callable


def regressions(rng, n):
    """Three overlapping regressions with normal errors."""
    group, x = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.uniform(-2, 2, n)
    intercept, slope, scale = np.array([[0, 2, -1], [1, -1, 0.5], [0.4, 0.4, 0.8]])[:, group]
    return Problem(
        intercept + slope * x + scale * rng.normal(size=n),
        x,
        lambda K: {
            "intercept": pm.Normal("intercept", 0, 2, shape=K),
            "slope": pm.Normal("slope", 0, 2, shape=K),
            "scale": pm.LogNormal("scale", -0.5, 0.5, shape=K),
        },
        pm.Normal,
        lambda p, x: {"mu": p["intercept"] + p["slope"] * x, "sigma": p["scale"]},
        lambda y, p, x: stats.norm.logpdf(y, p["intercept"] + p["slope"] * x, p["scale"]),
    )


def heavy_tails(rng, n):
    """Four clusters on a line with Student-t errors."""
    group = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    mean, scale = np.array([[-3, 0, 2.5, 6], [0.6, 0.5, 0.5, 0.8]])[:, group]
    return Problem(
        mean + scale * rng.standard_t(4, n),
        np.zeros(n),
        lambda K: {"mean": pm.Normal("mean", 0, 5, shape=K), "scale": pm.LogNormal("scale", -0.5, 0.5, shape=K)},
        pm.StudentT,
        lambda p, x: {"nu": 4.0, "mu": p["mean"], "sigma": p["scale"]},
        lambda y, p, x: stats.t.logpdf(y, 4, p["mean"], p["scale"]),
    )


def counts(rng, n):
    """Three Poisson regressions."""
    group, x = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.uniform(-1, 1, n)
    level, slope = np.array([[0.5, 2.0, 1.5], [0.8, -0.6, 1.2]])[:, group]
    return Problem(
        rng.poisson(np.exp(level + slope * x)).astype(float),
        x,
        lambda K: {"level": pm.Normal("level", 1, 1.5, shape=K), "slope": pm.Normal("slope", 0, 1, shape=K)},
        pm.Poisson,
        lambda p, x: {"mu": pt.exp(p["level"] + p["slope"] * x)},
        lambda y, p, x: stats.poisson.logpmf(y, np.exp(p["level"] + p["slope"] * x)),
    )


PROBLEMS = {"three regressions": regressions, "Student-t clusters": heavy_tails, "Poisson regressions": counts}


def slot_model(problem, alpha, n_slots):
    """The Dirichlet process mixture with labels that index parameters of slots."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=len(problem.y), max_clusters=n_slots)
        parameters = {name: variable[z] for name, variable in problem.priors(n_slots).items()}
        problem.likelihood("y", **problem.arguments(parameters, problem.x), observed=problem.y)
    return model


def stick_model(problem, alpha, n_sticks):
    """The same, with weights of truncated stick-breaking and labels summed out."""
    with pm.Model() as model:
        log_weights = stick_log_weights(alpha, n_sticks)
        arguments = problem.arguments(problem.priors(n_sticks), problem.x[:, None])
        log_p = pm.logp(problem.likelihood.dist(**arguments), problem.y[:, None])
        pm.Potential("y", pt.logsumexp(log_weights + log_p, axis=1).sum())
    return model


def stick_labels(problem, point, rng):
    """Draw the labels of all items given weights and parameters."""
    parameters = {name: value for name, value in point.items() if name != "v"}
    table = log_weights_of(point["v"]) + problem.log_density(problem.y[:, None], parameters, problem.x[:, None])
    return (table + rng.gumbel(size=table.shape)).argmax(axis=1)


def functionals(problem, labels, parameters):
    """Number of clusters, complete log-likelihood, and size of the largest cluster."""
    indexed = {name: np.asarray(value)[labels] for name, value in parameters.items() if name != "v"}
    sizes = np.bincount(labels)
    return (sizes > 0).sum(), problem.log_density(problem.y, indexed, problem.x).sum(), sizes.max()


ALPHA, N_CHAINS = 1.0, 2
PACKAGE, NUTPIE = "slots of the package", "stick-breaking, nutpie"
RATES = {"clusters": "clusters", "log_likelihood": "complete log-likelihood", "largest": "largest cluster"}


def table(rows):
    text = (
        f"Dirichlet process mixtures, DP({ALPHA:g}), of likelihoods without conjugate priors, n = 1000; K slots, or K "
        f"sticks with labels summed out for nutpie and drawn afterwards at no charge.  {N_CHAINS} chains; milliseconds "
        "per draw, and effective samples per CPU second after tuning over those of nutpie, for two data sets each.\n\n"
    )
    lines = []
    for (problem, n_slots), chosen in groups(rows, "problem", "n_slots").items():
        times = [[row["milliseconds"] for row in where(chosen, method=name)] for name in (PACKAGE, NUTPIE)]
        ratios = [gains(chosen).get(n_slots, {}).get(name, []) for name in RATES]
        cells = [", ".join(f"{value:.3g}" for value in values) or None for values in ratios]
        lines.append([problem, n_slots, *(spread(found)["median"] if found else None for found in times), *cells])
    for n_slots, ratios in gains(rows).items():
        cells = [interval(spread(ratios[name])) if name in ratios else None for name in RATES]
        lines.append(["all: median and range", n_slots, None, None, *cells])
    return text + markdown(["Data", "K", "ms", "nutpie", *RATES.values()], lines)


def gains(rows):
    """Rates of the package over those of the peer, for each number of slots and each functional."""
    found = {}
    for row in where(rows, method=PACKAGE):
        for peer in where(rows, method=NUTPIE, **{key: row[key] for key in ("problem", "repeat", "n_slots")}):
            for name in RATES:
                if peer[f"rate_{name}"]:
                    ratios = found.setdefault(row["n_slots"], {}).setdefault(name, [])
                    ratios.append((row[f"rate_{name}"] or 0.0) / peer[f"rate_{name}"])
    return found


def headline(rows):
    """Claims: the smallest gain of each number of slots."""
    lines = []
    for n_slots, ratios in gains(rows).items():
        every = [value for values in ratios.values() for value in values]
        target = 2 if n_slots <= 20 else 10
        claim = f"ESS per CPU second over stick-breaking under nutpie, any likelihood, K = {n_slots}"
        measured = f"{min(every):.3g} to {max(every):.3g} times"
        lines.append((claim, measured, f"at least {target} times", min(every) >= target))
    return lines


N_ITEMS, TUNE = 1000, 500


def package_chains(problem, n_slots, seconds):
    """Functionals of the draws of each chain, the chains, and wall seconds of compilation."""

    def make():
        with slot_model(problem, ALPHA, n_slots) as model:
            step = CompoundStep([nrm.steps.SlotNUTS(), nrm.steps.SlotGibbs([model["z"]])])
        return model, step, [model.initial_point()] * N_CHAINS

    model, chains, compilation = run_chains(make, tune=TUNE, seconds=seconds)
    chains, drawn = list(chains), []
    for chain in chains:
        pairs = zip(chain.points, values_of(model, chain.points), strict=True)
        drawn.append([functionals(problem, point["z"], values) for point, values in pairs])
    return drawn, chains, compilation


def nutpie_chains(problem, n_sticks, seconds):
    """The same with nutpie; labels are drawn afterwards for each draw, at no charge."""
    model = stick_model(problem, ALPHA, n_sticks)
    chains, compilation = stock_steps.nutpie_chains(model, N_CHAINS, tune=TUNE, seconds=seconds)
    chains, drawn = list(chains), []
    for seed, chain in enumerate(chains, 100):
        rng = np.random.default_rng(seed)
        drawn.append([functionals(problem, stick_labels(problem, point, rng), point) for point in chain.points])
    return drawn, chains, compilation


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    rows = []
    repeats = 1 if quick else 2
    for name, make in PROBLEMS.items():
        for repeat in range(repeats):
            problem = make(np.random.default_rng(repeat + 1), 200 if quick else N_ITEMS)
            for n_slots in (20,) if quick else (20, 60):
                seconds = (
                    {PACKAGE: 1.0, NUTPIE: 4.0} if quick else {PACKAGE: 8.0, NUTPIE: 30.0 if n_slots == 20 else 60.0}
                )
                for method, run in {PACKAGE: package_chains, NUTPIE: nutpie_chains}.items():
                    with skipping(method, note):
                        drawn, chains, compilation = run(problem, n_slots, seconds[method])
                        if min(map(len, drawn)) < 10:
                            note(f"{method}, {name}, K = {n_slots}: tuning took the time given; no draws")
                            continue
                        rows.append({"problem": name, "repeat": repeat, "method": method, "n_slots": n_slots})
                        rows[-1] |= {"compilation": compilation} | rates(drawn, chains, RATES)
                        print(rows[-1], flush=True)
    return rows


MEANING = (
    "Empty slots cost nothing, so that the gain grows with K; where clusters overlap little, nutpie is as good for "
    "K = 20."
)
PART = Part("labels_as_index", measure, table, headline=headline, meaning=MEANING, peers=("nutpie",))
