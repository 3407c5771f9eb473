"""Trace plots of partitions, by quantities that do not depend on the names of clusters."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.plots.canvas import CLUSTER_COLORS, Canvas
from pymc_nrm.stats.diagnostics import GROUP
from pymc_nrm.stats.quantities import SCALARS, partition_quantities

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

__all__ = ["plot_partition_trace"]

VISUALS = ("trace", "distribution", "xlabel", "xlabel_distribution", "ylabel", "legend")
NAMES = {
    "n_clusters": "number of\nclusters",
    "entropy": "entropy\n(nats)",
    "largest_cluster": "largest cluster\n(items)",
    "log_joint": "log joint\ndensity",
}
N_BINS = 30


def plot_partition_trace(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Plot traces of a partition: quantities of each draw, and their distribution in each chain.

    The rows are the number of clusters, the entropy of their proportions, the size of the largest one and, if the
    result has it, the log joint density.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a partition.
    var_name : str, optional
        Name of the partition; by default the only one.
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.  Your own needs the dimension ``column`` (trace, distribution) as columns,
        variables as rows and an aesthetic mapped to ``chain``.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * trace -> :func:`arviz_plots.visuals.line`
        * distribution -> :func:`arviz_plots.visuals.line_xy`
        * xlabel, xlabel_distribution, ylabel -> :func:`arviz_plots.visuals.labelled_x`, ``labelled_y``
        * legend -> ``legend`` of the backend
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.grid`, for example ``color``, the colours of chains.

    Returns
    -------
    PlotCollection
        Lines are in ``.viz["trace"]`` and ``.viz["distribution"]``, with dimension ``chain``.

    Raises
    ------
    ImportError
        If arviz-plots is not installed.
    ValueError
        If there is no such partition or a visual is unknown.

    See Also
    --------
    pymc_nrm.stats.quantities.partition_quantities : The quantities, and when the log joint density is known.

    Notes
    -----
    The distributions on the right are histograms on the same axis as the traces.  All chains share the same bins, and
    the highest bin of a row sets the scale.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_partition_trace
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 1, 2]], [[0, 0, 1], [0, 1, 1]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = plot_partition_trace(draws, backend="none")
    >>> [line["y"].tolist() for line in pc.viz["trace"]["n_clusters"].values]
    [[2, 3], [2, 2]]
    """
    data = trace_quantities(idata, var_name)
    canvas = Canvas("plot_partition_trace", VISUALS, visuals, plot_collection, backend)
    n_chains = data.sizes["chain"]
    figure_kwargs = {"sharex": "col", "sharey": "row", "width_ratios": [4, 1]}
    canvas.create(
        data.expand_dims(column=["trace", "distribution"]),
        pc_kwargs,
        width=1.25,
        height=0.9 * len(data),
        figure_kwargs=figure_kwargs,
        rows=["__variable__"],
        cols=["column"],
        **({} if "aes" in pc_kwargs else {"aes": {"color": ["chain"]}, "color": CLUSTER_COLORS}),
    )
    colors = {} if "color" in canvas.collection.aes_set else {"color": CLUSTER_COLORS[0]}
    left, right = {"column": "trace"}, {"column": "distribution"}
    aes = canvas.collection.aes_set
    width = 0.9 if data.sizes["draw"] <= 1000 else 0.5
    canvas.draw(
        canvas.visuals.line, "trace", data, aes=aes, coords=left, xname="draw", width=width, alpha=0.8, **colors
    )
    outlines = xr.Dataset({name: outline(values) for name, values in data.items()})
    canvas.draw(canvas.visuals.line_xy, "distribution", outlines, aes=aes, coords=right, width=1.2, **colors)
    for name in data:
        canvas.label("ylabel", NAMES[name], data[[name]], coords=left)
    last = data[[list(data)[-1]]]
    canvas.label("xlabel", "draw", last, coords=left)
    canvas.label("xlabel_distribution", "frequency", last, coords=right)
    canvas.align_labels()
    canvas.set(canvas.visuals.remove_ticks, data, coords=right, axis="x")
    if n_chains > 1 and not colors:
        chains = [str(chain) for chain in data["chain"].values]
        properties = [
            canvas.collection.get_aes_kwargs(["color"], "mapping", {"chain": chain}) for chain in data["chain"].values
        ]
        canvas.legend(chains, properties, title="chain", loc="outside right upper")
    return canvas.collection


def trace_quantities(idata, var_name):
    """Dataset of the scalar quantities of each draw, dims (chain, draw), in the order of the rows."""
    quantities = partition_quantities(idata, var_name)
    stored = stored_quantities(idata, quantities.attrs["partition"])
    if (
        "log_joint" not in quantities
        and "log_joint" in stored
        and np.array_equal(stored["n_clusters"].values, quantities["n_clusters"].values)
    ):
        quantities["log_joint"] = (("chain", "draw"), stored["log_joint"].values)
    data = quantities[[name for name in SCALARS if name in quantities]].drop_attrs()
    missing = {dim: np.arange(data.sizes[dim]) for dim in ("chain", "draw") if dim not in data.coords}
    return data.assign_coords(missing)


def stored_quantities(idata, name):
    """The quantities that :func:`~pymc_nrm.stats.diagnostics.add_diagnostics` put into a result, if any."""
    if not isinstance(idata, xr.DataTree) or GROUP not in idata.children or name not in idata[GROUP].children:
        return xr.Dataset()
    return idata[GROUP][name].to_dataset()


def outline(values):
    """Outlines of each chain's histogram, with its base on the y axis, dims (chain, plot_axis, point)."""
    draws = values.transpose("chain", "draw").values
    finite = draws[np.isfinite(draws)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    if np.issubdtype(draws.dtype, np.integer):  # every bin holds the same number of whole numbers
        step = -(-(high - low + 1) // N_BINS)
        edges = np.arange(low, high + step + 1, step) - 0.5
    else:
        edges = np.linspace(low, high, N_BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])
    counts = np.stack([np.histogram(chain[np.isfinite(chain)], edges)[0] for chain in draws])
    heights = counts / max(counts.max(), 1)
    x = np.pad(np.repeat(heights, 2, axis=1), [(0, 0), (1, 1)])
    y = np.broadcast_to(np.repeat(edges, 2), x.shape)
    coords = {"chain": values["chain"].values, "plot_axis": ["x", "y"]}
    return xr.DataArray(np.stack([x, y], axis=1), dims=("chain", "plot_axis", f"point_{values.name}"), coords=coords)
