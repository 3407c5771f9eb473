"""Pictures of the part real_data: agreement by set, held-out density against the best peer, calibration."""

import matplotlib.pyplot as plt
import numpy as np

from common.real_data_summary import reliability_curves, values

STYLES = {
    "pymc_nrm": ("#D55E00", "o"),
    "pymc_nrm, fused": ("#000000", "D"),
    "GaussianMixture, BIC": ("#0072B2", "s"),
    "BayesianGaussianMixture": ("#56B4E9", "v"),
    "latent classes, BIC": ("#CC79A7", "P"),
    "k-means, silhouette": ("#009E73", "^"),
    "HDBSCAN": ("#999999", "x"),
    "HDBSCAN, 15": ("#777777", "+"),
}
# Sizes of markers that are open.
OPEN_SIZES = {"pymc_nrm": 110, "pymc_nrm, fused": 40}
# Differences of held-out densities beyond this are drawn at the edge, with their value.
WIDEST = 2.0
# Distance of markers side by side at the edge.
_STEP = 0.14


def pictures(rows, folder):
    """Save the pictures; returns their names and captions."""
    found = {}
    if _agreements(rows):
        name = "real_data_agreement.png"
        agreement(rows).savefig(folder / name, dpi=120)
        found[name] = "Adjusted Rand index of all methods with the known classes, where the package was measured."
    curves, n_sets = reliability_curves(rows)
    if n_sets and _densities(rows):
        name = "real_data_probabilities.png"
        probabilities(rows, curves).savefig(folder / name, dpi=120)
        found[name] = (
            "Left: held-out log density of the package minus that of each peer; to the right of the line the package "
            "is better.  Right: share of pairs of items of one class, by the probability that they share a cluster, "
            f"{n_sets} sets."
        )
    plt.close("all")
    return found


def agreement(rows):
    found = _agreements(rows)
    figure, axis = plt.subplots(figsize=(8, 0.27 * len(found) + 1.4), layout="constrained")
    names = sorted(found, key=lambda name: max(found[name].values()))
    for height in range(len(names)):
        axis.axhline(height, color="#EEEEEE", linewidth=0.8, zorder=0)
    for method, (color, marker) in STYLES.items():
        points = [(found[name][method], height) for height, name in enumerate(names) if method in found[name]]
        if points:
            # Our markers are open and larger, so that peers at the same place can be seen.
            style = (
                {"s": OPEN_SIZES[method], "facecolors": "none", "edgecolors": color}
                if method in OPEN_SIZES
                else {"s": 28, "color": color}
            )
            axis.scatter(*zip(*points, strict=True), marker=marker, linewidths=1.8, zorder=4, label=method, **style)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_xlabel("adjusted Rand index with the known classes")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return figure


def probabilities(rows, curves):
    """Held-out densities on the left, calibration of pairs on the right."""
    found = _densities(rows)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, max(0.27 * len(found) + 1.4, 4.6)), layout="constrained", width_ratios=(1.15, 1)
    )
    densities(left, found)
    calibration(right, curves)
    handles = {}
    for axis in (left, right):
        handles |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    handles = {method: handles[method] for method in STYLES if method in handles}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def densities(axis, found):
    """Differences of held-out densities, one line for each set."""
    axis.axvline(0, color="black", linewidth=0.8)
    names = list(found)[::-1]
    for height in range(len(names)):
        axis.axhline(height, color="#EEEEEE", linewidth=0.8, zorder=0)
    peers = [method for method in STYLES if method != "pymc_nrm"]
    gains = [
        {method: found[name]["pymc_nrm"] - found[name][method] for method in peers if method in found[name]}
        for name in names
    ]
    for height, here in enumerate(gains):
        beyond = {-1: [], 1: []}
        for method, gain in here.items():
            place, side = gain, int(np.sign(gain))
            if abs(gain) > WIDEST:
                # Several peers beyond the edge stand side by side, in the same order as their values.
                place = side * (WIDEST + _STEP * len(beyond[side]))
                beyond[side].append(gain)
            color, marker = STYLES[method]
            axis.scatter(place, height, color=color, marker=marker, s=32, zorder=3, label=method)
        for side, values_beyond in beyond.items():
            if values_beyond:
                end = side * (WIDEST + _STEP * (len(values_beyond) - 1))
                text = ", ".join(f"{gain:+.1f}" for gain in values_beyond)
                align = "left" if side > 0 else "right"
                axis.annotate(text, (end, height), (7 * side, -2.5), textcoords="offset points", fontsize=7, ha=align)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    least = min(min(here.values()) for here in gains)
    axis.set_xlim(-WIDEST - 1.0 if least < -WIDEST else min(-0.4, least - 0.2), WIDEST + 1.0)
    axis.set_xticks([tick for tick in axis.get_xticks() if axis.get_xlim()[0] <= tick <= WIDEST])
    axis.set_ylim(-0.6, len(names) - 0.4)
    axis.set_xlabel("held-out log density: pymc_nrm minus peer, nats per item")
    axis.spines[["top", "right"]].set_visible(False)


def calibration(axis, curves):
    """Share of pairs of one class by probability; the diagonal is perfect."""
    axis.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=1)
    for method, curve in curves.items():
        color, marker = STYLES[method]
        axis.plot(*np.transpose(list(curve.values())), color=color, marker=marker, markersize=5, label=method)
    axis.set(
        xlabel="probability that two items share a cluster",
        ylabel="share of pairs of one class",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
    )
    axis.spines[["top", "right"]].set_visible(False)


def _agreements(rows):
    """Agreement with the classes where the package was measured."""
    return {name: here for name, here in values(rows, "ari").items() if "pymc_nrm" in here}


def _densities(rows):
    """Held-out densities of sets on which the package and a peer have one."""
    return {name: here for name, here in values(rows, "held_out").items() if "pymc_nrm" in here and len(here) > 1}
