"""Picture of the parameters of the clusters of a point estimate."""

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, check_probability
from pymc_nrm.plots.canvas import GREY, Canvas
from pymc_nrm.plots.cluster_points import Groups, grouped_points, panel_text
from pymc_nrm.plots.ellipses import grouped_lines
from pymc_nrm.plots.estimates import cluster_style
from pymc_nrm.stats.cluster_parameters import cluster_parameters

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

__all__ = ["plot_cluster_parameters"]

VISUALS = ("interval", "inner_interval", "median", "xlabel", "ylabel", "legend")
MAX_PANELS = 30
MAX_CLUSTERS = 32


def plot_cluster_parameters(
    idata: xr.DataTree | xr.Dataset,
    *,
    estimate: Any = None,
    var_names: Any = None,
    var_name: str | None = None,
    ci_prob: Any = None,
    min_size: int = 1,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Plot the posterior distribution of each parameter in each cluster of a point estimate, where labels are indices.

    Parameters
    ----------
    idata : DataTree or Dataset
        Result of sampling, or its group ``posterior``.
    estimate, var_names, var_name
        As for :func:`~pymc_nrm.cluster_parameters`.
    ci_prob : float, optional
        Probability of the outer intervals, between 0.5 and 1; by default ``arviz_base.rcParams["stats.ci_prob"]``.
        The inner ones have probability 0.5.
    min_size : int
        Smallest size of the clusters to show.
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * interval, inner_interval -> ``line`` of the backend
        * median -> ``scatter`` of the backend
        * xlabel, ylabel -> ``xlabel``, ``ylabel`` of the backend
        * legend -> ``legend`` of the backend
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    PlotCollection
        It has a plot for each parameter, in its dimension ``parameter``.

    Raises
    ------
    ImportError
        If arviz-plots is not installed.
    ValueError
        If there are more than 30 parameters, no cluster is as large as ``min_size``, an argument does not fit the
        draws, or a visual is unknown.

    Notes
    -----
    Intervals have equal tails.  Clusters come in the order, with the colours and, for the medians, the markers of
    :func:`~pymc_nrm.plots.plot_clusters`; clusters after the 32nd are left out.

    Examples
    --------
    >>> from pymc_nrm.plots import plot_cluster_parameters
    >>> sample = ("chain", "draw")
    >>> posterior = xr.Dataset({
    ...     "z": ((*sample, "item"), [[[2, 2, 0], [0, 0, 1]]], {"partition": "z"}),
    ...     "slope": ((*sample, "slot"), [[[5.0, 0.3, 1.0], [1.2, 5.2, 9.9]]], {"slots_of": "z"}),
    ... })
    >>> pc = plot_cluster_parameters(posterior, estimate=[0, 0, 1], backend="none")
    >>> [point["y"].tolist() for point in pc.viz["median"]["value"].sel(parameter="slope").values]
    [[1.1], [5.1]]
    """
    check_count("min_size", min_size, 1)
    if ci_prob is not None:
        check_probability(ci_prob, 0.5, name="ci_prob")
    parameters = cluster_parameters(idata, estimate, var_names, var_name=var_name)
    sizes = parameters["size"].values
    n_shown = min(int((sizes >= min_size).sum()), MAX_CLUSTERS)
    if n_shown == 0:
        raise ValueError(f"min_size must be at most the size of the largest cluster, {sizes[0]}; got {min_size}")
    draws = _panels(parameters.isel(cluster=slice(n_shown)))
    if len(draws) > MAX_PANELS:
        raise ValueError(
            f"var_names must name at most {MAX_PANELS} parameters to plot; got {len(draws)}: {list(draws)}"
        )
    canvas = Canvas("plot_cluster_parameters", VISUALS, visuals, plot_collection, backend)
    if ci_prob is None:
        from arviz_base import rcParams

        ci_prob = max(rcParams["stats.ci_prob"], 0.5)
    tails = [(1 - ci_prob) / 2, 0.25, 0.5, 0.75, (1 + ci_prob) / 2]
    quantiles = np.stack([np.quantile(values, tails, axis=0) for values in draws.values()])

    names, places = list(draws), np.arange(n_shown)
    n_columns = min(len(names), 3)
    data = _dataset(names, [quantiles[:, 2]], places).isel(corner=0)
    canvas.create(
        data,
        pc_kwargs,
        width=0.4 + 0.5 * n_columns,
        height=0.5 + 1.5 * -(-len(names) // n_columns),
        figure_kwargs={"sharex": True},
        cols=["parameter"],
        col_wrap=n_columns,
    )
    styles = [cluster_style(k)[0] for k in range(n_shown)]
    for name, low, high, width, alpha in (("interval", 0, 4, 1.2, 1.0), ("inner_interval", 1, 3, 4.0, 0.45)):
        ends = _dataset(names, [quantiles[:, low], quantiles[:, high]], places)
        line = {"styles": styles, "width": width, "alpha": alpha}
        canvas.draw(grouped_lines, name, ends, artist_dims={"cluster": n_shown}, **line)
    points = data.rename(cluster="item")
    canvas.draw(
        grouped_points, "median", points, artist_dims={"group": n_shown}, groups=Groups(places, n_shown), size=40
    )
    text = "label and size of the cluster"
    across = {(name,): text for name in names[(len(names) - 1) // n_columns * n_columns :]}
    across[(names[-1],)] = text + _left_out(sizes[n_shown:])
    canvas.draw(panel_text, "xlabel", data, texts=across, dims=("parameter",), kind="xlabel")
    upwards = {(name,): name for name in names}
    canvas.draw(panel_text, "ylabel", data, texts=upwards, dims=("parameter",), kind="ylabel")
    canvas.legend(
        ["median", "50 % interval", f"{100 * ci_prob:.4g} % interval"],
        [
            {"color": GREY, "marker": "o", "linestyle": "none"},
            {"color": GREY, "width": 4.0, "alpha": 0.45},
            {"color": GREY, "width": 1.2},
        ],
        loc="outside upper center",
        ncols=3,
    )
    ticks = [f"{label}\n{size}" for label, size in zip(parameters["cluster"].values, sizes[:n_shown], strict=False)]
    canvas.set(canvas.visuals.set_xticks, data, values=places, labels=ticks)
    canvas.set(canvas.visuals.set_xlim, data, limits=(-0.6, n_shown - 0.4))
    return canvas.collection


def _panels(parameters):
    """Draws of each scalar parameter, shape (n_draws, n_clusters), by its name."""
    panels = {}
    for name, array in parameters.data_vars.items():
        dims = array.dims[3:]
        coords = [array[dim].values if dim in array.coords else np.arange(array.sizes[dim]) for dim in dims]
        for places in product(*(range(len(values)) for values in coords)):
            which = ", ".join(str(values[place]) for values, place in zip(coords, places, strict=True))
            values = array.values[(..., *places)] if places else array.values
            panels[f"{name}[{which}]" if places else str(name)] = values.reshape(-1, array.sizes["cluster"])
    return panels


def _dataset(names, heights, places):
    """Points above the places of clusters, dims (parameter, cluster, plot_axis, corner)."""
    y = np.stack(heights, axis=-1)
    x = np.broadcast_to(places[:, None], y.shape)
    coords = {"parameter": names, "plot_axis": ["x", "y"]}
    return xr.Dataset({"value": (("parameter", "cluster", "plot_axis", "corner"), np.stack([x, y], axis=2))}, coords)


def _left_out(sizes):
    """What is not shown, for the name of the axis; empty if all is."""
    if len(sizes) == 0:
        return ""
    clusters = "clusters" if len(sizes) > 1 else "cluster"
    span = f"{sizes[-1]}" if sizes[-1] == sizes[0] else f"{sizes[-1]} to {sizes[0]}"
    return f"\nnot shown: {len(sizes)} {clusters} of {span} item{'s' if sizes[0] > 1 else ''}"
