"""Tables of the comparison of samplers."""

import numpy as np

from common.part import groups, markdown, where
from common.pictures import COLORS, LINES, RED, picture
from common.sampler_runs import TREE

STARTS = {"one": "one cluster", "alone": "all items alone"}


def styles(names):
    """Colour and line style of each name; the tree-guided sampler stands out."""
    found = {
        name: {"color": COLORS[k % len(COLORS)], "linestyle": LINES[(k // len(COLORS) + k) % len(LINES)]}
        for k, name in enumerate(names)
    }
    if TREE in found:
        found[TREE] = {"color": RED, "linestyle": "-", "linewidth": 2.2}
    return found


def trace_picture(rows, reference, path):
    """Log joint density and number of clusters against CPU time, with a row of panels for each start."""
    traces = where(rows, kind="trace", set=reference["set"])
    starts = [start for start in STARTS if where(traces, start=start)]
    style = styles(groups(traces, "sampler"))
    size = (11, 1.6 + 3.6 * len(starts))
    with picture(path, len(starts), 2, figsize=size, sharex=True, squeeze=False) as (figure, axes):
        for (left, right), place in zip(axes, starts, strict=True):
            left.axhspan(-reference["margin"], reference["margin"], color="#DDDDDD", zorder=0)
            right.axhline(reference["mean"], color="#888888", linewidth=0.8, zorder=0)
            for trace in where(traces, start=place):
                distance = np.array(trace["log_joint"]) - reference["log_joint"]
                label = trace["sampler"] if place == starts[0] else None
                left.plot(trace["seconds"], distance, label=label, **style[trace["sampler"]])
                right.plot(trace["seconds"], trace["n_clusters"], **style[trace["sampler"]])
            left.set_yscale("symlog", linthresh=2 * reference["margin"])
            left.set(xscale="log", ylabel="log p(data, partition, u)\nminus its posterior mean (nats)")
            right.set(yscale="log", ylabel="number of clusters", title=f"start: {STARTS[place]}")
            right.yaxis.set_major_formatter("{x:g}")
            left.set_title(f"start: {STARTS[place]}")
        for axis in axes[-1]:
            axis.set_xlabel("CPU time (s)")
        figure.legend(loc="outside lower center", ncols=3, fontsize=8)
        figure.suptitle(f"{reference['set']}: one chain of each sampler")
    return {path.name: f"{reference['set']}: traces from bad starts against CPU time"}


TEXT = """\
Steps without PyMC around them, medians over chains: CPU seconds from one cluster until the log joint density is within
5 nats (10k, documents: 100) of its mean in a long run; then effective samples per CPU second in stationarity of the
number of clusters, the log joint, and the worst of 50 uncertain pairs of items.
"""

ABLATION = """\
The tree-guided step without some of its moves; Gibbs updates of items always remain, and informed splits and merges end
with tuning.  CPU seconds from one cluster; effective samples of the number of clusters and of the log joint per second.
"""

# Samplers to compare with: the least factor that is aimed at, and their titles.
# Samplers to compare with: the least factor that is aimed at, and their short names.
RIVALS = {
    "published tree-guided (biased)": (20, "published"),
    "split-merge, restricted Gibbs": (5, "restricted Gibbs"),
    "split-merge, sequential": (5, "sequential"),
}
RATES = ("clusters", "log_joint", "worst_pair")
FAR = 2.5


def sampler_tables(rows):
    """Text, sets, a table with a line for each sampler, and which numbers of clusters are wrong."""
    headings = [_heading(row) for row in where(rows, kind="reference")]
    return "\n".join([TEXT, *headings, "", _by_sampler(rows, RATES), _far(where(rows, kind="stationary"))])


def ablation_table(rows):
    return f"{ABLATION}\n{_by_sampler(rows, RATES[:2])}"


def _heading(row):
    return f"- {row['set']}: {row['title']}; {row['mean']:.2f} +- {_error(row)} clusters."


def _by_sampler(rows, names):
    """One line for each sampler and one column for each set: time from one cluster, and effective samples."""
    sets = groups(where(rows, kind="reference"), "set")
    arrivals = {(row["set"], row["sampler"]): _time(row) for row in where(rows, kind="arrival", start="one")}
    rates = {(row["set"], row["sampler"]): _rates(row, names) for row in where(rows, kind="stationary")}
    lines = []
    for sampler in groups(where(rows, kind="stationary"), "sampler"):
        keys = [(name, sampler) for name in sets]
        lines.append([sampler, *(f"{arrivals[key]}; {rates[key]}" if key in rates else None for key in keys)])
    return markdown(["Sampler", *sets], lines)


def _time(row):
    """Median; a chain that never arrives counts as an infinite time."""
    times = sorted(float("inf") if time is None else time for time in row["times"])
    middle = times[len(times) // 2]
    return f"> {row['allowed']:g}" if middle == float("inf") else f"{middle:.2g}"


def _rates(row, names):
    """Medians of some quantities; in brackets for a biased sampler."""
    found = [row.get(f"{name}_median") for name in names]
    text = ", ".join("-" if value is None else _short(value) for value in found)
    return text if row["exact"] else f"({text})"


def _far(rows):
    """Distances of mean numbers of clusters from the reference in standard errors, those above ``FAR`` by name."""
    rows = [row for row in rows if row["z"] is not None]
    far = [f"{row['sampler']} on {row['set']} {row['z']:.1f}" for row in rows if row["exact"] and abs(row["z"]) > FAR]
    others = max((abs(row["z"]) for row in rows if row["exact"] and abs(row["z"]) <= FAR), default=0.0)
    biased = max((abs(row["z"]) for row in rows if not row["exact"]), default=0.0)
    far += [f"the published sampler: up to {biased:.0f}"] if biased > FAR else []
    text = f"Mean numbers of clusters are within {others:.1f} standard errors of the reference"
    return f"{text}, but for {', '.join(far)}.\n" if far else f"{text}.\n"


def _error(row):
    return "?" if row["error"] is None else f"{row['error']:.2g}"


def _short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def sampler_headline(rows):
    """Claims: factors on toy and 10k, times from one cluster, and distributions of the number of clusters."""
    stationary = {(row["set"], row["sampler"]): row for row in where(rows, kind="stationary")}
    arrivals = {(row["set"], row["sampler"]): row for row in where(rows, kind="arrival", start="one")}
    lines = []
    for rival, (target, _) in RIVALS.items():
        measured, every = [], []
        for name in ("toy", "10k"):
            pair = stationary.get((name, TREE), {}), stationary.get((name, rival))
            ratios = [_ratio(*pair, f"{quantity}_median") for quantity in ("clusters", "log_joint")]
            if all(isinstance(ratio, float) for ratio in ratios):
                every += ratios
                measured.append(f"{name} {', '.join(_short(ratio) for ratio in ratios)}")
        if every:
            claim = f"ESS per second of clusters, log joint in stationarity: tree-guided / {rival}"
            lines.append((claim, "; ".join(measured), f"{target}", min(every) >= target))
    for name in ("toy", "10k", "documents"):
        if (name, TREE) in arrivals:
            rivals = {rival: short for rival, (_, short) in RIVALS.items() if (name, rival) in arrivals}
            others = "; ".join(f"{short} {_time(arrivals[name, rival])}" for rival, short in rivals.items())
            claim = f"CPU seconds from one cluster to stationarity, {name}"
            lines.append((claim, f"{_time(arrivals[name, TREE])}; {others}", None, None))
    scores = {row["set"]: row["z"] for row in stationary.values() if row["sampler"] == TREE and row["z"]}
    if scores:
        worst = max(scores, key=lambda name: abs(scores[name]))
        claim = f"Number of clusters of the tree-guided sampler against the reference, worst of {len(scores)} sets"
        lines.append((claim, f"z = {scores[worst]:.1f} ({worst})", "below 4", abs(scores[worst]) < 4))
    return lines


def _ratio(row, rival, key):
    if rival is None or row.get(key) is None or rival.get(key) is None:
        return None
    if rival[key] == 0:
        return "other never moved" if row[key] else None
    return row[key] / rival[key]
