"""Picture of the sizes of clusters, the largest first; intervals, and axes of numbers and sizes of clusters."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag, check_probability
from pymc_nrm.plots.canvas import LABELS, LEGEND, LINE, SCATTER, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import CLUSTER_COLORS, hollow, integer_ticks, legend_key, whiskers
from pymc_nrm.stats.contingency import cluster_sizes
from pymc_nrm.stats.draws import partition_draws, stack_draws

OUTER, INNER = {"width": 1.2}, {"width": 4.0, "alpha": 0.45}
# Height on a log scale of clusters that a partition does not have.
NONE = 0.5


def interval_probability(ci_prob, least=0.5):
    """The argument ``ci_prob`` of a plot; None is the setting of ArviZ."""
    if ci_prob is None:
        from arviz_base import rcParams

        return max(rcParams["stats.ci_prob"], least)
    check_probability(ci_prob, least, name="ci_prob")
    return ci_prob


def interval_tails(ci_prob):
    """Probabilities below the ends of the outer and inner intervals and below the median."""
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
    """Axes of probabilities of numbers of clusters."""
    canvas.axes(
        data,
        coords=coords,
        xticks=integer_ticks(numbers[0], numbers[-1], most),
        xlim=(numbers[0] - 0.7, numbers[-1] + 0.7),
        ylim=(0.0, 1.06 * tallest),
    )


def rank_axis(canvas, n_ranks, data=None, coords=None, most=12):
    """Axis of ranks of clusters by size."""
    canvas.axes(data, coords=coords, xticks=integer_ticks(1, n_ranks, most), xlim=(0.4, n_ranks + 0.6))


def log_size_axis(canvas, largest, data=None, coords=None):
    """Axis of sizes of clusters on a log scale, with 0 below 1."""
    powers = [10**power * digit for power in range(1 + int(np.log10(largest))) for digit in (1, 2, 5)]
    ticks = [tick for tick in powers if tick <= 1.25 * largest]
    ticks = ticks if len(ticks) <= 8 else [tick for tick in ticks if str(tick)[0] == "1"]
    names = ["0", *map(str, ticks)]
    limits = (0.8 * NONE, 1.25 * largest)
    canvas.axes(data, coords=coords, yscale="log", ylim=limits, yticks=([NONE, *ticks], names))


def on_log_scale(sizes):
    """Heights of sizes on that axis."""
    return np.maximum(sizes, NONE)


@options_of_plots({"interval, inner_interval": LINE, "median": SCATTER, **LABELS, **LEGEND})
def plot_cluster_sizes(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    ci_prob: Any = None,
    log: bool = False,
    max_rank: int | None = None,
    **options: Any,
) -> PlotCollection:
    """Plot the posterior distribution of the size of the largest cluster, of the second largest, and so on.

    Parameters
    ----------
    %(draws)s
    %(var_name)s
    ci_prob
    log : bool
        Whether sizes are on a log scale, with 0 below 1.
    max_rank : int, optional
        Last rank to show, if any interval reaches that far; by default the last one that at least half of the draws
        have.  The label of the axis says how many ranks are left out and what share of the items they hold.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ValueError
        If there is no such partition, an argument is out of range, or a visual is unknown.

    Notes
    -----
    Intervals have equal tails.  A cluster that a draw does not have counts as one of size 0.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_cluster_sizes
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 1, 2], [0, 0, 1]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = plot_cluster_sizes(draws, backend="none")
    >>> pc.viz["median"]["z"].item()["y"].tolist()
    [2.0, 1.0]
    """
    check_count("max_rank", max_rank, 1, optional=True)
    check_flag("log", log)
    canvas = Canvas(plot_cluster_sizes, options)
    ci_prob = interval_probability(ci_prob)
    draws = partition_draws(idata, var_name)
    sizes = cluster_sizes(stack_draws(draws))
    quantiles = np.quantile(sizes, interval_tails(ci_prob), axis=0, method="inverted_cdf")
    last = int((quantiles[2] > 0).sum()) if max_rank is None else min(max_rank, int((quantiles[-1] > 0).sum()))
    ranks = np.arange(1, max(last, 1) + 1)
    quantiles = quantiles[:, : len(ranks)].astype("float64")
    quantiles = on_log_scale(quantiles) if log else quantiles
    largest = quantiles[-1].max()

    canvas.create(xr.Dataset({draws.name or "partition": ("rank", quantiles[2])}, {"rank": ranks}))
    draw_intervals(canvas, quantiles, ranks, CLUSTER_COLORS[0], ci_prob)
    canvas.labels("rank of the cluster by size" + _left_out(sizes, len(ranks)), f"size (items, of {draws.shape[2]})")
    canvas.legend(loc="outside upper center", ncols=3)
    rank_axis(canvas, len(ranks))
    if log:
        log_size_axis(canvas, largest)
    else:
        canvas.axes(ylim=(-0.02 * largest, 1.04 * largest))
    return canvas.collection


def _left_out(sizes, n_shown):
    """What the ranks that are not shown hold, for the label of their axis; empty if all are shown."""
    n_left = sizes.shape[1] - n_shown
    if n_left == 0:
        return ""
    share = 100 * sizes[:, n_shown:].sum() / sizes.sum()
    ranks, hold = ("ranks", "hold") if n_left > 1 else ("rank", "holds")
    return f"\n{n_left} more {ranks}, not shown, {hold} {share:.2g} % of the items"
