"""Pictures of the comparison of samplers."""

import numpy as np

from common.part import groups, where
from common.pictures import COLORS, LINES, MARKERS, RED, picture
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


def efficiency_picture(rows, path):
    """ESS per second of the number of clusters by sampler and set; markers of biased samplers are hollow."""
    stationary = [row for row in where(rows, kind="stationary") if row.get("clusters_median")]
    if not stationary:
        return {}
    sets, samplers = list(groups(stationary, "set")), groups(stationary, "sampler")
    style = styles(samplers)
    with picture(path, figsize=(11, 5)) as (figure, axis):
        for k, (sampler, chosen) in enumerate(samplers.items()):
            places = [sets.index(row["set"]) + (k - (len(samplers) - 1) / 2) * 0.1 for row in chosen]
            median, *ends = (
                np.array([row[f"clusters_{key}"] for row in chosen]) for key in ("median", "least", "most")
            )
            color = style[sampler]["color"]
            axis.errorbar(
                places,
                median,
                yerr=[median - ends[0], ends[1] - median],
                fmt=MARKERS[k % len(MARKERS)],
                color=color,
                markerfacecolor=color if chosen[0]["exact"] else "white",
                markersize=8,
                capsize=2,
                label=sampler,
            )
        axis.set(yscale="log", ylabel="ESS per CPU second of the number of clusters")
        axis.set_xticks(range(len(sets)), sets)
        for k in range(1, len(sets)):
            axis.axvline(k - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
        figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return {
        path.name: "ESS per CPU second of the number of clusters, median and range over chains; hollow: biased; "
        "samplers under which it never changed are absent"
    }
