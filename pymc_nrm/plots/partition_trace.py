"""Trace plots of partitions, by label-invariant quantities."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.plots.canvas import LEGEND, LINE_XY, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import CLUSTER_COLORS
from pymc_nrm.stats.diagnostics import GROUP
from pymc_nrm.stats.quantities import SCALARS, partition_quantities

NAMES = {
    "n_clusters": "number of\nclusters",
    "entropy": "entropy\n(nats)",
    "largest_cluster": "largest cluster\n(items)",
    "log_joint": "log joint\ndensity",
}
N_BINS = 30


@options_of_plots(
    {
        "trace": ":func:`arviz_plots.visuals.line`",
        "distribution": LINE_XY,
        "xlabel, xlabel_distribution, ylabel": ":func:`arviz_plots.visuals.labelled_x`, ``labelled_y``",
        **LEGEND,
    }
)
def plot_partition_trace(
    idata: xr.DataTree | xr.Dataset | xr.DataArray, *, var_name: str | None = None, **options: Any
) -> PlotCollection:
    """Plot traces of label-invariant quantities of a partition, and their distribution in each chain.

    Rows are the number of clusters, the entropy of the cluster proportions, the size of the largest cluster and, if the
    result has it, the log joint density.

    Parameters
    ----------
    %(draws)s
    %(var_name)s

    Returns
    -------
    PlotCollection
        Lines are in ``.viz["trace"]`` and ``.viz["distribution"]``, with dimension ``chain``.

    Raises
    ------
    ValueError
        If there is no such partition or a visual is unknown.

    See Also
    --------
    pymc_nrm.stats.quantities.partition_quantities : The quantities, and when the log joint density is available.

    Notes
    -----
    A plot collection of your own needs the dimension ``column`` (trace, distribution) as columns, variables as rows and
    an aesthetic mapped to ``chain``; the argument ``color`` of a new collection has the colours of chains.

    The distributions on the right are histograms on the same axis as the traces.  All chains share the bins, and the
    highest bin of a row sets the scale.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_partition_trace
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 1, 2]], [[0, 0, 1], [0, 1, 1]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = plot_partition_trace(draws, backend="none")
    >>> [line["y"].tolist() for line in pc.viz["trace"]["n_clusters"].values]
    [[2, 3], [2, 2]]
    """
    canvas = Canvas(plot_partition_trace, options)
    data = trace_quantities(idata, var_name)
    canvas.create(
        data.expand_dims(column=["trace", "distribution"]),
        width=1.25,
        height=0.9 * len(data),
        figure_kwargs={"sharex": "col", "sharey": "row", "width_ratios": [4, 1]},
        rows=["__variable__"],
        cols=["column"],
        **({} if "aes" in options else {"aes": {"color": ["chain"]}, "color": CLUSTER_COLORS}),
    )
    aes, left, right = canvas.collection.aes_set, {"column": "trace"}, {"column": "distribution"}
    colors = {} if "color" in aes else {"color": CLUSTER_COLORS[0]}
    style = {"width": 0.9 if data.sizes["draw"] <= 1000 else 0.5, "alpha": 0.8, **colors}
    canvas.draw("line", "trace", data, aes=aes, coords=left, xname="draw", **style)
    outlines = xr.Dataset({name: outline(values) for name, values in data.items()})
    canvas.draw("line_xy", "distribution", outlines, aes=aes, coords=right, width=1.2, **colors)
    for name in data:
        canvas.label("ylabel", NAMES[name], data[[name]], coords=left)
    canvas.label("xlabel", "draw", data[[name]], coords=left)
    canvas.label("xlabel_distribution", "frequency", data[[name]], coords=right)
    canvas.align_labels()
    canvas.set("remove_ticks", data, coords=right, axis="x")
    chains = data["chain"].values
    if len(chains) > 1 and not colors:
        color_of = canvas.collection.get_aes_kwargs
        canvas.entries = [(str(chain), color_of(["color"], "mapping", {"chain": chain})) for chain in chains]
        canvas.legend(title="chain", loc="outside right upper")
    return canvas.collection


def trace_quantities(idata, var_name):
    """Dataset of the scalar quantities of each draw, dims (chain, draw), in the order of rows."""
    quantities = partition_quantities(idata, var_name)
    # The diagnostics of a result have the log joint density, if they belong to these draws.
    group = f"/{GROUP}/{quantities.attrs['partition']}"
    if isinstance(idata, xr.DataTree) and "log_joint" not in quantities and group in idata.groups:
        stored = idata[group]
        if "log_joint" in stored and np.array_equal(stored["n_clusters"], quantities["n_clusters"]):
            quantities["log_joint"] = (("chain", "draw"), stored["log_joint"].values)
    data = quantities[[name for name in SCALARS if name in quantities]].drop_attrs()
    missing = {dim: np.arange(data.sizes[dim]) for dim in ("chain", "draw") if dim not in data.coords}
    return data.assign_coords(missing)


def outline(values):
    """Outline of each chain's histogram, with its base on the y axis, dims (chain, plot_axis, point)."""
    draws = values.transpose("chain", "draw").values
    finite = draws[np.isfinite(draws)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    if np.issubdtype(draws.dtype, np.integer):  # every bin holds the same number of integers
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
