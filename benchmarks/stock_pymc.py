"""The same Dirichlet process mixture in stock PyMC and in the package: effective sample sizes per CPU second."""

import common.one_core  # noqa: F401

# isort: split

import time
import warnings

import numpy as np
import pymc as pm
from common.chains import run_chain
from common.data import plane
from common.functionals import Functionals, convergence, uncertain_pairs
from common.part import Part
from common.stock_pymc_report import (
    ALPHA,
    LABELS,
    N_CHAINS,
    N_COMPONENTS,
    N_PAIRS,
    NUTPIE,
    NUTS,
    PACKAGE,
    headline,
    pictures,
    table,
)
from peers import nutpie_chain, stick_breaking
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm

FAMILY = nrm.NormalWishart(mu=0.0, kappa=0.1, Psi=5.0 * np.eye(2), nu=8.0)

# CPU seconds of one chain: the limit for tuning, and the time after it.
FULL = {"package": (np.inf, 3.5), NUTS: (30.0, 35.0), NUTPIE: (None, 25.0), LABELS: (8.0, 12.0)}
QUICK = {"package": (np.inf, 0.8), NUTS: (2.5, 3.0)}


def package_chains(X, sampler, limits):
    """Draws of labels of each chain, their seconds, and costs, with a step of the package."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(ALPHA), n=len(X))
        nrm.Mixture("x", z, FAMILY, observed=X)
    start = time.perf_counter()
    with model:
        step = getattr(nrm, sampler)([z])
    point, state = model.initial_point(), step.sampling_state
    # The first draw compiles what the constructor has not.
    step.setup_chain(np.random.default_rng(0), 0, 1)
    step.step(point)
    compilation = time.perf_counter() - start
    chains = []
    for seed in range(N_CHAINS):
        chain = run_chain(step, state, point, np.random.default_rng(seed + 1), tune=500, seconds=limits[1])
        chains.append((np.array([p["z"] for p in chain.points]), chain.seconds[-1], chain.tuning_seconds, chain.n_tune))
    return chains, {"compilation": compilation, "divergences": None}


def nuts_chains(X, limits):
    """The same with PyMC's NUTS and the labels summed out, which are drawn afterwards for each draw."""
    model = stick_breaking.marginal_model(X, FAMILY, ALPHA, N_COMPONENTS)
    start = time.perf_counter()
    with model:
        points, step = pm.init_nuts(chains=N_CHAINS, random_seed=1, progressbar=False, quiet=True)
    state = step.sampling_state
    step.step(points[0])
    compilation = time.perf_counter() - start
    chains, divergences = [], 0
    for seed, point in enumerate(points):
        limit = {"tune": 1000, "tuning_seconds": limits[0], "seconds": limits[1]}
        chain = run_chain(step, state, point, np.random.default_rng(seed + 1), **limit)
        divergences += sum(stats[0]["diverging"] for stats in chain.stats)
        labels = drawn_labels(X, stick_breaking.values_of(model, chain.points), seed)
        chains.append((labels, chain.seconds[-1], chain.tuning_seconds, chain.n_tune))
    return chains, {"compilation": compilation, "divergences": int(divergences)}


def nutpie_chains(X, limits):
    program, compilation = nutpie_chain.compiled(stick_breaking.marginal_model(X, FAMILY, ALPHA, N_COMPONENTS))
    chains, divergences = [], 0
    for seed in range(N_CHAINS):
        tune = 400 if limits[1] > 10 else 100
        points, seconds, tuning, n_tune, found = nutpie_chain.run(program, tune=tune, seconds=limits[1], seed=seed + 1)
        divergences += found
        chains.append((drawn_labels(X, points, seed), seconds, tuning, n_tune))
    return chains, {"compilation": compilation, "divergences": divergences}


def label_chains(X, limits):
    """The same with labels as variables, and the two steps that PyMC assigns, from random labels."""
    model = stick_breaking.label_model(X, FAMILY, ALPHA, N_COMPONENTS)
    start = time.perf_counter()
    with model:
        continuous = [variable for variable in model.free_RVs if variable.name != "labels"]
        step = CompoundStep([pm.NUTS(continuous), pm.CategoricalGibbsMetropolis([model["labels"]])])
        point, state = model.initial_point(), step.sampling_state
    step.step(point)
    compilation = time.perf_counter() - start
    chains, divergences = [], 0
    for seed in range(N_CHAINS):
        rng = np.random.default_rng(seed + 1)
        begin = point | {"labels": rng.integers(0, N_COMPONENTS, len(X))}
        chain = run_chain(step, state, begin, rng, tune=1000, tuning_seconds=limits[0], seconds=limits[1])
        divergences += sum(stats[0]["diverging"] for stats in chain.stats)
        labels = np.array([p["labels"] for p in chain.points])
        chains.append((labels, chain.seconds[-1], chain.tuning_seconds, chain.n_tune))
    return chains, {"compilation": compilation, "divergences": int(divergences)}


def drawn_labels(X, points, seed):
    rng = np.random.default_rng(100 + seed)
    draws = [stick_breaking.draw_labels(X, point, FAMILY, rng) for point in points]
    return np.array(draws, dtype=np.int64).reshape(len(draws), len(X))


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    stick_breaking.check(FAMILY)
    X, limits = (plane()[:200], QUICK) if quick else (plane(), FULL)
    pilot, _ = package_chains(X, "TreeGuided", (np.inf, 0.5))
    pairs = uncertain_pairs(np.concatenate([chain[0] for chain in pilot]), N_PAIRS, np.random.default_rng(1))
    functionals = Functionals(X, FAMILY, nrm.DirichletProcess(ALPHA), pairs)
    runs = {name: lambda name=name: package_chains(X, name, limits["package"]) for name in PACKAGE}
    for name, run_peer in {NUTS: nuts_chains, NUTPIE: nutpie_chains, LABELS: label_chains}.items():
        if name in limits:
            runs[name] = lambda name=name, run_peer=run_peer: run_peer(X, limits[name])
        else:
            note(f"{name} left out of the quick form: it takes most of a minute to compile")
    rows = []
    for name, run in runs.items():
        try:
            chains, cost = run()
        except ImportError as error:
            note(f"{name} skipped: not installed ({error.name})")
            continue
        if any(len(labels) == 0 for labels, *_ in chains):
            note(f"{name}: tuning had not ended in the time given; no draws")
            continue
        rows.append(row(name, len(X), chains, cost, functionals))
        print(f"{name}: {rows[-1]}", flush=True)
    return rows


def row(name, n, chains, cost, functionals):
    """Effective sample sizes per CPU second after tuning, of all chains together."""
    found = convergence([functionals(labels) for labels, *_ in chains])
    shortest = min(len(labels) for labels, *_ in chains)
    # CPU seconds of the draws that are used.
    seconds = sum(spent * shortest / len(labels) for labels, spent, *_ in chains)
    per_second = found["ess"] / seconds
    pairs = per_second[2:]
    return _plain(
        {
            "method": name,
            "n": n,
            "draws": shortest,
            "n_tune": min(chain[3] for chain in chains),
            "milliseconds": 1e3 * seconds / (shortest * len(chains)),
            "seconds": seconds,
            "tuning_seconds": sum(chain[2] for chain in chains),
            **cost,
            "clusters": number(found["mean"][0]),
            "clusters_mcse": number(found["mcse"][0]),
            "log_joint": number(found["mean"][1]),
            "log_joint_mcse": number(found["mcse"][1]),
            "r_hat_clusters": number(found["r_hat"][0]),
            "r_hat_log_joint": number(found["r_hat"][1]),
            "r_hat_pairs": number(np.nanmax(found["r_hat"][2:])) if np.isfinite(found["r_hat"][2:]).any() else None,
            "ess_clusters": number(found["ess"][0]),
            "rate_clusters": number(per_second[0]),
            "rate_log_joint": number(per_second[1]),
            "rate_pairs": number(np.nanmedian(pairs)) if np.isfinite(pairs).any() else None,
            "rate_pairs_least": number(np.nanmin(pairs)) if np.isfinite(pairs).any() else None,
            "constant_pairs": int(np.isnan(pairs).sum()),
        }
    )


def number(x):
    """A float for JSON; None for nan."""
    return None if np.isnan(x) else float(x)


def _plain(values):
    """NumPy numbers as Python numbers, for JSON."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


PART = Part("stock_pymc", measure, table, pictures, headline=headline)

if __name__ == "__main__":
    PART.main()
