"""Tables and pictures of the part that compares held-out densities."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter

from common.part import markdown, spread

ALPHA = 1.0
OURS, HYPER = "TreeGuided", "TreeGuided and NUTS, hyperpriors"
TREE, VARIATIONAL = "bhc", "variational"

# Smaller differences, in nats per item, are ties, since averages over draws are no more precise.
TIE = 0.002

# Peers from the package index that were tried with Python 3.13 but are not measured, and why.
NOT_MEASURED = (
    ("bnpy 0.1.7", "pins scikit-learn 1.0.2; import fails: configparser.SafeConfigParser was removed in Python 3.12"),
    ("pybasicbayes 0.2.2, pyhsmm 0.1.7", "no wheels; builds fail (numpy.distutils hooks, undeclared build needs)"),
    ("bayespy 0.6.6", "installs; a language for models without a Dirichlet process, finite mixtures only"),
    ("dpmix 0.3", "no wheel; build fails (Cython undeclared, last release 2013)"),
    ("dpmmpython 0.1.10", "installs, but is a wrapper of a Julia package: needs Julia"),
    ("dpgmm 0.2.0", "needs torch and triton, gigabytes with GPU libraries; not tried"),
    ("dirichletprocess 0.2.0", "installs; draws from Dirichlet processes, no mixtures"),
    ("dphmix 0.2.0", "installs; diagonal normal-gamma components only, another model"),
    ("dpmmlearn 0.0.1b1", "installs; keeps one draw and has no predictive density"),
    ("pyrichlet 0.0.9, variational", "installs; its update divides the scatter by the count; only its sampler is run"),
)


def at_time(row, seconds):
    """The package's density at a time, or None before its first draw."""
    index = np.searchsorted(row["times"], seconds, side="right") - 1
    return None if index < 0 else row["density"][index]


def best(row):
    """The better of a peer's own score and its Student t predictive density."""
    return max(value for value in (row["ships"], row["student"]) if value is not None)


def summary(rows):
    """Medians over splits for each set and method, and the package at the same time, split by split."""
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        here = [row for row in rows if row["set"] == name]
        ours = {row["seed"]: row for row in here if row["method"] == OURS}
        for method in dict.fromkeys(row["method"] for row in here):
            found = [row for row in here if row["method"] == method]
            line = {"set": name, "method": method, "n": found[0]["n"], "d": found[0]["d"], "splits": len(found)}
            for key in ("seconds", "ships", "clusters"):
                line[key] = spread([row[key] for row in found])["median"]
            line["student"] = None
            if found[0]["student"] is not None:
                line["student"] = spread([row["student"] for row in found])["median"]
            line["converged"] = None
            if found[0]["converged"] is not None:
                line["converged"] = sum(row["converged"] for row in found)
            line["equal"] = line["end"] = None
            if method != OURS:
                equal = [at_time(ours[row["seed"]], row["seconds"]) for row in found]
                gains = [value - best(row) for value, row in zip(equal, found, strict=True) if value is not None]
                line["too_early"] = len(found) - len(gains)
                line["equal"] = spread(gains) if gains and method != HYPER else None
                line["end"] = spread([ours[row["seed"]]["ships"] - best(row) for row in found])
            lines.append(line)
    return lines


def ahead_of_variational(lines):
    """How many converged variational fits with the same priors the package equals or beats at equal time, and how many
    there are.

    Fits that end before the package's first draw count against it.
    """
    fits = [line for line in lines if line["method"].startswith(f"{VARIATIONAL}, K")]
    fits = [line for line in fits if line["converged"] == line["splits"]]
    return sum(line["equal"] is not None and line["equal"]["median"] >= -TIE for line in fits), len(fits)


def headline(rows):
    """Claims: held-out densities compared with those of the peers."""
    lines = summary(rows)
    ahead, counted = ahead_of_variational(lines)
    claim = "Held-out density at least that of scikit-learn's variational mixture at equal CPU time, same priors"
    em = [line for line in lines if line["method"].startswith("EM")]
    better = sum(line["end"]["median"] >= -TIE for line in em)
    return [
        (claim, f"{ahead} of {counted} fits that converged", "all", ahead == counted),
        ("The same at its end, of EM with the number of components by BIC", f"{better} of {len(em)} sets", None, None),
    ]


def _range(values):
    if values is None:
        return "no draw yet"
    if values["least"] == values["most"]:
        return f"{values['median']:+.3f}"
    return f"{values['median']:+.3f} ({values['least']:+.3f} to {values['most']:+.3f})"


def table(rows):
    lines = summary(rows)
    text = (
        f"Log predictive density of an item held out, in nats per item; seven tenths of the items train, each feature "
        f"standardised by them.  Model: DP({ALPHA:g}) mixture of Gaussians, normal-Wishart base measure "
        "`NormalWishart.from_data` (mu the mean, kappa = 0.1, nu = d + 6, |Psi| = 0.1), the same for *variational* "
        "(scikit-learn's `BayesianGaussianMixture`, `mean_prior`, `mean_precision_prior`, `degrees_of_freedom_prior`, "
        "`covariance_prior` = mu, kappa, nu, Psi; max_iter 1000), pyrichlet and bhc; *default priors* are those of "
        "scikit-learn.  *As it ships* is `score_samples`; that of `BayesianGaussianMixture` uses expectations of "
        "logarithms and is below a density, so that *Student t*, the predictive of the same variational posterior, is "
        "computed as well.  The package is compared with the better of both.  CPU seconds of one core: fitting for "
        "peers; for the package sampling from the first draw, trees and tuning and prediction included, kernels warm. "
        "Its density at a time averages the second half of the draws so far.  *Hyperpriors*: alpha ~ Gamma(2, 1), "
        "kappa and a factor of Psi log-normal about the values above, sampled by NUTS, first split of small "
        "sets only.  Medians over splits, range in brackets.\n"
    )
    for name in dict.fromkeys(line["set"] for line in lines):
        here = [line for line in lines if line["set"] == name]
        first = here[0]
        text += f"\n**{name}**, {first['n']} x {first['d']} to train, {first['splits']} splits.\n\n"
        text += markdown(
            (
                "Method",
                "CPU s",
                "clusters",
                "converged",
                "as it ships",
                "Student t",
                "TreeGuided minus method, equal time",
                "TreeGuided at its end minus method",
            ),
            [
                (
                    line["method"],
                    line["seconds"],
                    line["clusters"],
                    line["converged"],
                    f"{line['ships']:.3f}",
                    None if line["student"] is None else f"{line['student']:.3f}",
                    None if line["method"] in (OURS, HYPER) else _range(line["equal"]),
                    None if line["method"] == OURS else _range(line["end"]),
                )
                for line in here
            ],
        )
    ahead, counted = ahead_of_variational(lines)
    text += (
        f"\nOf {counted} fits of the variational mixture (same priors) that converged in all splits, the package is "
        f"at least as good as {ahead} at equal time (medians; {TIE} nats less count as equal).\n"
    )
    milliseconds = [row["prediction_milliseconds"] for row in rows if row["method"] == OURS]
    text += f"Prediction takes {min(milliseconds):.2g} to {max(milliseconds):.2g} ms per draw of the package.\n"
    text += "\nTried with Python 3.13 and not measured:\n\n" + markdown(("Peer", "Why not"), NOT_MEASURED)
    return text


STYLES = (
    ("variational with", "#CC79A7", "v", "variational, default priors"),
    (VARIATIONAL, "#E69F00", "o", "variational, same priors"),
    ("EM", "#009E73", "s", "EM, K by BIC"),
    ("pyrichlet", "#0072B2", "D", "pyrichlet, slice sampler"),
    (TREE, "#56B4E9", "^", "package, bhc"),
)


def pictures(rows, folder):
    names = list(dict.fromkeys(row["set"] for row in rows))
    columns = min(4, len(names))
    figure, axes = plt.subplots(
        -(-len(names) // columns), columns, figsize=(11, 2.9 * -(-len(names) // columns) + 0.7), layout="constrained"
    )
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    handles = {}
    for name, axis in zip(names, axes.flat, strict=False):
        here = [row for row in rows if row["set"] == name and row["seed"] == 1]
        ours = next(row for row in here if row["method"] == OURS)
        [handles[f"package, {OURS}"]] = axis.plot(ours["times"], ours["density"], color="#D55E00", linewidth=2)
        for row in here:
            if row["method"] == HYPER:
                [handles["package, hyperpriors"]] = axis.plot(row["times"], row["density"], "k--", linewidth=1.2)
        ends = np.array([best(row) for row in here])
        n_below = 0
        floor = max(ends.min(), ends.max() - 3 * (ends.max() - np.median(ends)) - 0.02)
        for row in here:
            for start, color, marker, label in STYLES:
                if row["method"].startswith(start):
                    height = max(best(row), floor)
                    handles[label] = axis.scatter(row["seconds"], height, color=color, marker=marker, s=34, zorder=3)
                    if best(row) < floor:
                        axis.annotate(
                            f"{best(row):.2f}",
                            (row["seconds"], floor),
                            (0, 6 + 8 * (n_below % 2)),
                            textcoords="offset points",
                            fontsize=7,
                            ha="center",
                        )
                        n_below += 1
                    break
        margin = 0.06 * (ends.max() - floor) + 1e-3
        axis.set_ylim(floor - margin, max(axis.get_ylim()[1], ends.max() + margin))
        axis.set(xscale="log", title=f"{name} ({ours['n']} x {ours['d']})")
        axis.title.set_fontsize(10)
        axis.tick_params(labelsize=8, which="both")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes.flat[max(len(names) - columns, 0) : len(names)]:
        axis.set_xlabel("CPU time (s)", fontsize=9)
    figure.supylabel("held-out log density (nats per item)", fontsize=10)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=9)
    name = "held_out_density.png"
    figure.savefig(folder / name, dpi=120)
    plt.close(figure)
    return {
        name: "Held-out log predictive density against CPU time, first split of each set; points at the lower edge "
        "with a number are below it."
    }
