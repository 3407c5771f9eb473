"""Tables and pictures of the part that compares the package with stock PyMC."""

import numpy as np
from peers.stick_breaking import truncation_error
from peers.stock_steps import ALPHA, N_COMPONENTS

from common.part import columns
from common.pictures import BLUE, GREEN, ORANGE, picture

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
