"""Plot of the distribution of the number of clusters."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_flag
from pymc_nrm.elicitation import ElicitedPrior
from pymc_nrm.plots.canvas import CLUSTER_COLORS, Canvas, backend_marker
from pymc_nrm.plots.visuals import bars, integer_ticks, points_dataset, whiskers
from pymc_nrm.stats.convergence import sampling_diagnostic
from pymc_nrm.stats.draws import partition_draws

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

__all__ = ["plot_n_clusters"]

VISUALS = ("bars", "error", "prior", "chains", "xlabel", "ylabel", "legend")
PRIOR_COLOR = "#b35806"
# The prior is shown without this probability at either end.
TAIL = 0.005


def plot_n_clusters(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    prior: Any = None,
    by_chain: bool = False,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Plot the posterior distribution of the number of clusters, with Monte Carlo errors and the prior.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a partition.
    var_name : str, optional
        Name of the partition; by default the only one.
    prior : ElicitedPrior, array_like, shape (K,), or DataTree, Dataset or DataArray, optional
        From :func:`~pymc_nrm.elicit`, probabilities of 1, ..., K clusters, or prior draws of the partition.  Of a
        DataTree, the group ``prior`` is used, as from :func:`pymc.sample_prior_predictive`, or its posterior if there
        is none.
    by_chain : bool
        Whether to mark the relative frequencies in each chain, which should agree.
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * bars -> ``hist`` of the backend, once for each bar; also ``width``
        * error -> ``line`` of the backend
        * prior -> :func:`arviz_plots.visuals.scatter_xy`
        * chains -> :func:`arviz_plots.visuals.scatter_xy`
        * xlabel, ylabel -> :func:`arviz_plots.visuals.labelled_x`, ``labelled_y``
        * legend -> ``legend`` of the backend
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.grid`.

    Returns
    -------
    PlotCollection
        Bars are in ``.viz["bars"]``.

    Raises
    ------
    ImportError
        If arviz-plots is not installed.
    ValueError
        If there is no such partition, `prior` is not a distribution or is for another number of items, or a visual is
        unknown.

    Notes
    -----
    Error bars extend by two Monte Carlo standard errors to either side, from the effective sample size of the indicator
    of each number of clusters; there are none with fewer than four draws per chain.  Numbers that are absent from the
    posterior draws are shown unless they are in the last 0.5 % of the prior at either end.

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
    draws = partition_draws(idata, var_name)
    name, n = draws.name or "partition", draws.shape[2]
    prior = None if prior is None else prior_probabilities(prior, var_name or draws.name, n)
    canvas = Canvas("plot_n_clusters", VISUALS, visuals, plot_collection, backend)

    counts = draws.values.max(axis=2) + 1
    numbers = shown_numbers(counts, prior)
    indicators = (counts[:, :, None] == numbers).astype("float64")
    probability, error = indicators.mean(axis=(0, 1)), indicator_error(indicators)

    data = xr.Dataset({name: ("n_clusters", probability)}, coords={"n_clusters": numbers})
    canvas.create(data, pc_kwargs, width=1.2, height=2.2)
    canvas.draw(bars, "bars", data, artist_dims={"bar": len(numbers)}, color=CLUSTER_COLORS[3])
    labels, properties = ["posterior"], [{"color": CLUSTER_COLORS[3], "width": 6}]
    if np.isfinite(error).any():
        bottom, top = np.maximum(probability - 2 * error, 0.0), probability + 2 * error
        ends = points_dataset(name, x=numbers, y_bottom=bottom, y_top=top)
        canvas.draw(whiskers, "error", ends, color="black", width=1.2)
        labels.append("± 2 Monte Carlo standard errors")
        properties.append({"color": "black", "width": 1.2})
    each = indicators.mean(axis=1)
    if by_chain:
        x, y = np.broadcast_arrays(numbers, each)
        points = points_dataset(name, x=x[:, probability > 0].ravel(), y=y[:, probability > 0].ravel())
        canvas.draw(
            canvas.visuals.scatter_xy,
            "chains",
            points,
            color="black",
            marker=backend_marker("x", canvas.backend),
            size=25,
            width=1,
        )
        labels.append("each chain")
        properties.append({"color": "black", "marker": "x", "linestyle": "none"})
    if prior is not None:
        points = points_dataset(name, x=numbers, y=prior[numbers - 1])
        style = {"facecolor": "white", "edgecolor": PRIOR_COLOR, "width": 1.5, "size": 28}
        canvas.draw(canvas.visuals.scatter_xy, "prior", points, **style)
        labels.append("prior")
        marker = {"marker": "o", "linestyle": "none", "markerfacecolor": "white"}
        properties.append({"color": PRIOR_COLOR, **marker})
    canvas.label("xlabel", f"number of clusters of the {n} items", data)
    canvas.label("ylabel", "probability", data)
    if len(labels) > 1:
        canvas.legend(labels, properties, loc="outside upper center", ncols=len(labels))
    ticks = integer_ticks(numbers[0], numbers[-1])
    heights = [probability + 2 * np.nan_to_num(error)]
    heights += [each] if by_chain else []
    heights += [] if prior is None else [prior[numbers - 1]]
    tallest = max(height.max() for height in heights)
    canvas.set(canvas.visuals.set_xticks, data, values=ticks, labels=[str(tick) for tick in ticks])
    canvas.set(canvas.visuals.set_xlim, data, limits=(numbers[0] - 0.7, numbers[-1] + 0.7))
    canvas.set(canvas.visuals.set_ylim, data, limits=(0.0, 1.06 * tallest))
    return canvas.collection


def prior_probabilities(prior, var_name, n):
    """Probabilities of 1, ..., n clusters, shape (n,), as given or from draws."""
    if isinstance(prior, ElicitedPrior):
        if prior.n != n:
            raise ValueError(f"prior must be elicited for the {n} items of the draws; got {prior}")
        return np.pad(prior.pmf, (0, n))[:n]
    if isinstance(prior, xr.DataTree | xr.Dataset | xr.DataArray):
        if isinstance(prior, xr.DataTree) and "prior" in prior.children:
            prior = prior["prior"].to_dataset()
        draws = partition_draws(prior, None if isinstance(prior, xr.DataArray) else var_name)
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
    """Consecutive numbers of clusters that cover the draws and the middle of the prior."""
    low, high = counts.min(), counts.max()
    if prior is not None:
        below = np.cumsum(prior)
        low = min(low, 1 + np.searchsorted(below, TAIL))
        high = max(high, 1 + np.searchsorted(below, (1 - TAIL) * below[-1]))
    return np.arange(low, high + 1)


def indicator_error(indicators):
    """Monte Carlo standard errors of probabilities, shape (k,); NaN if they cannot be computed. Shapes: ``indicators``
    (n_chains, n_draws, k).
    """
    error = np.full(indicators.shape[2], np.nan)
    varying = (indicators != indicators[:1, :1]).any(axis=(0, 1))
    if indicators.shape[1] >= 4 and varying.any():
        error[varying] = sampling_diagnostic("mcse", indicators[:, :, varying], method="mean")
    return error
