"""Intervals around medians, and axes for numbers and sizes of clusters."""

import numpy as np

from pymc_nrm.plots.visuals import hollow, integer_ticks, legend_key, whiskers

OUTER, INNER = {"width": 1.2}, {"width": 4.0, "alpha": 0.45}
# Height, on the log scale, of clusters that a partition lacks.
NONE = 0.5


def interval_tails(ci_prob):
    """Probabilities below the ends of the outer and inner intervals, and below the median."""
    return [(1 - ci_prob) / 2, 0.25, 0.5, 0.75, (1 + ci_prob) / 2]


def draw_intervals(canvas, quantiles, x, color, ci_prob, *, points=dict, coords=None, median="median"):
    """Draw two intervals around each median, given quantiles at the five tails."""
    low, inner_low, middle, inner_high, high = quantiles
    for name, bottom, top, style in (("interval", low, high, OUTER), ("inner_interval", inner_low, inner_high, INNER)):
        canvas.draw(whiskers, name, points(x=x, y_bottom=bottom, y_top=top), coords=coords, color=color, **style)
    canvas.draw("scatter_xy", "median", points(x=x, y=middle), coords=coords, **hollow(color))
    interval_entries(canvas, legend_key(hollow(color)), color, ci_prob, median)


def interval_entries(canvas, point, color, ci_prob, median="median"):
    """Add medians and intervals to the entries of the legend."""
    entries = {
        "median": (median, point),
        "inner_interval": ("50 % interval", {"color": color, **INNER}),
        "interval": (f"{100 * ci_prob:.4g} % interval", {"color": color, **OUTER}),
    }
    canvas.entries += [entry for name, entry in entries.items() if canvas.wants(name)]


def number_axis(canvas, numbers, tallest, data=None, coords=None, most=12):
    """Set the axes for probabilities of numbers of clusters."""
    canvas.axes(
        data,
        coords=coords,
        xticks=integer_ticks(numbers[0], numbers[-1], most),
        xlim=(numbers[0] - 0.7, numbers[-1] + 0.7),
        ylim=(0.0, 1.06 * tallest),
    )


def rank_axis(canvas, n_ranks, data=None, coords=None, most=12):
    """Set the axis for ranks of clusters by size."""
    canvas.axes(data, coords=coords, xticks=integer_ticks(1, n_ranks, most), xlim=(0.4, n_ranks + 0.6))


def log_size_axis(canvas, largest, data=None, coords=None):
    """Set the axis for sizes of clusters on a log scale, with 0 below 1."""
    powers = [10**power * digit for power in range(1 + int(np.log10(largest))) for digit in (1, 2, 5)]
    ticks = [tick for tick in powers if tick <= 1.25 * largest]
    ticks = ticks if len(ticks) <= 8 else [tick for tick in ticks if str(tick)[0] == "1"]
    names = ["0", *map(str, ticks)]
    limits = (0.8 * NONE, 1.25 * largest)
    canvas.axes(data, coords=coords, yscale="log", ylim=limits, yticks=([NONE, *ticks], names))


def on_log_scale(sizes):
    """Heights of sizes on the axis of :func:`log_size_axis`."""
    return np.maximum(sizes, NONE)
