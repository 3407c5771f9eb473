"""The same Dirichlet process mixture in stock PyMC and in the package: effective sample sizes per CPU second."""

import warnings

import numpy as np
from common.data import plane
from common.functionals import Functionals, rates, uncertain_pairs
from common.part import Part, columns, skipping
from peers import stick_breaking, stock_steps
from peers.stick_breaking import truncation_error
from peers.stock_steps import ALPHA, FAMILY, N_COMPONENTS, labels_of

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


# CPU seconds of one chain: the limit for tuning, and the time after it.
FULL = dict.fromkeys(PACKAGE, (np.inf, 3.5)) | {NUTS: (30.0, 35.0), NUTPIE: (None, 25.0), LABELS: (8.0, 12.0)}
QUICK = dict.fromkeys(PACKAGE, (np.inf, 0.8)) | {NUTS: (2.5, 3.0)}


def chains_and_cost(X, name, limits):
    """Labels and chains of a method, and the costs of its compilation."""
    tune = 400 if name == NUTPIE else 500 if name in PACKAGE else 1000
    limit = {"tune": tune, "tuning_seconds": limits[0], "seconds": limits[1]}
    model, chains, compilation = stock_steps.chains_of(X, name, N_CHAINS, **limit)
    chains = list(chains)
    labels = [labels_of(X, model, chain.points, seed) for seed, chain in enumerate(chains)]
    divergences = sum(bool(stats[0].get("diverging", False)) for chain in chains for stats in chain.stats)
    return labels, chains, {"compilation": compilation, "divergences": None if name in PACKAGE else divergences}


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    stick_breaking.check(FAMILY)
    X, limits = (plane()[:200], QUICK) if quick else (plane(), FULL)
    pilot, *_ = chains_and_cost(X, "TreeGuided", (np.inf, 0.5))
    pairs = uncertain_pairs(np.concatenate(pilot), N_PAIRS, np.random.default_rng(1))
    functionals = Functionals(X, FAMILY, nrm.DirichletProcess(ALPHA), pairs)
    rows = []
    if quick:
        note("The quick form has no nutpie and no labels by Gibbs, which take most of a minute to compile")
    for name in limits:
        with skipping(name, note):
            labels, chains, cost = chains_and_cost(X, name, limits[name])
            if not all(map(len, labels)):
                note(f"{name}: tuning had not ended in the time given; no draws")
                continue
            values = [functionals(one) for one in labels]
            found = rates(values, chains, ("clusters", "log_joint"))
            rows.append({"method": name, "n": len(X)} | cost | found | of_pairs([one[:, 2:] for one in values], chains))
            print(f"{name}: {rows[-1]}", flush=True)
    return rows


def of_pairs(values, chains):
    """Median and least rate of pairs, largest R-hat, and how many pairs never change."""
    n_pairs = values[0].shape[1]
    found = rates(values, chains, range(n_pairs))
    known = [found[f"rate_{j}"] for j in range(n_pairs) if found[f"rate_{j}"] is not None]
    row = {"rate_pairs": float(np.median(known)) if known else None, "rate_pairs_least": min(known, default=None)}
    r_hats = [found[f"r_hat_{j}"] for j in range(n_pairs) if found[f"r_hat_{j}"] is not None]
    return row | {"r_hat_pairs": max(r_hats, default=None), "constant_pairs": n_pairs - len(known)}


PART = Part("stock_pymc", measure, table, headline=headline)
