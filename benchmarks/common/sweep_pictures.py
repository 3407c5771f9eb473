"""Pictures of times of Gibbs sweeps."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

# Okabe & Ito.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
MARKERS = ("o", "s", "^", "D")


def size_picture(rows, lines, folder, name="gibbs_sweep_sizes.png"):
    """Nanoseconds per item against the number of clusters, with a panel for each dimension."""
    dimensions = sorted({row["d"] for row in rows})
    sizes = sorted({row["n"] for row in rows})
    figure, axes = plt.subplots(
        1, len(dimensions), figsize=(11, 4.4), sharex=True, sharey=True, layout="constrained", squeeze=False
    )
    for axis, d in zip(axes[0], dimensions, strict=True):
        for n, color, marker in zip(sizes, COLORS, MARKERS, strict=False):
            for program, line in lines.items():
                chosen = [row for row in rows if (row["n"], row["d"], row["program"]) == (n, d, program)]
                if chosen:
                    x, y = [row["true_clusters"] for row in chosen], [row["median"] for row in chosen]
                    errors = [[row["median"] - row["least"] for row in chosen]]
                    errors += [[row["most"] - row["median"] for row in chosen]]
                    filled = color if line == "-" else "white"
                    axis.errorbar(x, y, errors, color=color, linestyle=line, marker=marker, markerfacecolor=filled)
        axis.set(xscale="log", yscale="log", xlabel="clusters", title=f"d = {d}")
        ticks = sorted({row["true_clusters"] for row in rows})
        axis.set_xticks(ticks, [str(tick) for tick in ticks])
        axis.set_xticks([], minor=True)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("CPU time per item of a sweep (ns)")
    shown = {row["program"] for row in rows}
    handles = [Line2D([], [], color="black", linestyle=line, label=p) for p, line in lines.items() if p in shown]
    handles += [
        Line2D([], [], color=color, marker=marker, linestyle="", label=f"n = {n:,}")
        for n, color, marker in zip(sizes, COLORS, MARKERS, strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9)
    figure.savefig(folder / name, dpi=120)
    plt.close(figure)
    return name


def family_picture(rows, folder, name="gibbs_sweep_families.png"):
    """Bars: nanoseconds per item and cluster of every family, with ranges."""
    rows = rows[::-1]
    figure, axis = plt.subplots(figsize=(8.5, 3.2), layout="constrained")
    middle = [row["median"] for row in rows]
    errors = [[row["median"] - row["least"] for row in rows], [row["most"] - row["median"] for row in rows]]
    axis.barh([row["family"] for row in rows], middle, xerr=errors, color=COLORS[0], height=0.6)
    for k, row in enumerate(rows):
        axis.annotate(
            f"{row['median']:.3g}", (row["most"], k), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9
        )
    axis.set(xlabel="CPU time per item and cluster (ns)")
    axis.margins(x=0.1)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / name, dpi=120)
    plt.close(figure)
    return name
