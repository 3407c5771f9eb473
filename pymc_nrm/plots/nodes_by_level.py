"""Picture of the number of nodes at each level of a nested partition."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_flag, interval_probability
from pymc_nrm.plots.canvas import Canvas
from pymc_nrm.plots.cluster_axes import OUTER, draw_intervals, interval_tails
from pymc_nrm.plots.cluster_points import prior_draws
from pymc_nrm.plots.options import LABELS, LEGEND, LINE, SCATTER, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import CLUSTER_COLORS, CROSS, PRIOR_COLOR, hollow, integer_ticks, whiskers
from pymc_nrm.stats.nested.levels import levels
from pymc_nrm.stats.quantities import label_quantities

# Distance of the prior from the posterior, in levels.
SHIFT = 0.14


@options_of_plots(
    {"interval, inner_interval, prior": LINE, "median, prior_median, chains": SCATTER, **LABELS, **LEGEND}
)
def plot_nodes_by_level(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    prior: Any = None,
    ci_prob: Any = None,
    by_chain: bool = False,
    **options: Any,
) -> PlotCollection:
    """Plot the posterior of the number of nodes at each level of a nested partition, as intervals around the median.

    Parameters
    ----------
    %(nested_draws)s
    %(nested_name)s
    prior : DataTree, Dataset or DataArray, optional
        Prior draws of the nested partition.  Of a DataTree, the group ``prior`` is used, as from
        :func:`pymc.sample_prior_predictive`, or its posterior if there is none.
    ci_prob
    by_chain : bool
        Whether to mark the mean of each chain, which should agree.

    Returns
    -------
    PlotCollection
        Medians are in ``.viz["median"]``.

    Raises
    ------
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
    canvas = Canvas(plot_nodes_by_level, options)
    ci_prob = interval_probability(ci_prob, 0.5)
    draws = levels(idata, var_name)
    counts = label_quantities(draws)["n_nodes"].values
    quantiles = _quantiles(counts, ci_prob)
    numbers = np.arange(1, counts.shape[2] + 1)
    x, tops = numbers if prior is None else numbers - SHIFT, [quantiles[-1].max()]

    canvas.create(xr.Dataset({draws.name or "partition": ("level", quantiles[2])}, {"level": numbers}), width=1.0)
    draw_intervals(canvas, quantiles, x, CLUSTER_COLORS[0], ci_prob)
    if by_chain:
        means = counts.mean(axis=1)
        points = {"x": np.broadcast_to(x, means.shape).ravel(), "y": means.ravel()}
        canvas.draw("scatter_xy", "chains", points, entry="mean of each chain", **CROSS)
    if prior is not None:
        before = label_quantities(_prior_draws(prior, var_name, draws))["n_nodes"].values
        low, _, median, _, high = _quantiles(before, ci_prob)
        ends = {"x": numbers + SHIFT, "y_bottom": low, "y_top": high}
        canvas.draw(whiskers, "prior", ends, color=PRIOR_COLOR, **OUTER)
        canvas.draw("scatter_xy", "prior_median", {"x": numbers + SHIFT, "y": median}, **hollow(PRIOR_COLOR))
        key = {"color": PRIOR_COLOR, **OUTER, "marker": "o", "markerfacecolor": "white"}
        canvas.entries.append((f"prior, {100 * ci_prob:.4g} %", key))
        tops.append(high.max())
    canvas.labels("level", f"number of nodes of the {draws.shape[3]} items")
    canvas.legend(loc="outside upper center", ncols=3)
    canvas.axes(
        xticks=numbers,
        xlim=(0.5, numbers[-1] + 0.5),
        ylim=(0.0, 1.06 * max(tops)),
        yticks=integer_ticks(0, max(tops), most=10),
    )
    return canvas.collection


def _quantiles(counts, ci_prob):
    """Ends of the intervals and median of each level, shape (5, L)."""
    rows = counts.reshape(-1, counts.shape[2])
    return np.quantile(rows, interval_tails(ci_prob), axis=0, method="inverted_cdf").astype("float64")


def _prior_draws(prior, var_name, draws):
    found = prior_draws(prior, levels, var_name or draws.name)
    if found.shape[2:] != draws.shape[2:]:
        raise ValueError(
            f"prior must have draws of {draws.shape[2]} levels of {draws.shape[3]} items; "
            f"got {found.shape[2]} levels of {found.shape[3]}"
        )
    return found
