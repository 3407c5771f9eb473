"""Plot of the sizes of clusters, the largest first."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag, interval_probability
from pymc_nrm.plots.canvas import LABELS, LEGEND, LINE, SCATTER, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_axes import (
    draw_intervals,
    interval_tails,
    log_size_axis,
    on_log_scale,
    rank_axis,
)
from pymc_nrm.plots.visuals import CLUSTER_COLORS
from pymc_nrm.stats.contingency import cluster_sizes
from pymc_nrm.stats.draws import partition_draws, stack_draws


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
    """Plot the posterior distributions of the sizes of the largest cluster, the second largest, and so on.

    Parameters
    ----------
    %(draws)s
    %(var_name)s
    ci_prob
    log : bool
        Whether sizes are on a log scale, with 0 below 1.
    max_rank : int, optional
        Last rank to show, if any interval extends that far; by default the last rank that at least half of the draws
        have.  The axis label says how many ranks are omitted and what share of the items they hold.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ValueError
        If there is no such partition, an argument is out of range, or a visual is unknown.

    Notes
    -----
    Intervals have equal tails.  If a draw lacks a cluster of some rank, its size counts as 0.

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
    ci_prob = interval_probability(ci_prob, 0.5)
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
    """Text about the ranks that are not shown, for the axis label; empty if all are shown."""
    n_left = sizes.shape[1] - n_shown
    if n_left == 0:
        return ""
    share = 100 * sizes[:, n_shown:].sum() / sizes.sum()
    ranks, hold = ("ranks", "hold") if n_left > 1 else ("rank", "holds")
    return f"\n{n_left} more {ranks}, not shown, {hold} {share:.2g} % of the items"
