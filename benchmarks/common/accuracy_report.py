"""Table and picture of the part on CPU time to a given accuracy."""

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter
from peers.stock_steps import N_COMPONENTS

from common.part import columns
from common.pictures import COLORS, LINES, MARKERS, RED, legend, picture

TREE = "TreeGuided"
NUTS = "PyMC: NUTS, labels summed out"
NUTPIE = "nutpie, labels summed out"
LABELS = "PyMC: labels by Gibbs, NUTS"
PYRICHLET = "pyrichlet, slice sampler"
FITS = ("scikit-learn, variational", "scikit-learn, EM and BIC")
# Errors of the mean number of clusters, and root mean square errors of the log density.
GOALS = {"clusters": (1.0, 0.3), "density": (0.05, 0.02)}
TITLES = {"clusters": "mean number of clusters", "density": "log predictive density"}


def time_to(row, quantity, goal):
    """First CPU time from which the error stays at or below a goal, or None if there is none."""
    above = np.flatnonzero(np.array(row[quantity]) > goal)
    first = above[-1] + 1 if len(above) else 0
    return row["seconds"][first] if first < len(row["seconds"]) else None


def table(rows):
    text = (
        "1000 items in the plane in six overlapping clusters (`common.data.plane`), DP(1), normal-Wishart base measure "
        "(mu = 0, kappa = 0.1, Psi = 5 I, nu = 8).  How long does it take to know the posterior mean of the number "
        "of clusters (10.87), and the predictive density at 200 places?  Estimates after t CPU seconds of one core "
        "are means over the second half of all draws until then, tuning included, from each method's own start; "
        "compilation is not counted.  Errors are root mean squares over chains, and for the log density over places; "
        f"its reference is a long run of {TREE}.  PyMC and nutpie truncate the stick-breaking at {N_COMPONENTS} "
        "components; labels are drawn from each of their draws afterwards, at no charge.  scikit-learn's fits give "
        "one density and one number of components, which stay as wrong as they are.\n\n"
    )
    shown = {"Method": "method", "chains x s": lambda row: f"{row['chains']} x {row['seconds'][-1]:.3g}"}
    for quantity, goals in GOALS.items():
        for goal in goals:
            title = f"s to {goal:g} of the {TITLES[quantity]}"
            shown[title] = lambda row, quantity=quantity, goal=goal: time_to(row, quantity, goal)
    shown["error of clusters at the end"] = lambda row: row["clusters"][-1]
    return text + columns(rows, shown | {"error of the log density at the end": lambda row: row["density"][-1]})


def headline(rows):
    """The claim: how much sooner the default step is accurate than the best peer."""
    found = {row["method"]: row for row in rows}
    peers = [name for name in (NUTS, NUTPIE, LABELS, PYRICHLET) if name in found]
    if TREE not in found or not peers:
        return []
    parts = []
    for quantity, (goal, _) in GOALS.items():
        times = {name: time_to(found[name], quantity, goal) for name in peers}
        reached = {name: t for name, t in times.items() if t is not None}
        own = time_to(found[TREE], quantity, goal)
        best = min(reached, key=reached.get) if reached else None
        peer = f"{reached[best]:.2g} s ({best})" if best else "none in its time"
        parts.append(f"{TITLES[quantity]} within {goal:g}: {'never' if own is None else f'{own:.2g} s'}; {peer}")
    return [("CPU time to a given accuracy, plane: tree-guided; best of other programs", "; ".join(parts), None, None)]


def pictures(rows, folder):
    name = "accuracy.png"
    with picture(folder / name, 1, 2, figsize=(10.5, 4.8)) as (figure, axes):
        for axis, quantity in zip(axes, GOALS, strict=True):
            axis.set(xscale="log", yscale="log", xlabel="CPU seconds", title=TITLES[quantity])
            for k, row in enumerate(rows):
                own, once = row["method"] == TREE, len(row["seconds"]) == 1
                style = {
                    "color": RED if own else COLORS[k % len(COLORS)],
                    "linestyle": "none" if once else LINES[k % 4],
                    "linewidth": 2.4 if own else 1.4,
                    "marker": MARKERS[k % len(MARKERS)],
                    "markersize": 8 if once else 4,
                    "markevery": None if once else (k % 3, 3),
                }
                axis.plot(row["seconds"], row[quantity], label=row["method"], **style)
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
            for goal in GOALS[quantity]:
                axis.axhline(goal, color="0.8", linewidth=0.8, zorder=0)
        axes[0].set_ylabel("root mean square error")
        legend(figure, axes[0], ncols=3)
    return {name: "Error of two estimates against CPU time on 1000 items in the plane; grey: the goals of the table."}
