"""Picture of the number of nodes at each level of a nested partition."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_flag, check_probability
from pymc_nrm.plots.canvas import CLUSTER_COLORS, Canvas, backend_marker
from pymc_nrm.plots.visuals import integer_ticks, points_dataset, set_yticks, whiskers
from pymc_nrm.stats.nested.levels import levels
from pymc_nrm.stats.nested.quantities import quantities_of_levels

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

__all__ = ["plot_nodes_by_level"]

VISUALS = ("interval", "inner_interval", "median", "prior", "prior_median", "chains", "xlabel", "ylabel", "legend")
COLOR, PRIOR_COLOR = CLUSTER_COLORS[0], "#b35806"
# Distance of the prior from the posterior, in levels.
SHIFT = 0.14


def plot_nodes_by_level(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    prior: Any = None,
    ci_prob: Any = None,
    by_chain: bool = False,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Plot the posterior of the number of nodes at each level of a nested partition, as intervals around the median.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a nested partition, as :func:`~pymc_nrm.stats.levels` reads them.
    var_name : str, optional
        Name of the nested partition; by default the only one.
    prior : DataTree, Dataset or DataArray, optional
        Prior draws of the nested partition.  Of a DataTree, the group ``prior`` is used, as from
        :func:`pymc.sample_prior_predictive`, or its posterior if there is none.
    ci_prob : float, optional
        Probability of the wide intervals, from 1/2 to less than 1; by default ``arviz_base.rcParams["stats.ci_prob"]``.
    by_chain : bool
        Whether to mark the mean of each chain, which should agree.
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * interval, inner_interval, prior -> ``line`` of the backend
        * median, prior_median, chains -> :func:`arviz_plots.visuals.scatter_xy`
        * xlabel, ylabel -> :func:`arviz_plots.visuals.labelled_x`, ``labelled_y``
        * legend -> ``legend`` of the backend
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.grid`.

    Returns
    -------
    PlotCollection
        Medians are in ``.viz["median"]``.

    Raises
    ------
    ImportError
        If arviz-plots is not installed.
    ValueError
        If there is no such nested partition, `ci_prob` is out of range, `prior` has another number of levels or
        items, or a visual is unknown.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_nodes_by_level
    >>> h = xr.DataArray([[[[0, 0], [0, 1], [1, 2]]]], dims=("chain", "draw", "item", "level"), name="h")
    >>> pc = plot_nodes_by_level(h, backend="none")
    >>> pc.viz["median"]["h"].item()["y"].tolist()
    [2.0, 3.0]
    """
    check_flag("by_chain", by_chain)
    if ci_prob is not None:
        check_probability(ci_prob, 0.5, name="ci_prob")
    draws = levels(idata, var_name)
    prior_draws = None if prior is None else _prior_draws(prior, var_name, draws)
    name = draws.name or "partition"
    canvas = Canvas("plot_nodes_by_level", VISUALS, visuals, plot_collection, backend)
    if ci_prob is None:
        from arviz_base import rcParams

        ci_prob = max(rcParams["stats.ci_prob"], 0.5)
    counts = quantities_of_levels(draws)["n_nodes"].values
    numbers = np.arange(1, counts.shape[2] + 1)
    low, inner_low, median, inner_high, high = _quantiles(counts, ci_prob)

    data = xr.Dataset({name: ("level", median)}, coords={"level": numbers})
    canvas.create(data, pc_kwargs, width=1.0, height=2.2)
    x = numbers if prior is None else numbers - SHIFT
    canvas.draw(whiskers, "interval", points_dataset(name, x=x, y_bottom=low, y_top=high), color=COLOR, width=1.2)
    inner = points_dataset(name, x=x, y_bottom=inner_low, y_top=inner_high)
    canvas.draw(whiskers, "inner_interval", inner, color=COLOR, width=4.0, alpha=0.45)
    style = {"facecolor": "white", "edgecolor": COLOR, "size": 24, "width": 1.3}
    canvas.draw(canvas.visuals.scatter_xy, "median", points_dataset(name, x=x, y=median), **style)
    marker = {"marker": "o", "linestyle": "none", "markerfacecolor": "white"}
    labels = ["median", "50 % interval", f"{100 * ci_prob:.4g} % interval"]
    entries = [
        {"color": COLOR, **marker},
        {"color": COLOR, "width": 4.0, "alpha": 0.45},
        {"color": COLOR, "width": 1.2},
    ]
    tops = [high.max()]
    if by_chain:
        means = counts.mean(axis=1)
        points = points_dataset(name, x=np.broadcast_to(x, means.shape).ravel(), y=means.ravel())
        style = {"color": "black", "marker": backend_marker("x", canvas.backend), "size": 25, "width": 1}
        canvas.draw(canvas.visuals.scatter_xy, "chains", points, **style)
        labels.append("mean of each chain")
        entries.append({"color": "black", "marker": "x", "linestyle": "none"})
    if prior_draws is not None:
        low, _, median, _, high = _quantiles(quantities_of_levels(prior_draws)["n_nodes"].values, ci_prob)
        ends = points_dataset(name, x=numbers + SHIFT, y_bottom=low, y_top=high)
        canvas.draw(whiskers, "prior", ends, color=PRIOR_COLOR, width=1.2)
        style = {"facecolor": "white", "edgecolor": PRIOR_COLOR, "size": 24, "width": 1.3}
        points = points_dataset(name, x=numbers + SHIFT, y=median)
        canvas.draw(canvas.visuals.scatter_xy, "prior_median", points, **style)
        labels.append(f"prior, {100 * ci_prob:.4g} %")
        entries.append({"color": PRIOR_COLOR, "width": 1.2, "marker": "o", "markerfacecolor": "white"})
        tops.append(high.max())
    canvas.label("xlabel", "level", data)
    canvas.label("ylabel", f"number of nodes of the {draws.shape[3]} items", data)
    canvas.legend(labels, entries, loc="outside upper center", ncols=3)
    canvas.set(canvas.visuals.set_xticks, data, values=numbers, labels=[str(k) for k in numbers])
    canvas.set(canvas.visuals.set_xlim, data, limits=(0.5, numbers[-1] + 0.5))
    ticks = integer_ticks(0, max(tops), most=10)
    canvas.set(canvas.visuals.set_ylim, data, limits=(0.0, 1.06 * max(tops)))
    canvas.set(set_yticks, data, values=ticks, labels=[str(tick) for tick in ticks])
    return canvas.collection


def _quantiles(counts, ci_prob):
    """Ends of the intervals and median of each level, shape (5, L)."""
    tails = [(1 - ci_prob) / 2, 0.25, 0.5, 0.75, (1 + ci_prob) / 2]
    rows = counts.reshape(-1, counts.shape[2])
    return np.quantile(rows, tails, axis=0, method="inverted_cdf").astype("float64")


def _prior_draws(prior, var_name, draws):
    if isinstance(prior, xr.DataTree) and "prior" in prior.children:
        prior = prior["prior"].to_dataset()
    found = levels(prior, None if isinstance(prior, xr.DataArray) else var_name or draws.name)
    if found.shape[2:] != draws.shape[2:]:
        raise ValueError(
            f"prior must have draws of {draws.shape[2]} levels of {draws.shape[3]} items; "
            f"got {found.shape[2]} levels of {found.shape[3]}"
        )
    return found
