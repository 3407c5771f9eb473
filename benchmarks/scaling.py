"""Growth of time and memory with the numbers of items, clusters and features: exponents of fitted power laws."""

import time

import numpy as np
from common.chains import time_draws
from common.data import dirichlet_process
from common.part import Part, columns, groups, spread, where
from common.pictures import KEYS, exponent, fits, scaling_picture
from common.processes import call, tells_memory
from common.sweeps import gaussian_family, problem, spaced_clusters
from memory import plane_peak

import pymc_nrm as nrm
from pymc_nrm.moves.guide_trees.guide_tree import guide_tree

STEPS = {"MarginalGibbs": "Gibbs sweep", "SplitMerge": "SplitMerge draw", "TreeGuided": "TreeGuided draw"}
GUIDE = "IBHC guide tree"
ITEMS, CLUSTERS, FEATURES = 10_000, 30, 2
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
                rise = call(plane_peak, n=n, sampler=name, draws=10)["rise"]
                rows.append(point("n", n, what, [rise], "bytes"))
    return rows + fits(rows)


def point(against, value, what, values, unit="seconds"):
    row = {"kind": "point", "against": against, "value": value, "what": what, "unit": unit, "repeats": len(values)}
    return row | spread(values)


def draw_times(name, X, labels, target, repeats=3):
    """CPU seconds per draw of a step object from the given labels: several means over some draws."""
    with dirichlet_process(X, gaussian_family(X.shape[1])) as model:
        step = getattr(nrm, name)([model["z"]], rng=np.random.default_rng(1))
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


def table(rows):
    points = groups(where(rows, kind="point"), *KEYS)
    shown = {"what": "what", "unit": "unit", "against": "against"}
    shown |= {"range": lambda row: f"{row['least']:,} to {row['most']:,}", "points": "points"}
    for title, place in (("at the least", 0), ("at the most", -1)):
        shown[title] = lambda row, place=place: points[tuple(row[key] for key in KEYS)][place]["median"]
    shown["exponent"] = exponent
    return (
        f"Dirichlet process mixture, alpha = 1, of Gaussians with normal-Wishart base measure (mu = 0, kappa = 0.1, "
        f"Psi = 5 I, nu = d + 6), from the true clusters, whose median distance to the nearest neighbour is five "
        f"standard deviations.  Unless varied, n = {ITEMS:,} items, K = {CLUSTERS} clusters, d = {FEATURES} features.  "
        "CPU seconds of one draw of a step object with default numbers of moves, compilation left out; TreeGuided "
        "without its guide trees, which have a line of their own; medians of three means over draws.  Memory: the rise "
        "of the resident set in a new process over ten draws of `pm.sample`, trace and guide trees included.  "
        "Exponents by least squares on logarithms; their standard errors say how far the points are from a straight "
        "line.\n\n" + columns(where(rows, kind="fit"), shown)
    )


def pictures(rows, folder):
    name = "scaling_exponents.png"
    scaling_picture(rows, PANELS, folder / name)
    return {name: "Time and memory against items, clusters and features, with fitted exponents"}


PART = Part("scaling", measure, table, pictures)
