"""Pictures of the part real_data: agreement by set, held-out density against the best peer, calibration."""

import numpy as np

from common.pictures import BLACK, BLUE, GREEN, GREY, PINK, RED, SKY, legend, picture
from common.real_data_report import FUSED, OURS, reliability_curves, values

STYLES = {
    OURS: (RED, "o"),
    FUSED: (BLACK, "D"),
    "GaussianMixture, BIC": (BLUE, "s"),
    "BayesianGaussianMixture": (SKY, "v"),
    "latent classes, BIC": (PINK, "P"),
    "k-means, silhouette": (GREEN, "^"),
    "HDBSCAN": (GREY, "x"),
    "HDBSCAN, 15": ("#777777", "+"),
}
# Sizes of markers that are open.
OPEN_SIZES = {OURS: 110, FUSED: 40}
# Differences of held-out densities beyond this are drawn at the edge, with their value.
WIDEST = 2.0
# Distance of markers side by side at the edge.
STEP = 0.14


def pictures(rows, folder):
    """Save the pictures; returns their names and captions."""
    agreements = {name: here for name, here in values(rows, "ari").items() if OURS in here}
    densities = {name: here for name, here in values(rows, "held_out").items() if OURS in here and len(here) > 1}
    curves, n_sets = reliability_curves(rows)
    found = {}
    if agreements:
        name = "real_data_agreement.png"
        with picture(folder / name, figsize=(8, 0.27 * len(agreements) + 1.4)) as (figure, axis):
            draw_agreements(axis, agreements)
            legend(figure, axis, ncols=4, fontsize=8)
        found[name] = "Adjusted Rand index of all methods with the known classes, where the package was measured."
    if n_sets and densities:
        name = "real_data_probabilities.png"
        size = (10, max(0.27 * len(densities) + 1.4, 4.6))
        with picture(folder / name, 1, 2, figsize=size, width_ratios=(1.15, 1)) as (figure, (left, right)):
            draw_densities(left, densities)
            draw_calibration(right, curves)
            handles = {}
            for axis in (left, right):
                handles |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
            handles = {method: handles[method] for method in STYLES if method in handles}
            figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8)
        found[name] = (
            "Left: held-out log density of the package minus that of each peer; to the right of the line the package "
            "is better.  Right: share of pairs of items of one class, by the probability that they share a cluster, "
            f"{n_sets} sets."
        )
    return found


def lines_of_sets(axis, names):
    """A grey line for each set, with its name."""
    for height in range(len(names)):
        axis.axhline(height, color="#EEEEEE", linewidth=0.8, zorder=0)
    axis.set_yticks(range(len(names)), names, fontsize=8)


def draw_agreements(axis, found):
    names = sorted(found, key=lambda name: max(found[name].values()))
    lines_of_sets(axis, names)
    for method, (color, marker) in STYLES.items():
        points = [(found[name][method], height) for height, name in enumerate(names) if method in found[name]]
        if points:
            # Our markers are open and larger, so that peers at the same place can be seen.
            style = {"s": 28, "color": color}
            if method in OPEN_SIZES:
                style = {"s": OPEN_SIZES[method], "facecolors": "none", "edgecolors": color}
            axis.scatter(*zip(*points, strict=True), marker=marker, linewidths=1.8, zorder=4, label=method, **style)
    axis.set_xlabel("adjusted Rand index with the known classes")


def draw_densities(axis, found):
    """Differences of held-out densities, one line for each set."""
    axis.axvline(0, color="black", linewidth=0.8)
    names = list(found)[::-1]
    lines_of_sets(axis, names)
    gains = [
        {method: found[name][OURS] - found[name][method] for method in STYLES if method in found[name]}
        for name in names
    ]
    for height, here in enumerate(gains):
        del here[OURS]
        beyond = {-1: [], 1: []}
        for method, gain in here.items():
            place, side = gain, int(np.sign(gain))
            if abs(gain) > WIDEST:
                # Several peers beyond the edge stand side by side, in the same order as their values.
                place = side * (WIDEST + STEP * len(beyond[side]))
                beyond[side].append(gain)
            color, marker = STYLES[method]
            axis.scatter(place, height, color=color, marker=marker, s=32, zorder=3, label=method)
        for side, values_beyond in beyond.items():
            if values_beyond:
                end = side * (WIDEST + STEP * (len(values_beyond) - 1))
                text = ", ".join(f"{gain:+.1f}" for gain in values_beyond)
                align = "left" if side > 0 else "right"
                axis.annotate(text, (end, height), (7 * side, -2.5), textcoords="offset points", fontsize=7, ha=align)
    least = min(min(here.values()) for here in gains)
    axis.set_xlim(-WIDEST - 1.0 if least < -WIDEST else min(-0.4, least - 0.2), WIDEST + 1.0)
    axis.set_xticks([tick for tick in axis.get_xticks() if axis.get_xlim()[0] <= tick <= WIDEST])
    axis.set(ylim=(-0.6, len(names) - 0.4), xlabel="held-out log density: pymc_nrm minus peer, nats per item")


def draw_calibration(axis, curves):
    """Share of pairs of one class by probability; the diagonal is perfect."""
    axis.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=1)
    for method, curve in curves.items():
        color, marker = STYLES[method]
        axis.plot(*np.transpose(list(curve.values())), color=color, marker=marker, markersize=5, label=method)
    axis.set(xlabel="probability that two items share a cluster", ylabel="share of pairs of one class", aspect="equal")
    axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
