"""Growth of time and memory with the numbers of items, clusters and features: exponents of fitted power laws."""

import time

import numpy as np
from common.chains import time_draws
from common.data import dirichlet_process, gaussian_clusters, mixture, sample, small_data
from common.part import Part, columns, groups, spread, where
from common.pictures import BLACK, BLUE, GREEN, LINES, PINK, RED, picture
from common.processes import call, rise_of_memory, tells_memory
from common.sweeps import gaussian_family, problem, spaced_clusters
from scipy.stats import linregress

import pymc_nrm as nrm
from pymc_nrm.moves.guide_trees.guide_tree import guide_tree
from pymc_nrm.partitions.labels import canonical_labels

STEPS = {"MarginalGibbs": "Gibbs sweep", "SplitMerge": "SplitMerge draw", "TreeGuided": "TreeGuided draw"}
GUIDE = "IBHC guide tree"
ITEMS, CLUSTERS, FEATURES = 10_000, 30, 2
KEYS = ("against", "what", "unit")
STYLES = list(zip((BLUE, RED, GREEN, PINK, BLACK), "os^Dv", (*LINES, (0, (5, 1, 1, 1, 1, 1))), strict=True))
PANELS = {
    ("n", "seconds"): ("items", "CPU time (s)"),
    ("n", "bytes"): ("items", "peak of memory above the start (bytes)"),
    ("K", "seconds"): ("clusters", "CPU time of a Gibbs sweep (s)"),
    ("d", "seconds"): ("features", "CPU time of a Gibbs sweep (s)"),
}


def measure(quick, note):
    target = 0.1 if quick else 0.4
    sizes = (1000, 3000, 10_000) if quick else (1000, 3000, 10_000, 30_000, 100_000)
    rows = []
    for n in sizes:
        X, labels = spaced_clusters(n, FEATURES, CLUSTERS)
        rows += [point("n", n, STEPS[name], draw_times(name, X, labels, target)) for name in STEPS]
        rows.append(point("n", n, GUIDE, guide_times(X, 3 if n <= 10_000 else 1)))
    for n_clusters in (10, 30, 100) if quick else (10, 30, 100, 300):
        X, labels = spaced_clusters(ITEMS, FEATURES, n_clusters)
        rows.append(point("K", n_clusters, STEPS["MarginalGibbs"], draw_times("MarginalGibbs", X, labels, target)))
    for d in (2, 6, 20) if quick else (2, 4, 6, 10, 14, 20):
        X, labels = spaced_clusters(ITEMS, d, CLUSTERS)
        rows.append(point("d", d, STEPS["MarginalGibbs"], draw_times("MarginalGibbs", X, labels, target)))
    if quick:
        note("Memory is left to the full form.")
    elif tells_memory(note):
        for n in sizes[2:]:
            for name, what in STEPS.items():
                rows.append(point("n", n, what, [call(peak_of_sampling, n=n, sampler=name)], "bytes"))
    return rows + fits(rows)


def peak_of_sampling(n, sampler):
    """By how many bytes this process grows in ten draws for n items of 30 Gaussian clusters, from the true ones."""
    # Compilation has its own peak, so make a small run of the same types first.
    sample(mixture("NormalWishart", small_data("NormalWishart", 100)), sampler, 2, tune=0)
    X, labels = gaussian_clusters(n, FEATURES, CLUSTERS, separation=40.0)
    model, start = mixture("NormalWishart", X), {"z": canonical_labels(labels)}
    return rise_of_memory(lambda: sample(model, sampler, 10, tune=0, initvals=start))[0]


def point(against, value, what, values, unit="seconds"):
    row = {"kind": "point", "against": against, "value": value, "what": what, "unit": unit, "repeats": len(values)}
    return row | spread(values)


def draw_times(name, X, labels, target, repeats=3):
    """CPU seconds per draw of a step object from the given labels: several means over some draws."""
    with dirichlet_process(X, gaussian_family(X.shape[1])) as model:
        step = getattr(nrm.steps, name)([model["z"]], rng=np.random.default_rng(1))
    step.setup_chain(np.random.default_rng(1), 0, 1)
    point = model.initial_point() | {"z": labels}
    # The first draw grows the guide trees and compiles what the constructor has not.
    point, _ = step.step(point)
    return time_draws(step, point, target, repeats)[0]


def guide_times(X, repeats):
    """CPU seconds for one guide tree; for a Dirichlet process, u cancels."""
    prepared = problem(gaussian_family(X.shape[1]), X)
    small = problem(gaussian_family(X.shape[1]), X[:50])
    guide_tree(np.random.default_rng(0), *small)
    times = []
    for seed in range(repeats):
        start = time.process_time()
        guide_tree(np.random.default_rng(seed), *prepared)
        times.append(time.process_time() - start)
    return times


def fit_power_law(x, y):
    """Fit a line to log y against log x by least squares."""
    line = linregress(np.log(x), np.log(y))
    return float(line.slope), float(line.stderr), float(np.exp(line.intercept))


def fits(points):
    """A row with one power law for each quantity that has at least three points."""
    rows = []
    for key, chosen in groups(points, *KEYS).items():
        if len(chosen) >= 3:
            x = [row["value"] for row in chosen]
            fitted = fit_power_law(x, [row["median"] for row in chosen])
            row = {"kind": "fit"} | dict(zip(KEYS, key, strict=True))
            row |= dict(zip(("exponent", "error", "factor"), fitted, strict=True))
            rows.append(row | {"points": len(x), "least": min(x), "most": max(x)})
    return rows


def exponent(row):
    """An exponent with its standard error, as text."""
    digits = 2 if row["error"] >= 0.01 else 3
    return f"{row['exponent']:.{digits}f} ± {row['error']:.{digits}f}"


def errors_of(rows):
    """Distances from medians to both ends of ranges, for error bars."""
    below = [row["median"] - row["least"] for row in rows]
    return [below, [row["most"] - row["median"] for row in rows]]


def scaling_picture(rows, panels, path):
    """Points and fitted lines on logarithmic axes, with the exponents in the legends."""
    points = groups(where(rows, kind="point"), "against", "unit")
    names = list(groups(where(rows, kind="point"), "what"))
    shown = {key: labels for key, labels in panels.items() if key in points}
    n_columns = 2 if len(shown) > 3 else len(shown)
    n_rows = -(-len(shown) // n_columns)
    size = (min(11, 4.5 * n_columns), 3.8 * n_rows)
    with picture(path, n_rows, n_columns, figsize=size, squeeze=False) as (_, axes):
        for axis, (key, (x_label, y_label)) in zip(axes.flat, shown.items(), strict=True):
            for what, chosen in groups(points[key], "what").items():
                (color, marker, dashes), label = STYLES[names.index(what)], what
                x, y = np.array([row["value"] for row in chosen]), np.array([row["median"] for row in chosen])
                for fit in where(rows, kind="fit", against=key[0], unit=key[1], what=what):
                    label += f": {exponent(fit)}"
                    line = fit["factor"] * x ** fit["exponent"]
                    axis.plot(x, line, color=color, linestyle=dashes, linewidth=1.2)
                style = {"color": color, "marker": marker, "linestyle": "", "markersize": 5, "capsize": 2}
                axis.errorbar(x, y, errors_of(chosen), label=label, **style)
            axis.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
            ticks = sorted(groups(points[key], "value"))
            if key[0] != "n" or len(ticks) <= 5:
                axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
                axis.set_xticks([], minor=True)
            spacing = {"columnspacing": 1.0, "handletextpad": 0.2, "loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
            axis.legend(fontsize=8, title="fitted exponents", title_fontsize=8, frameon=False, ncols=2, **spacing)
            axis.grid(alpha=0.3)


def table(rows):
    points = groups(where(rows, kind="point"), *KEYS)
    shown = {"what": "what", "unit": "unit", "against": "against"}
    shown |= {"range": lambda row: f"{row['least']:,} to {row['most']:,}"}
    for title, place in (("at the least", 0), ("at the most", -1)):
        shown[title] = lambda row, place=place: points[tuple(row[key] for key in KEYS)][place]["median"]
    shown["exponent"] = exponent
    return (
        "DP(1) mixture of Gaussians, from true clusters that are five standard deviations apart; "
        f"n = {ITEMS:,} items, K = {CLUSTERS} clusters, d = {FEATURES} features unless varied.  CPU seconds of a draw, "
        "of TreeGuided without its guide trees; memory is the rise of the resident set over ten draws of `pm.sample`.  "
        f"Exponents by least squares on logarithms.\n\n{columns(where(rows, kind='fit'), shown)}"
    )


def pictures(rows, folder):
    name = "scaling_exponents.png"
    scaling_picture(rows, PANELS, folder / name)
    return {name: "Time and memory against items, clusters and features"}


MEANING = "Time and memory are about linear in the number of items; the time of a guide tree grows a little faster."
PART = Part("scaling", measure, table, pictures, meaning=MEANING)
