"""Pictures of the comparison of samplers."""

import matplotlib.pyplot as plt
import numpy as np

# Colours that people with any colour vision tell apart (Okabe & Ito); line styles and markers help further.
COLORS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#999999")
LINES = ("-", "--", "-.", ":")
MARKERS = "osD^v<>P"
TREE_COLOR = "#D55E00"
STARTS = {"one": "one cluster", "alone": "all items alone"}


def styles(names):
    """Colour and line style of each name; the tree-guided sampler stands out."""
    found = {
        name: {"color": COLORS[k % len(COLORS)], "linestyle": LINES[(k // len(COLORS) + k) % len(LINES)]}
        for k, name in enumerate(names)
    }
    if "tree-guided" in found:
        found["tree-guided"] = {"color": TREE_COLOR, "linestyle": "-", "linewidth": 2.2}
    return found


def trace_picture(traces, reference, path):
    """Log joint density and number of clusters against CPU time, with a row of panels for each start."""
    if not traces:
        return {}
    starts = [start for start in STARTS if any(trace["start"] == start for trace in traces)]
    style = styles(dict.fromkeys(trace["sampler"] for trace in traces))
    figure, axes = plt.subplots(
        len(starts), 2, figsize=(11, 1.6 + 3.6 * len(starts)), layout="constrained", sharex=True, squeeze=False
    )
    for (left, right), place in zip(axes, starts, strict=True):
        left.axhspan(-reference["margin"], reference["margin"], color="#DDDDDD", zorder=0)
        right.axhline(reference["mean"], color="#888888", linewidth=0.8, zorder=0)
        for trace in traces:
            if trace["start"] == place:
                distance = np.array(trace["log_joint"]) - reference["log_joint"]
                label = trace["sampler"] if place == starts[0] else None
                left.plot(trace["seconds"], distance, label=label, **style[trace["sampler"]])
                right.plot(trace["seconds"], trace["n_clusters"], **style[trace["sampler"]])
        left.set_yscale("symlog", linthresh=2 * reference["margin"])
        left.set(xscale="log", ylabel="log p(data, partition, u)\nminus its posterior mean (nats)")
        right.set(yscale="log", ylabel="number of clusters", title=f"start: {STARTS[place]}")
        right.yaxis.set_major_formatter("{x:g}")
        left.set_title(f"start: {STARTS[place]}")
        for axis in (left, right):
            axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("CPU time (s)")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(f"{reference['set']}: one chain of each sampler")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return {
        path.name: "Log joint density and number of clusters against CPU time from bad starts, "
        f"{reference['set']}; grey: what counts as stationary, and the posterior mean"
    }


def efficiency_picture(rows, path):
    """ESS per second of the number of clusters by sampler and set; markers of biased samplers are hollow."""
    stationary = [row for row in rows if row["kind"] == "stationary" and row.get("clusters_median")]
    if not stationary:
        return {}
    sets = list(dict.fromkeys(row["set"] for row in stationary))
    samplers = list(dict.fromkeys(row["sampler"] for row in stationary))
    style = styles(samplers)
    figure, axis = plt.subplots(figsize=(11, 5), layout="constrained")
    for k, sampler in enumerate(samplers):
        chosen = [row for row in stationary if row["sampler"] == sampler]
        places = [sets.index(row["set"]) + (k - (len(samplers) - 1) / 2) * 0.1 for row in chosen]
        median = np.array([row["clusters_median"] for row in chosen])
        ends = [[row[f"clusters_{key}"] for row in chosen] for key in ("least", "most")]
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
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return {
        path.name: "ESS per CPU second of the number of clusters, median and range over chains; hollow: biased; "
        "samplers under which it never changed are absent"
    }
