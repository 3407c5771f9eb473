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
    text = (
        f"DP({ALPHA:g}) mixture of Gaussians, n = {n} in the plane; {N_CHAINS} chains, effective samples per CPU "
        f"second after tuning, with R-hat in brackets (pairs: median of {N_PAIRS}, worst R-hat).  Stock PyMC truncates "
        f"the stick-breaking at {N_COMPONENTS} components, an error of at most {error:.1g} in L1 (Ishwaran & James "
        f"2001); summed-out labels are drawn afterwards at no charge.  Exact for n = 1000: {REFERENCE} clusters.\n\n"
    )
    shown = {"Method": "method", "ms/draw": "milliseconds"}
    shown["mean number of clusters"] = lambda row: _with_error(row["clusters"], row["clusters_mcse"])
    for name, title in (("clusters", "clusters"), ("log_joint", "log joint"), ("pairs", "pairs")):
        shown[title] = lambda row, name=name: _with_r_hat(row[f"rate_{name}"], row[f"r_hat_{name}"])
    return text + columns(rows, shown)


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
        claim = f"ESS per CPU second over {peer['method']}, n = {peer['n']}"
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


MEANING = (
    "Stock PyMC mixes well per draw with labels summed out, but a draw costs 16 to 35 times as much; its labels by "
    "Gibbs do not mix.  Where R-hat is above 1.1 its chains disagree, and its rates are upper bounds."
)
PART = Part("stock_pymc", measure, table, headline=headline, meaning=MEANING, peers=("pymc", "nutpie"))
