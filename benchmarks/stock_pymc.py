"""The same Dirichlet process mixture in stock PyMC and in the package: effective sample sizes per CPU second."""

import time
import warnings

import numpy as np
from common.chains import first_draw, run_chain
from common.data import plane
from common.functionals import Functionals, convergence, uncertain_pairs
from common.part import Part, columns, skipping
from common.pictures import BLUE, GREEN, ORANGE, picture
from peers import stick_breaking, stock_steps
from peers.stick_breaking import truncation_error
from peers.stock_steps import ALPHA, FAMILY, N_COMPONENTS, draw_labels, labels_of, marginal_model, model_and_step

import pymc_nrm as nrm

N_CHAINS, N_PAIRS = 2, 10
REFERENCE = "10.87 +- 0.04"

PACKAGE = ("TreeGuided", "MarginalGibbs")
NUTS = "stock PyMC: NUTS, labels summed out"
NUTPIE = "stock PyMC: nutpie, labels summed out"
LABELS = "stock PyMC: labels by Gibbs, NUTS"
RATES = {"rate_clusters": "clusters", "rate_log_joint": "log joint", "rate_pairs": "pairs"}


def table(rows):
    n = rows[0]["n"]
    error = truncation_error(n, ALPHA, N_COMPONENTS)
    stock = [row for row in rows if row["method"] not in PACKAGE]
    text = (
        f"Dirichlet process mixture of Gaussians, DP({ALPHA:g}), normal-Wishart base measure (mu = 0, kappa = 0.1, "
        f"Psi = 5 I, nu = 8), n = {n} in the plane; {N_CHAINS} chains, CPU seconds of one core, compilation and tuning "
        f"apart.  Stock PyMC truncates the stick-breaking at {N_COMPONENTS} components, which moves the density of the "
        f"data by at most {error:.1g} in L1 (Ishwaran & James 2001); its densities are checked against SciPy at the "
        "start.  Where labels are summed out, they are drawn from every draw afterwards, at no charge.  The log joint "
        "is that of data and partition, all else integrated out.\n\n"
    )
    if n == 1000:
        text += f"Long runs of other exact samplers gave {REFERENCE} clusters.\n\n"
    shown = {"Method": "method", "draws": "draws", "ms/draw": "milliseconds", "CPU s": "seconds"}
    shown["tuning s (draws)"] = lambda row: f"{row['tuning_seconds']:.3g} ({row['n_tune']})"
    shown |= {"compile s": "compilation", "divergent": "divergences"}
    for name in ("clusters", "log_joint"):
        shown[name.replace("_", " ")] = lambda row, name=name: _with_error(row[name], row[f"{name}_mcse"])
    text += columns(rows, shown)
    text += (
        f"\nEffective samples per CPU second, R-hat in brackets (pairs: median of {N_PAIRS}, worst R-hat).  The last "
        "column counts compilation (wall seconds, with what earlier runs left in the caches of numba and PyTensor) and "
        "tuning as well.\n\n"
    )
    shown = {"Method": "method"}
    for name, title in (("clusters", "clusters"), ("log_joint", "log joint"), ("pairs", "pairs together")):
        shown[title] = lambda row, name=name: _with_r_hat(row[f"rate_{name}"], row[f"r_hat_{name}"])
    shown |= {"least of pairs": "rate_pairs_least", "pairs that never changed": "constant_pairs"}
    text += columns(rows, shown | {"s to 100 of the log joint": seconds_from_nothing})
    for peer in stock:
        ratios = [f"{title} {ratio:,.0f}" for title, ratio in gains(rows, peer).items()]
        if ratios:
            text += f"\nThe better of the package's samplers over {peer['method']}: {', '.join(ratios)} times.\n"
    if any((r["r_hat_log_joint"] or 2.0) > 1.1 for r in stock):
        text += (
            "\nWhere R-hat is above 1.1 the chains of stock PyMC disagree: effective sample sizes are upper bounds "
            "then, and means are not those of the posterior.  Below, with some hundred draws, they are known within a "
            "factor of two.\n"
        )
    return text


def seconds_from_nothing(row):
    """Seconds until one chain has 100 effective samples of the log joint: compilation, tuning and sampling."""
    if not row["rate_log_joint"]:
        return None
    return row["compilation"] + row["tuning_seconds"] / N_CHAINS + 100 / row["rate_log_joint"]


def gains(rows, peer):
    """Effective samples per second of the package's better sampler over those of a peer, for each functional."""
    best = {name: max(row[name] or 0.0 for row in rows if row["method"] in PACKAGE) for name in RATES}
    return {title: best[name] / peer[name] for name, title in RATES.items() if peer[name]}


def headline(rows):
    """Claims: the smallest and the largest gain over each peer."""
    lines = []
    for peer in rows:
        ratios = list(gains(rows, peer).values())
        if peer["method"] in PACKAGE or not ratios:
            continue
        measured = f"{min(ratios):,.0f} to {max(ratios):,.0f} times (clusters, log joint, pairs)"
        if (peer["r_hat_log_joint"] or 2.0) > 1.1:
            measured += ", at least: the peer's chains disagree"
        claim = f"Effective samples per CPU second over {peer['method']}, n = {peer['n']}"
        lines.append((claim, measured, "100 times", min(ratios) >= 100))
    return lines


def _with_error(mean, error):
    return f"{mean:.2f}" + ("" if error is None else f" +- {error:.2f}")


def _with_r_hat(rate, r_hat):
    return "-" if rate is None else f"{rate:.3g} ({'-' if r_hat is None else f'{r_hat:.2f}'})"


def pictures(rows, folder):
    name = "stock_pymc_ess.png"
    styles, height = ((BLUE, ""), (ORANGE, "//"), (GREEN, "..")), 0.26
    with picture(folder / name, figsize=(9, 4.2)) as (figure, axis):
        for k, ((key, title), (color, hatch)) in enumerate(zip(RATES.items(), styles, strict=True)):
            values = [row[key] or np.nan for row in rows]
            places = np.arange(len(rows)) + (k - 1) * height
            axis.barh(places, values, height=0.9 * height, color=color, hatch=hatch, edgecolor="white", label=title)
            for place, value in zip(places, values, strict=True):
                if np.isfinite(value):
                    axis.text(value * 1.1, place, f"{value:.3g}", va="center", fontsize=8)
        disagree = ["\n(chains disagree)" if (row["r_hat_log_joint"] or 2) > 1.1 else "" for row in rows]
        names = [row["method"].replace(": ", ":\n") + note for row, note in zip(rows, disagree, strict=True)]
        axis.set_yticks(np.arange(len(rows)), names, fontsize=9)
        axis.invert_yaxis()
        axis.set(xscale="log", xlabel="effective samples per CPU second")
        least = min(row[key] for row in rows for key in RATES if row[key])
        axis.set_xlim(least / 3, axis.get_xlim()[1] * 2)
        figure.legend(loc="outside lower center", ncols=3)
    return {name: "Effective samples per CPU second of label-invariant quantities, log scale; two chains each."}


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
    program, compilation = stock_steps.compiled(marginal_model(X))
    chains, divergences = [], 0
    for seed in range(N_CHAINS):
        points, seconds, tuning, n_tune, found = stock_steps.run(program, tune=400, seconds=limits[1], seed=seed + 1)
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
