"""The same Dirichlet process mixture in stock PyMC and in the package: effective sample sizes per CPU second."""

import time
import warnings

import common  # noqa: F401
import numpy as np
from common.chains import first_draw, run_chain
from common.data import plane
from common.functionals import Functionals, convergence, uncertain_pairs
from common.part import Part, skipping
from common.stock_pymc_report import LABELS, N_CHAINS, N_PAIRS, NUTPIE, NUTS, PACKAGE, headline, pictures, table
from peers import nutpie_chain, stick_breaking
from peers.stock_steps import ALPHA, FAMILY, draw_labels, labels_of, marginal_model, model_and_step

import pymc_nrm as nrm

# CPU seconds of one chain: the limit for tuning, and the time after it.
FULL = dict.fromkeys(PACKAGE, (np.inf, 3.5)) | {NUTS: (30.0, 35.0), NUTPIE: (None, 25.0), LABELS: (8.0, 12.0)}
QUICK = dict.fromkeys(PACKAGE, (np.inf, 0.8)) | {NUTS: (2.5, 3.0)}


def chains_of_steps(X, name, limits):
    """Labels of each chain, their seconds, those of tuning and its draws; and the costs of compilation."""
    start = time.perf_counter()
    model, step, starts = model_and_step(X, name, N_CHAINS)
    state = step.sampling_state
    first_draw(step, starts[0])
    compilation = time.perf_counter() - start
    chains, divergences = [], 0
    limit = {"tune": 500 if name in PACKAGE else 1000, "tuning_seconds": limits[0], "seconds": limits[1]}
    for seed, point in enumerate(starts):
        chain = run_chain(step, state, point, np.random.default_rng(seed + 1), **limit)
        divergences += int(sum(stats[0].get("diverging", 0) for stats in chain.stats))
        labels = labels_of(X, model, chain.points, seed)
        chains.append((labels, chain.seconds[-1], chain.tuning_seconds, chain.n_tune))
    return chains, {"compilation": compilation, "divergences": None if name in PACKAGE else divergences}


def nutpie_chains(X, name, limits):
    """The same with nutpie; labels are drawn afterwards for each draw."""
    program, compilation = nutpie_chain.compiled(marginal_model(X))
    chains, divergences = [], 0
    for seed in range(N_CHAINS):
        points, seconds, tuning, n_tune, found = nutpie_chain.run(program, tune=400, seconds=limits[1], seed=seed + 1)
        divergences += found
        chains.append((draw_labels(X, points, seed), seconds, tuning, n_tune))
    return chains, {"compilation": compilation, "divergences": divergences}


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    stick_breaking.check(FAMILY)
    X, limits = (plane()[:200], QUICK) if quick else (plane(), FULL)
    pilot, _ = chains_of_steps(X, "TreeGuided", (np.inf, 0.5))
    pairs = uncertain_pairs(np.concatenate([chain[0] for chain in pilot]), N_PAIRS, np.random.default_rng(1))
    functionals = Functionals(X, FAMILY, nrm.DirichletProcess(ALPHA), pairs)
    rows = []
    if quick:
        note("The quick form has no nutpie and no labels by Gibbs, which take most of a minute to compile")
    for name in limits:
        with skipping(name, note):
            chains, cost = (nutpie_chains if name == NUTPIE else chains_of_steps)(X, name, limits[name])
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
    values = {"milliseconds": 1e3 * seconds / (shortest * len(chains)), "seconds": seconds}
    values["tuning_seconds"] = sum(chain[2] for chain in chains)
    for place, functional in enumerate(("clusters", "log_joint")):
        values |= {functional: found["mean"][place], f"{functional}_mcse": found["mcse"][place]}
        values |= {f"r_hat_{functional}": found["r_hat"][place], f"rate_{functional}": per_second[place]}
    values["ess_clusters"] = found["ess"][0]
    values["r_hat_pairs"] = np.fmax.reduce(found["r_hat"][2:])
    pairs = per_second[2:]
    known = pairs[np.isfinite(pairs)]
    values |= {"rate_pairs": np.median(known) if len(known) else np.nan, "rate_pairs_least": np.fmin.reduce(pairs)}
    values = {key: None if np.isnan(value) else float(value) for key, value in values.items()}
    counts = {"n": n, "draws": shortest, "n_tune": min(chain[3] for chain in chains)}
    return {"method": name} | counts | cost | values | {"constant_pairs": int(np.isnan(pairs).sum())}


PART = Part("stock_pymc", measure, table, pictures, headline=headline)

if __name__ == "__main__":
    PART.main()
