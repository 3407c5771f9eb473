"""What all pictures share: colours for all kinds of colour vision, axes, files, and fitted power laws."""

from contextlib import contextmanager

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import linregress

from common.part import groups, where

# Okabe & Ito.
BLACK, ORANGE, SKY, GREEN, PINK, BLUE, RED, GREY = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#999999"),
)
COLORS = (BLACK, ORANGE, SKY, GREEN, PINK, BLUE, GREY)
LINES = ("-", "--", "-.", ":")
MARKERS = "osD^v<>P"


@contextmanager
def picture(path, n_rows=1, n_columns=1, dpi=120, **options):
    """A figure and its axes, which are saved without frames."""
    figure, axes = plt.subplots(n_rows, n_columns, layout="constrained", **options)
    yield figure, axes
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=dpi)
    plt.close(figure)


def legend(figure, axis, **options):
    """One legend below all panels, of what one of them shows."""
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", **options)


def errors_of(rows):
    """Distances from medians to both ends of ranges, for error bars."""
    below = [row["median"] - row["least"] for row in rows]
    return [below, [row["most"] - row["median"] for row in rows]]


KEYS = ("against", "what", "unit")
STYLES = list(zip((BLUE, RED, GREEN, PINK, BLACK), "os^Dv", (*LINES, (0, (5, 1, 1, 1, 1, 1))), strict=True))


def fit_power_law(x, y):
    """Fit a line to log y against log x by least squares."""
    line = linregress(np.log(x), np.log(y))
    return float(line.slope), float(line.stderr), float(np.exp(line.intercept))


def fits(points):
    """A row with one power law for each quantity that has at least three points."""
    rows = []
    for key, chosen in groups(points, *KEYS).items():
        if len(chosen) >= 3:
            x = [row["value"] for row in chosen]
            fitted = fit_power_law(x, [row["median"] for row in chosen])
            row = {"kind": "fit"} | dict(zip(KEYS, key, strict=True))
            row |= dict(zip(("exponent", "error", "factor"), fitted, strict=True))
            rows.append(row | {"points": len(x), "least": min(x), "most": max(x)})
    return rows


def exponent(row):
    """An exponent with its standard error, as text."""
    digits = 2 if row["error"] >= 0.01 else 3
    return f"{row['exponent']:.{digits}f} ± {row['error']:.{digits}f}"


def scaling_picture(rows, panels, path):
    """Points and fitted lines on logarithmic axes, with the exponents in the legends."""
    points = groups(where(rows, kind="point"), "against", "unit")
    names = list(groups(where(rows, kind="point"), "what"))
    shown = {key: labels for key, labels in panels.items() if key in points}
    n_columns = 2 if len(shown) > 3 else len(shown)
    n_rows = -(-len(shown) // n_columns)
    size = (min(11, 4.5 * n_columns), 3.8 * n_rows)
    with picture(path, n_rows, n_columns, figsize=size, squeeze=False) as (_, axes):
        for axis, (key, (x_label, y_label)) in zip(axes.flat, shown.items(), strict=True):
            for what, chosen in groups(points[key], "what").items():
                (color, marker, dashes), label = STYLES[names.index(what)], what
                x, y = np.array([row["value"] for row in chosen]), np.array([row["median"] for row in chosen])
                for fit in where(rows, kind="fit", against=key[0], unit=key[1], what=what):
                    label += f": {exponent(fit)}"
                    line = fit["factor"] * x ** fit["exponent"]
                    axis.plot(x, line, color=color, linestyle=dashes, linewidth=1.2)
                style = {"color": color, "marker": marker, "linestyle": "", "markersize": 5, "capsize": 2}
                axis.errorbar(x, y, errors_of(chosen), label=label, **style)
            axis.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
            ticks = sorted(groups(points[key], "value"))
            if key[0] != "n" or len(ticks) <= 5:
                axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
                axis.set_xticks([], minor=True)
            spacing = {"columnspacing": 1.0, "handletextpad": 0.2, "loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
            axis.legend(fontsize=8, title="fitted exponents", title_fontsize=8, frameon=False, ncols=2, **spacing)
            axis.grid(alpha=0.3)
