"""Plot of the parameters of the clusters of a point estimate."""

from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, interval_probability
from pymc_nrm.plots.canvas import LEGEND, LINE, OF_BACKEND, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_axes import INNER, OUTER, interval_entries, interval_tails
from pymc_nrm.plots.cluster_points import Groups, grouped_points
from pymc_nrm.plots.visuals import GREY, cluster_style, grouped_lines
from pymc_nrm.stats.cluster_parameters import cluster_parameters

MAX_PANELS = 30
MAX_CLUSTERS = 32


@options_of_plots(
    {"interval, inner_interval": LINE, "median": "``scatter`` of the backend", "xlabel, ylabel": OF_BACKEND, **LEGEND},
    method="wrap",
)
def plot_cluster_parameters(
    idata: xr.DataTree | xr.Dataset,
    *,
    estimate: Any = None,
    var_names: Any = None,
    var_name: str | None = None,
    ci_prob: Any = None,
    min_size: int = 1,
    **options: Any,
) -> PlotCollection:
    """Plot the posterior distribution of the parameters of each cluster of a point estimate, if labels index them.

    Parameters
    ----------
    %(result)s
    estimate, var_names, var_name
        As for :func:`~pymc_nrm.stats.cluster_parameters`.
    ci_prob
    min_size : int
        Smallest size of a cluster to show.

    Returns
    -------
    PlotCollection
        It has a plot for each parameter, in its dimension ``parameter``.

    Raises
    ------
    ValueError
        If there are more than 30 parameters, all clusters are smaller than ``min_size``, an argument does not fit the
        draws, or a visual is unknown.

    Notes
    -----
    Intervals have equal tails.  The order and colours of clusters, and the markers of medians, are as in
    :func:`~pymc_nrm.plots.plot_clusters`; clusters after the 32nd are omitted.

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
    canvas = Canvas(plot_cluster_parameters, options)
    ci_prob = interval_probability(ci_prob, 0.5)
    parameters = cluster_parameters(idata, estimate, var_names, var_name=var_name)
    cluster = next(iter(parameters.values())).dims[2]
    [sizes] = [
        coord.values for name, coord in parameters.coords.items() if coord.dims == (cluster,) and name != cluster
    ]
    n_shown = min(int((sizes >= min_size).sum()), MAX_CLUSTERS)
    if n_shown == 0:
        raise ValueError(f"min_size must be at most the size of the largest cluster, {sizes[0]}; got {min_size}")
    draws = _panels(parameters.isel({cluster: slice(n_shown)}))
    if len(draws) > MAX_PANELS:
        raise ValueError(
            f"var_names must name at most {MAX_PANELS} parameters to plot; got {len(draws)}: {list(draws)}"
        )
    # Axes: tail, parameter, cluster.
    quantiles = np.stack([np.quantile(values, interval_tails(ci_prob), axis=0) for values in draws.values()], axis=1)
    names, places = list(draws), np.arange(n_shown)
    n_columns = min(len(names), 3)

    canvas.create(
        _dataset(names, quantiles[[2]], places).isel(corner=0),
        width=0.4 + 0.5 * n_columns,
        height=0.5 + 1.5 * -(-len(names) // n_columns),
        figure_kwargs={"sharex": True},
        cols=["parameter"],
        col_wrap=n_columns,
    )
    styles, artists = [cluster_style(k)[0] for k in range(n_shown)], {"cluster": n_shown}
    for name, ends, style in (("interval", [0, 4], OUTER), ("inner_interval", [1, 3], INNER)):
        lines = _dataset(names, quantiles[ends], places)
        canvas.draw(grouped_lines, name, lines, artist_dims=artists, styles=styles, **{"alpha": 1.0, **style})
    points = {"data": canvas.data.rename(cluster="item"), "groups": Groups(places, n_shown), "size": 40}
    canvas.draw(grouped_points, "median", artist_dims={"group": n_shown}, **points)
    interval_entries(canvas, {"color": GREY, "marker": "o", "linestyle": "none"}, GREY, ci_prob)
    text = "label and size of the cluster"
    across = dict.fromkeys(names[(len(names) - 1) // n_columns * n_columns :], text)
    canvas.label("xlabel", across | {names[-1]: text + _left_out(sizes[n_shown:])}, by=["parameter"])
    canvas.label("ylabel", {name: name for name in names}, by=["parameter"])
    canvas.legend(loc="outside upper center", ncols=3)
    ticks = [f"{label}\n{size}" for label, size in zip(parameters[cluster].values, sizes[:n_shown], strict=False)]
    canvas.axes(xticks=(places, ticks), xlim=(-0.6, n_shown - 0.4))
    return canvas.collection


def _panels(parameters):
    """Draws of each scalar parameter, shape (n_draws, n_clusters), keyed by its name."""
    panels = {}
    for name, array in parameters.data_vars.items():
        dims = array.dims[3:]
        coords = [array[dim].values if dim in array.coords else np.arange(array.sizes[dim]) for dim in dims]
        for places in product(*(range(len(values)) for values in coords)):
            which = ", ".join(str(values[place]) for values, place in zip(coords, places, strict=True))
            values = array.values[(..., *places)] if places else array.values
            panels[f"{name}[{which}]" if places else str(name)] = values.reshape(-1, array.shape[2])
    return panels


def _dataset(names, heights, places):
    """Points above the positions of clusters, dims (parameter, cluster, plot_axis, corner), from corner heights."""
    y = np.moveaxis(heights, 0, -1)
    x = np.broadcast_to(places[:, None], y.shape)
    dims = ("parameter", "cluster", "plot_axis", "corner")
    return xr.Dataset({"value": (dims, np.stack([x, y], axis=2))}, {"parameter": names, "plot_axis": ["x", "y"]})


def _left_out(sizes):
    """Text about clusters that are not shown, for the axis label; empty if all are shown."""
    if len(sizes) == 0:
        return ""
    clusters = "clusters" if len(sizes) > 1 else "cluster"
    span = f"{sizes[-1]}" if sizes[-1] == sizes[0] else f"{sizes[-1]} to {sizes[0]}"
    return f"\nnot shown: {len(sizes)} {clusters} of {span} item{'s' if sizes[0] > 1 else ''}"
