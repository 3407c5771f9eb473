"""Figures of the comparison of bounds."""

import matplotlib.pyplot as plt
import numpy as np

# Colours that people with any colour vision tell apart (Okabe & Ito); markers and line styles help further.
STYLES = {
    "tree": {"color": "#000000", "marker": "o", "linestyle": "-"},
    "alternative trees": {"color": "#D55E00", "marker": "s", "linestyle": "-"},
    "variational, stick-breaking": {"color": "#0072B2", "marker": "^", "linestyle": "--"},
    "variational, symmetric Dirichlet": {"color": "#009E73", "marker": "v", "linestyle": ":"},
}


def clean(axis, **labels):
    axis.spines[["top", "right"]].set_visible(False)
    axis.set(**labels)


def gaps(results, sizes, ylabel, path):
    """Mean differences from the exact value and standard errors; ``results[set][method]`` has shape (sizes, draws)."""
    figure, axes = plt.subplots(1, len(results), figsize=(10, 3.6), sharey=True, layout="constrained")
    for axis, (name, methods) in zip(axes, results.items(), strict=True):
        for method, values in methods.items():
            error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
            axis.errorbar(sizes, values.mean(axis=1), error, label=method, markersize=4, **STYLES[method])
        axis.axhline(0, color="grey", linewidth=0.8)
        clean(axis, title=f"Set {name}", xlabel="items")
    axes[0].set_ylabel(ylabel)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def node_gains(gains, path):
    """Gains of single nodes against their sizes; ``gains[set]`` is a pair of arrays."""
    n_rows = -(-len(gains) // 3)
    figure, axes = plt.subplots(n_rows, 3, figsize=(9, 2.8 * n_rows), sharey=True, squeeze=False, layout="constrained")
    for axis in axes.ravel()[len(gains) :]:
        axis.set_visible(False)
    for axis, (name, (size, gain)) in zip(axes.ravel(), gains.items(), strict=False):
        axis.scatter(size, np.maximum(gain, 1e-6), s=10, color="#0072B2", alpha=0.5, linewidths=0)
        axis.set(xscale="log", yscale="log")
        clean(axis, title=name)
    figure.supxlabel("items below the node", fontsize=10)
    figure.supylabel("log gain of the bound (1e-6 or more)", fontsize=10)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def groups(sizes, seconds, excess, path):
    """Times of greedy clustering of items and of groups, and by how many per cent the bound of groups is larger."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    styles = [("#000000", "o", "-"), ("#D55E00", "s", "--")]
    for (name, values), (color, marker, line) in zip(seconds.items(), styles, strict=True):
        left.plot(sizes, values, color=color, marker=marker, linestyle=line, label=name)
    for (name, values), (_, marker, line) in zip(excess.items(), styles, strict=True):
        right.plot(sizes, values, color="#0072B2", marker=marker, linestyle=line, label=f"family: {name}")
    right.axhline(0, color="grey", linewidth=0.8)
    left.set(yscale="log")
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=9)
        axis.minorticks_off()
        axis.legend(frameon=False, fontsize=8)
    clean(left, xlabel="items", ylabel="seconds")
    clean(right, xlabel="items", ylabel="log bound of groups\nabove that of bhc (%)")
    figure.savefig(path, dpi=150)
    plt.close(figure)
