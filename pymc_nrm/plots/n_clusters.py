"""Plots of numbers of clusters: of a partition, and of nodes at each level of a nested partition."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_flag, interval_probability
from pymc_nrm.plots.canvas import BARS, LABELS, LEGEND, LINE, SCATTER, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_axes import OUTER, draw_intervals, interval_tails, number_axis
from pymc_nrm.plots.cluster_points import prior_draws
from pymc_nrm.plots.visuals import CLUSTER_COLORS, CROSS, PRIOR_COLOR, bars, hollow, integer_ticks, whiskers
from pymc_nrm.recipes.elicitation import ElicitedPrior
from pymc_nrm.stats.convergence import sampling_diagnostic
from pymc_nrm.stats.draws import partition_draws
from pymc_nrm.stats.levels import levels
from pymc_nrm.stats.quantities import label_quantities

# The prior is shown without this probability in either tail.
TAIL = 0.005


@options_of_plots({"bars": BARS, "error": LINE, "prior, chains": SCATTER, **LABELS, **LEGEND})
def plot_n_clusters(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    prior: Any = None,
    by_chain: bool = False,
    **options: Any,
) -> PlotCollection:
    """Plot the posterior distribution of the number of clusters, with Monte Carlo errors and the prior.

    Parameters
    ----------
    %(draws)s
    %(var_name)s
    prior : ElicitedPrior, array_like, shape (K,), or DataTree, Dataset or DataArray, optional
        From :func:`~pymc_nrm.elicit`, probabilities of 1, ..., K clusters, or prior draws of the partition.  A DataTree
        is read from its group ``prior``, as from :func:`pymc.sample_prior_predictive`, or else from its posterior.
    by_chain : bool
        Whether to mark the relative frequencies of each chain, which should agree.

    Returns
    -------
    PlotCollection
        Bars are in ``.viz["bars"]``.

    Raises
    ------
    ValueError
        If there is no such partition, `prior` is not a distribution or has another number of items, or a visual is
        unknown.

    Notes
    -----
    Error bars extend by two Monte Carlo standard errors to either side, from the effective sample size of the indicator
    of each number of clusters; chains with fewer than four draws have none.  Numbers that are absent from the posterior
    draws are shown unless they are in a tail of the prior with probability 0.5 %.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_n_clusters
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 1, 2], [0, 0, 1], [0, 1, 1]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = plot_n_clusters(draws, prior=[0.2, 0.5, 0.3], backend="none")
    >>> [float(bar["y"][0]) for bar in pc.viz["bars"]["z"].values]
    [0.0, 0.75, 0.25]
    """
    check_flag("by_chain", by_chain)
    canvas = Canvas(plot_n_clusters, options)
    draws = partition_draws(idata, var_name)
    name, n = draws.name or "partition", draws.shape[2]
    prior = None if prior is None else prior_probabilities(prior, var_name or draws.name, n)
    counts = draws.values.max(axis=2) + 1
    numbers = shown_numbers(counts, prior)
    indicators = (counts[:, :, None] == numbers).astype("float64")
    probability, error = indicators.mean(axis=(0, 1)), sampling_diagnostic("mcse", indicators, method="mean")
    heights = [probability + 2 * np.nan_to_num(error)]

    canvas.create(xr.Dataset({name: ("n_clusters", probability)}, {"n_clusters": numbers}))
    artists = {"bar": len(numbers)}
    canvas.draw(bars, "bars", entry="posterior", artist_dims=artists, color=CLUSTER_COLORS[3])
    if np.isfinite(error).any():
        ends = {"x": numbers, "y_bottom": np.maximum(probability - 2 * error, 0.0), "y_top": probability + 2 * error}
        canvas.draw(whiskers, "error", ends, entry="± 2 Monte Carlo standard errors", color="black", width=1.2)
    if by_chain:
        each = indicators.mean(axis=1)
        x, y = (values[:, probability > 0].ravel() for values in np.broadcast_arrays(numbers, each))
        canvas.draw("scatter_xy", "chains", {"x": x, "y": y}, entry="each chain", **CROSS)
        heights.append(each)
    if prior is not None:
        points = {"x": numbers, "y": prior[numbers - 1]}
        canvas.draw("scatter_xy", "prior", points, entry="prior", **hollow(PRIOR_COLOR, size=28, width=1.5))
        heights.append(points["y"])
    canvas.labels(f"number of clusters of the {n} items", "probability")
    if len(canvas.entries) > 1:
        canvas.legend(loc="outside upper center", ncols=len(canvas.entries))
    number_axis(canvas, numbers, max(height.max() for height in heights))
    return canvas.collection


def prior_probabilities(prior, var_name, n):
    """Probabilities of 1, ..., n clusters, shape (n,), from probabilities or draws."""
    if isinstance(prior, ElicitedPrior):
        if prior.n != n:
            raise ValueError(f"prior must be elicited for the {n} items of the draws; got {prior}")
        return np.pad(prior.pmf, (0, n))[:n]
    if isinstance(prior, xr.DataTree | xr.Dataset | xr.DataArray):
        draws = prior_draws(prior, partition_draws, var_name)
        if draws.shape[2] != n:
            raise ValueError(f"prior must have draws of partitions of {n} items; got {draws.shape[2]}")
        return np.bincount(draws.values.max(axis=2).ravel(), minlength=n) / (draws.shape[0] * draws.shape[1])
    try:
        probabilities = np.asarray(prior, dtype="float64")
    except (TypeError, ValueError):
        raise ValueError(f"prior must hold probabilities or draws; got {type(prior).__name__}") from None
    if probabilities.ndim != 1 or not 1 <= len(probabilities) <= n:
        raise ValueError(
            f"prior must have one dimension and at most {n} probabilities, of 1, ..., {n} clusters; "
            f"got shape {probabilities.shape}"
        )
    if not (probabilities >= 0).all() or abs(probabilities.sum() - 1.0) > 1e-3:
        raise ValueError(f"prior must have probabilities with sum 1; the sum is {probabilities.sum():g}")
    return np.pad(probabilities, (0, n - len(probabilities)))


def shown_numbers(counts, prior):
    """Consecutive numbers of clusters that cover the draws and the bulk of the prior."""
    low, high = counts.min(), counts.max()
    if prior is not None:
        below = np.cumsum(prior)
        low = min(low, 1 + np.searchsorted(below, TAIL))
        high = max(high, 1 + np.searchsorted(below, (1 - TAIL) * below[-1]))
    return np.arange(low, high + 1)


# Horizontal offset of the prior from the posterior, in levels.
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
    """Plot the posterior number of nodes at each level of a nested partition, as intervals around the median.

    Parameters
    ----------
    %(nested_draws)s
    %(nested_name)s
    prior : DataTree, Dataset or DataArray, optional
        Prior draws of the nested partition.  A DataTree is read from its group ``prior``, as from
        :func:`pymc.sample_prior_predictive`, or else from its posterior.
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
    prior_values = prior_draws(prior, levels, var_name or draws.name)
    if prior_values.shape[2:] != draws.shape[2:]:
        raise ValueError(
            f"prior must have draws of {draws.shape[2]} levels of {draws.shape[3]} items; "
            f"got {prior_values.shape[2]} levels of {prior_values.shape[3]}"
        )
    return prior_values
