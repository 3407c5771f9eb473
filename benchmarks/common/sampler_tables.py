"""Tables of the comparison of samplers."""

import numpy as np

from common.part import columns, groups, interval, markdown, spread, where
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
    return {
        path.name: "Log joint density and number of clusters against CPU time from bad starts, "
        f"{reference['set']}; grey: what counts as stationary, and the posterior mean"
    }


TEXT = """\
Every step is called directly, without PyMC around it, on one core; times are CPU seconds, compilation excluded.

*To stationarity* is the CPU time until the log joint density is first within {margins} of its mean in a long run.
Chains start from one cluster, and from every item alone; the growth of guide trees counts, and steps are in tuning as a
user's are.  Median and range over chains.

*ESS per second* is that of the mean (split chains, `arviz_stats`), median and range over chains.  All samplers start
from the last state of one long tree-guided run and make tuning draws first, which are not counted: the tree-guided
sampler grows its trees and sets its numbers of moves then.  *Pairs* are indicators that two items share a cluster, for
up to 50 random pairs whose probability is between 0.05 and 0.95: the median over pairs, and the least.  0 is a quantity
that never changed; a dash stands for fewer than 50 draws, a question mark for an error that nothing is known about.

*Clusters* is the posterior mean with its Monte Carlo standard error, *z* its distance from the reference in standard
errors of both, *TV* the total variation distance between the laws of the number of clusters, in brackets what chance
alone gives to a correct sampler of that effective sample size, roughly.  An error from fewer than 30 effective draws is
itself a guess, and so is z: that of the slice sampler on 10k is from 13, see `NOTES.md`.

The published sampler is **biased**: its effective sample size, in parentheses, says nothing about the posterior.
"""

ABLATION = """\
The tree-guided step without some of its moves, whose numbers are then 0; Gibbs updates of items always remain.
Informed splits and merges end with tuning.  Columns are those of the part `samplers`, where they are explained.
"""

# Samplers to compare with: the least factor that is aimed at, and their titles.
RIVALS = {
    "published tree-guided (biased)": (20, "published (biased)"),
    "split-merge, restricted Gibbs": (5, "split-merge, restricted Gibbs (Jain & Neal 2004)"),
    "split-merge, sequential": (5, "split-merge, sequential (after Dahl 2005)"),
}
QUANTITIES = {"clusters": "number of clusters", "log_joint": "log joint", "pairs": "pairs, median"}
RATES = {
    "clusters": "ESS/s of clusters",
    "log_joint": "of log joint",
    "pairs": "of pairs",
    "worst_pair": "of the worst pair",
}


def sampler_tables(rows):
    """Markdown tables of all sets, and of the factors between the tree-guided sampler and its rivals."""
    margins = " or ".join(f"{margin:g} nats" for margin in sorted(groups(where(rows, kind="reference"), "margin")))
    return "\n".join([_tables(TEXT.format(margins=margins), rows), *_factors(rows)])


def ablation_table(rows):
    return _tables(ABLATION, rows)


def _tables(text, rows):
    found = [(_heading(row), _set_table(where(rows, set=row["set"]))) for row in where(rows, kind="reference")]
    return "\n".join([text, *(part for pair in found for part in pair)])


def _heading(row):
    source = f"{row['mean']:.2f} +- {_error(row)} clusters"
    if row["source"] == "known":
        source = f"Reference, known from long runs: {source}."
    else:
        source = f"Reference, a long run of {row['source']}: {source}."
        if row["disagreement"] is not None:
            source += f" The two differ by {abs(row['disagreement']):.1f} standard errors."
    chains = "1 chain" if row["n_chains"] == 1 else f"{row['n_chains']} chains"
    times = (
        f"{row['seconds_bad']:g} s at most from bad starts, {row['tune']} tuning draws and {row['seconds_good']:g} s"
    )
    return f"**{row['set']}**: {row['title']}. {chains} of each kind: {times}. {source}\n"


def _set_table(rows):
    arrivals = {(row["start"], row["sampler"]): row for row in where(rows, kind="arrival")}
    shown = {"Sampler": "sampler", "ms per draw": "milliseconds"}
    for start, place in STARTS.items():
        if where(rows, kind="arrival", start=start):
            title = f"to stationarity, {place.replace('items ', '')} (s)"
            shown[title] = lambda row, start=start: _times(arrivals[start, row["sampler"]])
    for name in RATES:
        shown[RATES[name]] = lambda row, name=name: _rate(row, name)
    shown["clusters"] = lambda row: f"{row['mean']:.2f} +- {_error(row)}"
    shown["z"] = lambda row: None if row["z"] is None else f"{row['z']:.1f}"
    shown["TV"] = _variation
    return columns(where(rows, kind="stationary"), shown)


def _error(row):
    return "?" if row["error"] is None else f"{row['error']:.2g}"


def _times(row):
    """Median and range; a chain that never arrives counts as an infinite time."""
    times = sorted(float("inf") if time is None else time for time in row["times"])
    late = sum(time == float("inf") for time in times)
    if late == len(times):
        return f"never in {row['allowed']:g}"
    if late:
        return f"{times[0]:.2g} at best, never in {late} of {len(times)}"
    return interval(spread(times), ".2g")


def _rate(row, name):
    if row.get(f"{name}_median") is None:
        return None
    median, least, most = (_short(row[f"{name}_{key}"]) for key in ("median", "least", "most"))
    text = median if median == least == most else f"{median}, {least} to {most}"
    return text if row["exact"] else f"({text})"


def _short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _variation(row):
    chance = "?" if row["expected_variation"] is None else f"{row['expected_variation']:.3f}"
    return f"{row['variation']:.3f} [{chance}]"


def _factors(rows):
    """Ratios of median effective sample sizes per second."""
    found = {(row["set"], row["sampler"]): row for row in where(rows, kind="stationary")}
    lines = []
    for row in where(rows, kind="stationary", sampler=TREE):
        for quantity, words in QUANTITIES.items():
            ratios = [_ratio(row, found.get((row["set"], rival)), f"{quantity}_median") for rival in RIVALS]
            lines.append([row["set"], words, *ratios])
    if not lines:
        return []
    titles = [f"tree-guided / {title}" for _, title in RIVALS.values()]
    return ["**Factors** between medians of ESS per second.\n", markdown(["Set", "ESS/s of", *titles], lines)]


def sampler_headline(rows):
    """Claims: factors on toy and 10k, times from one cluster, and distributions of the number of clusters."""
    stationary = {(row["set"], row["sampler"]): row for row in where(rows, kind="stationary")}
    arrivals = {(row["set"], row["sampler"]): row for row in where(rows, kind="arrival", start="one")}
    lines = []
    for name in ("toy", "10k"):
        for rival, (target, _) in RIVALS.items():
            pair = stationary.get((name, TREE), {}), stationary.get((name, rival))
            ratios = [_ratio(*pair, f"{quantity}_median") for quantity in ("clusters", "log_joint")]
            if all(isinstance(ratio, float) for ratio in ratios):
                claim = f"ESS per second in stationarity, {name}: tree-guided / {rival}"
                measured = f"{ratios[0]:.2g} (clusters), {ratios[1]:.2g} (log joint)"
                lines.append((claim, measured, f"{target}", min(ratios) >= target))
    for name in ("toy", "10k", "documents"):
        if (name, TREE) in arrivals:
            rivals = [rival for rival in RIVALS if (name, rival) in arrivals]
            others = ", ".join(f"{_times(arrivals[name, rival])} ({rival})" for rival in rivals)
            claim = f"CPU seconds from one cluster to stationarity, {name}"
            lines.append((claim, f"{_times(arrivals[name, TREE])}; {others}", None, None))
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
