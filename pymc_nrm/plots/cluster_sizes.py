"""Picture of the sizes of clusters, the largest first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag, check_probability
from pymc_nrm.plots.canvas import CLUSTER_COLORS, Canvas
from pymc_nrm.plots.visuals import integer_ticks, points_dataset, set_yticks, whiskers
from pymc_nrm.stats.diagnostics import cluster_sizes
from pymc_nrm.stats.draws import partition_draws, stack_draws

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

__all__ = ["plot_cluster_sizes"]

VISUALS = ("interval", "inner_interval", "median", "xlabel", "ylabel", "legend")
# Height on a log scale of clusters that a draw does not have.
NONE = 0.5


def plot_cluster_sizes(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    ci_prob: Any = None,
    log: bool = False,
    max_rank: int | None = None,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Plot the posterior distribution of the size of the largest cluster, of the second largest, and so on.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a partition.
    var_name : str, optional
        Name of the partition; by default the only one.
    ci_prob : float, optional
        Probability of the outer intervals, between 0.5 and 1; by default ``arviz_base.rcParams["stats.ci_prob"]``.
        The inner ones have probability 0.5.
    log : bool
        Whether sizes are on a log scale, with 0 below 1.
    max_rank : int, optional
        Last rank to show, if any interval reaches that far; by default the last one that at least half of the draws
        have.  The label of the axis says how many ranks are left out and what share of the items they hold.
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * interval, inner_interval -> ``line`` of the backend
        * median -> :func:`arviz_plots.visuals.scatter_xy`
        * xlabel, ylabel -> :func:`arviz_plots.visuals.labelled_x`, ``labelled_y``
        * legend -> ``legend`` of the backend
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.grid`.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ImportError
        If arviz-plots is not installed.
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
    if max_rank is not None:
        check_count("max_rank", max_rank, 1)
    check_flag("log", log)
    if ci_prob is not None:
        check_probability(ci_prob, 0.5, name="ci_prob")
    draws = partition_draws(idata, var_name)
    name, n = draws.name or "partition", draws.shape[2]
    canvas = Canvas("plot_cluster_sizes", VISUALS, visuals, plot_collection, backend)
    if ci_prob is None:
        from arviz_base import rcParams

        ci_prob = max(rcParams["stats.ci_prob"], 0.5)
    sizes = cluster_sizes(stack_draws(draws))
    tails = [(1 - ci_prob) / 2, 0.25, 0.5, 0.75, (1 + ci_prob) / 2]
    quantiles = np.quantile(sizes, tails, axis=0, method="inverted_cdf")
    last = int((quantiles[2] > 0).sum()) if max_rank is None else min(max_rank, int((quantiles[-1] > 0).sum()))
    ranks = np.arange(1, max(last, 1) + 1)
    quantiles = quantiles[:, : len(ranks)].astype("float64")
    low, inner_low, median, inner_high, high = np.maximum(quantiles, NONE) if log else quantiles

    data = xr.Dataset({name: ("rank", median)}, coords={"rank": ranks})
    canvas.create(data, pc_kwargs, width=1.2, height=2.2)
    outer = points_dataset(name, x=ranks, y_bottom=low, y_top=high)
    inner = points_dataset(name, x=ranks, y_bottom=inner_low, y_top=inner_high)
    dots = points_dataset(name, x=ranks, y=median)
    color = CLUSTER_COLORS[0]
    canvas.draw(whiskers, "interval", outer, color=color, width=1.2)
    canvas.draw(whiskers, "inner_interval", inner, color=color, width=4.0, alpha=0.45)
    style = {"facecolor": "white", "edgecolor": color, "size": 24, "width": 1.3}
    canvas.draw(canvas.visuals.scatter_xy, "median", dots, **style)
    canvas.label("xlabel", "rank of the cluster by size" + _left_out(sizes, len(ranks)), data)
    canvas.label("ylabel", f"size (items, of {n})", data)
    canvas.legend(
        ["median", "50 % interval", f"{100 * ci_prob:.4g} % interval"],
        [
            {"color": color, "marker": "o", "linestyle": "none", "markerfacecolor": "white"},
            {"color": color, "width": 4.0, "alpha": 0.45},
            {"color": color, "width": 1.2},
        ],
        loc="outside upper center",
        ncols=3,
    )
    ticks = integer_ticks(1, ranks[-1])
    canvas.set(canvas.visuals.set_xticks, data, values=ticks, labels=[str(tick) for tick in ticks])
    canvas.set(canvas.visuals.set_xlim, data, limits=(0.4, ranks[-1] + 0.6))
    if log:
        canvas.set(canvas.visuals.set_yscale, data, scale="log")
        canvas.set(canvas.visuals.set_ylim, data, limits=(0.8 * NONE, 1.25 * high.max()))
        ticks = [10**power * digit for power in range(1 + int(np.log10(high.max()))) for digit in (1, 2, 5)]
        ticks = [tick for tick in ticks if tick <= 1.25 * high.max()]
        names = ["0", *(str(tick) for tick in ticks)]
        canvas.set(set_yticks, data, values=[NONE, *ticks], labels=names)
    else:
        canvas.set(canvas.visuals.set_ylim, data, limits=(-0.02 * high.max(), 1.04 * high.max()))
    return canvas.collection


def _left_out(sizes, n_shown):
    """What the ranks that are not shown hold, for the label of their axis; empty if all are shown."""
    n_left = sizes.shape[1] - n_shown
    if n_left == 0:
        return ""
    share = 100 * sizes[:, n_shown:].sum() / sizes.sum()
    ranks, hold = ("ranks", "hold") if n_left > 1 else ("rank", "holds")
    return f"\n{n_left} more {ranks}, not shown, {hold} {share:.2g} % of the items"
