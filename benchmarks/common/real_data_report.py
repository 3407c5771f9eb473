"""Tables, claims and pictures of the part real_data."""

import numpy as np

from common.part import markdown, where
from common.pictures import BLACK, BLUE, GREEN, GREY, PINK, RED, SKY, legend, picture

OURS, FUSED = "pymc_nrm", "pymc_nrm, fused"
AS_READ, AS_READ_FUSED = "pymc_nrm, as read", "pymc_nrm, as read, fused"
EM, VARIATIONAL = "GaussianMixture, BIC", "BayesianGaussianMixture"
# Peers, and their names in the table.
PEERS = {
    EM: "EM",
    VARIATIONAL: "VB",
    "latent classes, BIC": "LCA",
    "k-means, silhouette": "k-means",
    "HDBSCAN": "HDBSCAN",
    "HDBSCAN, 15": "HDBSCAN",
}
# How far an adjusted Rand index may be behind the best of the peers.
BEHIND = 0.1
# An index has fallen if it is lower by more than this.
FALLEN = 0.05
# Claims about means need so many sets, and a bin of probability so many pairs.
FEWEST_SETS, FEWEST_PAIRS = 12, 30


def values(rows, key, names=None):
    """Values of a key by set and method, of sets of these names, as a dict of dicts without missing ones."""
    found = {}
    for row in rows:
        if row.get(key) is not None and (names is None or row["set"] in names):
            found.setdefault(row["set"], {})[row["method"]] = row[key]
    return found


def sets_of(rows, *kinds):
    """Names of the sets of some kinds, in the order of the rows."""
    return list(dict.fromkeys(row["set"] for row in rows if row["kind"] in kinds))


def averages(found, methods):
    """Mean of each method over the sets on which all of these methods were measured, and how many those are."""
    complete = [here for here in found.values() if all(method in here for method in methods)]
    if not complete:
        return {}, 0
    return {method: float(np.mean([here[method] for here in complete])) for method in methods}, len(complete)


def behind(rows, method=OURS, margin=BEHIND):
    """Sets on which a method's adjusted Rand index is behind the best peer's by more than a margin."""
    lines = []
    for name, here in values(rows, "ari").items():
        peers = {peer: value for peer, value in here.items() if peer in PEERS}
        if method in here and peers:
            best = max(peers, key=peers.get)
            if here[method] < peers[best] - margin:
                lines.append((name, here[method], peers[best], best))
    return lines


def reliability_curves(rows, methods=(OURS, EM, VARIATIONAL)):
    """Mean probability and share of pairs of one class in ten bins, averaged over the sets that all methods have."""
    found = values(rows, "reliability")
    complete = [here for here in found.values() if all(method in here for method in methods)]
    curves = {}
    for method in methods if complete else ():
        bins = {}
        for here in complete:
            for line in here[method]:
                if line["pairs"] >= FEWEST_PAIRS:
                    place = min(int(line["probability"] * 10 + 1e-9), 9)
                    bins.setdefault(place, []).append((line["probability"], line["share"]))
        curves[method] = {place: np.mean(pairs, axis=0).tolist() for place, pairs in sorted(bins.items())}
    return curves, len(complete)


def headline(rows):
    """Claims: mean agreement and held-out density compared with the best of the peers, and sets far behind."""
    claims = []
    continuous = sets_of(rows, "continuous")
    peers = [method for method in PEERS if method != "latent classes, BIC"]
    for key, what, digits, methods, others in (
        ("ari", "adjusted Rand index of fused clusters", 3, [OURS, FUSED, *peers], peers),
        ("ari", "adjusted Rand index of components", 3, [OURS, FUSED, *peers], peers),
        ("held_out", "held-out log density", 2, [OURS, EM, VARIATIONAL], [EM, VARIATIONAL]),
    ):
        mean, n_sets = averages(values(rows, key, continuous), methods)
        if mean:
            best, own = max(others, key=mean.get), mean[FUSED if "fused" in what else OURS]
            measured = f"{own:.{digits}f}; best of peers: {mean[best]:.{digits}f} ({best}), {n_sets} sets"
            claim = f"Mean {what} on continuous real data"
            met = own >= mean[best] if n_sets >= FEWEST_SETS else None
            claims.append((claim, measured, "at least the best peer's", met))
    compared = [here for here in values(rows, "ari").values() if OURS in here and len(here) > 1]
    if compared:
        claim = f"Adjusted Rand index more than {BEHIND} behind the best of the peers on a set"
        measured = f"{len(behind(rows))} of {len(compared)} sets; fused {len(behind(rows, FUSED))}"
        claims.append((claim, measured, "each explained", None))
    fallen, read = fallen_as_read(rows)
    if read:
        claim = f"Adjusted Rand index lower by {FALLEN} or more as read than with given kinds"
        parts = ["none"] if not fallen else [f"{name} ({before:.2f} to {now:.2f})" for name, before, now in fallen]
        claims.append((claim, f"of {len(read)} sets: {', '.join(parts)}", "none", not fallen))
    return claims


def fallen_as_read(rows):
    """Sets whose better index, of components or fused clusters, is lower with the default reading; and all compared."""
    found = {name: here for name, here in values(rows, "ari").items() if AS_READ in here and OURS in here}
    pairs = [
        (name, max(here[OURS], here[FUSED]), max(here[AS_READ], here[AS_READ_FUSED])) for name, here in found.items()
    ]
    return [pair for pair in pairs if pair[2] < pair[1] - FALLEN], found


def table(rows):
    text = (
        "*pymc_nrm*: `gaussian_mixture` and `mixture_model`, two chains of 300 draws after 300 of tuning, and the "
        "estimate of least variation of information; *fused*: after `fused_estimate`; *as read*: both where the "
        "default reading of `mixture_model` takes columns of numbers as other kinds.  Peers: scikit-learn's "
        "`GaussianMixture` by BIC (EM), `BayesianGaussianMixture` (VB), k-means by silhouette, HDBSCAN with "
        "`min_cluster_size` 5 and 15, and latent classes by BIC (LCA).\n\n"
        "*ARI*: adjusted Rand index with the classes.  *Density*: held-out log density of a third of the items, nats "
        "per item.  *Precision, recall*: of pairs of items in one component.  *Clusters* of the estimate, with R-hat "
        "of their number.  The picture shows calibration, the JSON has Brier scores.\n\n"
    )
    agreements, densities = values(rows, "ari"), values(rows, "held_out")
    lines = []
    for row in where(rows, method=OURS):
        ari, density = agreements.get(row["set"], {}), densities.get(row["set"], {})
        line = [f"{row['set']}, {row['n']} x {row['d']}: {row['classes'] or '-'}"]
        line += [
            _number(ari.get(OURS)),
            _number(ari.get(FUSED)),
            f"{ari[AS_READ]:.2f}, {ari[AS_READ_FUSED]:.2f}" if AS_READ in ari else None,
            _best(ari),
            _number(density.get(OURS)),
            _best(density),
        ]
        line.append(f"{row['precision']:.2f}, {row['recall']:.2f}" if "recall" in row else None)
        lines.append([*line, f"{row['clusters']} ({row['rhat']:.2f})", f"{row['seconds']:.0f}"])
    titles = ["ARI", "fused", "as read", "best peer", "density", "best peer", "precision, recall", "clusters", "CPU s"]
    return text + markdown(["Set: classes", *titles], lines)


def _number(value):
    return None if value is None else f"{value:.2f}"


def _best(found):
    """The best of the peers, with its name."""
    peers = {method: value for method, value in found.items() if method in PEERS}
    if not peers:
        return None
    name = max(peers, key=peers.get)
    return f"{peers[name]:.2f} {PEERS[name]}"


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
        found[name] = "Adjusted Rand index of all methods with the known classes."
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
        found[name] = "Held-out density less that of each peer; share of pairs of one class by their probability."
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
