"""Tables, claims and pictures of the part real_data."""

import numpy as np

from common.part import columns, markdown, where
from common.pictures import BLACK, BLUE, GREEN, GREY, PINK, RED, SKY, legend, picture

OURS, FUSED = "pymc_nrm", "pymc_nrm, fused"
EM, VARIATIONAL = "GaussianMixture, BIC", "BayesianGaussianMixture"
PEERS = (EM, VARIATIONAL, "latent classes, BIC", "k-means, silhouette", "HDBSCAN", "HDBSCAN, 15")
# How far an adjusted Rand index may be behind the best of the peers.
BEHIND = 0.1
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
            claim = f"Mean {what} on continuous real data at least that of the best peer"
            met = own >= mean[best] if n_sets >= FEWEST_SETS else None
            claims.append((claim, measured, f"at least, on {FEWEST_SETS} sets", met))
    compared = [here for here in values(rows, "ari").values() if OURS in here and len(here) > 1]
    if compared:
        claim = f"Adjusted Rand index more than {BEHIND} behind the best of the peers on a set"
        measured = f"{len(behind(rows))} of {len(compared)} sets; fused {len(behind(rows, FUSED))}"
        claims.append((claim, measured, "each explained", None))
    return claims


def table(rows):
    continuous = sets_of(rows, "continuous")
    others = sets_of(rows, "binary", "counts", "categorical", "mixed")
    text = (
        "Real data in the units of their source.  *pymc_nrm*: a Dirichlet process mixture with alpha ~ Gamma(2, 1) and "
        "learned hyperparameters, as `gaussian_mixture` and `mixture_model` write it, two chains of 300 draws after "
        "300 of tuning, and the estimate that minimises variation of information; *fused*: the same after "
        "`fused_estimate` has joined components that overlap.  Peers are of scikit-learn, with standardised features: "
        "`GaussianMixture` with full covariances and 1 to 15 components by BIC; `BayesianGaussianMixture` with 20 "
        "components and default priors; k-means with 2 to 15 clusters by silhouette; HDBSCAN with `min_cluster_size` "
        "5 and 15, noise counted as one more cluster.  Latent classes by EM, 1 to 15 by BIC, are for binary, "
        "categorical and count data.\n"
    )
    for claim, measured, _, met in headline(rows):
        text += f"\n- {claim}{'' if met is None else ' (met)' if met else ' (not met)'}: {measured}."
    text += "\n"
    kinds = (("Continuous data", continuous), ("Binary, count, categorical and mixed data", others))
    for title, chosen in kinds:
        text += f"\n**{title}: adjusted Rand index with the known classes**; the best of a row is bold.\n\n"
        text += by_set(rows, values(rows, "ari", chosen), digits=2)
        densities = values(rows, "held_out", chosen)
        if densities:
            text += (
                f"\n**{title}: held-out log predictive density** of a third of the items, in nats per item and in the "
                "units of the data.\n\n"
            )
            text += by_set(rows, densities, digits=2)
    far = behind_table(rows)
    if far:
        text += (
            f"\n**Sets on which components or fused clusters are more than {BEHIND} behind the best peer.**  "
            "Precision is the share of the pairs in one cluster that are of one class: low if clusters mix classes.  "
            "Recall is the share of the pairs of one class that are in one cluster: low if classes are split.\n\n"
        )
        text += far
    for title, chosen in kinds:
        text += (
            f"\n**{title}: calibration of pairs.**  Mean squared error (Brier score) of the probability that two items "
            "belong together; methods without probabilities say 0 or 1.\n\n"
        )
        text += by_set(rows, values(rows, "brier", chosen), digits=3, best=min)
    _, n_sets = reliability_curves(rows)
    if n_sets:
        text += "\n**Pairs of items of one class, by the probability with which they share a cluster**, over the "
        text += f"{n_sets} sets on which these methods were measured, each of the same weight.\n\n"
        text += reliability_table(rows)
    text += "\n**Clusters and time.**  CPU seconds of one core, with the compilation of the model, without that of "
    text += "the kernels.\n\n" + clusters(rows)
    return text


def by_set(rows, found, *, digits, best=max):
    """One line for each set and one column for each method; the last line has means over complete sets."""
    sizes = {row["set"]: row for row in rows}
    methods = [method for method in (OURS, FUSED, *PEERS) if any(method in here for here in found.values())]
    lines = []
    for name, here in found.items():
        top = f"{best(here.values()):.{digits}f}"
        row = sizes[name]
        cells = [name, f"{row['n']} x {row['d']}", row["classes"] or None]
        for method in methods:
            value = here.get(method)
            cells.append(None if value is None else _bold(f"{value:.{digits}f}", f"{value:.{digits}f}" == top))
        lines.append(cells)
    # Means are over sets on which all shown methods were measured.
    mean, n_sets = averages(found, methods)
    if n_sets > 1:
        top = best(mean.values())
        cells = [f"mean of {n_sets}", "", ""]
        lines.append([*cells, *(_bold(f"{mean[method]:.{digits}f}", mean[method] == top) for method in methods)])
    return markdown(["Set", "n x d", "classes", *methods], lines)


def behind_table(rows):
    """Agreement, precision and recall on sets far behind the best peer, before and after components are joined."""
    best = {line[0]: line for method in (OURS, FUSED) for line in behind(rows, method)}
    ours = {(row["set"], row["method"]): row for row in rows}
    lines = []
    for name, *_, value, peer in best.values():
        line = [name, f"{value:.2f}: {peer}"]
        for method in (OURS, FUSED):
            row = ours.get((name, method), {})
            line += [row.get("clusters"), *(row.get(key) for key in ("ari", "precision", "recall"))]
        lines.append([cell if not isinstance(cell, float) else f"{cell:.2f}" for cell in line])
    titles = ["clusters", "ARI", "precision", "recall"]
    titles += [f"fused: {title}" for title in titles]
    return markdown(["Set", "best peer", *titles], lines) if lines else ""


def clusters(rows):
    """Numbers of clusters, R-hat and time of the package, and times of its peers, by set."""
    seconds = values(rows, "seconds")
    shown = {
        "Set": "set",
        "classes": lambda row: row["classes"] or None,
        "clusters of the estimate": "clusters",
        "posterior mean": "mean_clusters",
        "R-hat of their number": "rhat",
        "CPU s: pymc_nrm": "seconds",
    }
    shown |= {peer: lambda row, peer=peer: seconds[row["set"]].get(peer) for peer in PEERS}
    return columns(where(rows, method=OURS), shown)


def reliability_table(rows):
    curves, _ = reliability_curves(rows)
    lines = []
    for place in range(10):
        cells = [curve.get(place) for curve in curves.values()]
        lines.append([f"{place / 10:.1f} to {(place + 1) / 10:.1f}", *(cell and f"{cell[1]:.2f}" for cell in cells)])
    return markdown(["Probability", *curves], lines)


def _bold(text, whether):
    return f"**{text}**" if whether else text


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
