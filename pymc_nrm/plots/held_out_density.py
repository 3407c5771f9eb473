"""Plot of the density of held-out rows by the number of components."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.plots.canvas import Canvas
from pymc_nrm.plots.options import LABELS, LEGEND, LINE, LINE_XY, SCATTER, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import CLUSTER_COLORS, whiskers


@options_of_plots({"reference": LINE_XY, "error": LINE, "mean": SCATTER, **LABELS, **LEGEND})
def plot_held_out_density(held_out: xr.DataArray, **options: Any) -> PlotCollection:
    """Plot how well held-out rows are predicted, by the number of components, against the largest number.

    Parameters
    ----------
    held_out : DataArray, dims (n_components, item)
        From :func:`~pymc_nrm.recipes.held_out_density`.

    Returns
    -------
    PlotCollection
        Points are in ``.viz["mean"]``.

    Raises
    ------
    TypeError, ValueError
        If ``held_out`` is no such array.

    Notes
    -----
    Points are means over rows of the log density less that of the largest number of components, in nats per row:
    above zero, rows are predicted better with fewer.  Error bars extend by two standard errors of this mean difference
    to either side.  They include neither the noise of sampling nor what folds share.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_held_out_density
    >>> values = [[-3.0, -2.0, -4.0], [-2.5, -2.0, -3.0]]
    >>> held_out = xr.DataArray(values, dims=("n_components", "item"), coords={"n_components": [1, 2]})
    >>> pc = plot_held_out_density(held_out, backend="none")
    >>> pc.viz["mean"]["difference"].item()["y"].tolist()
    [-0.5, 0.0]
    """
    if not isinstance(held_out, xr.DataArray):
        raise TypeError(f"held_out must be a DataArray, from held_out_density; got {type(held_out).__name__}")
    if set(held_out.dims) != {"n_components", "item"} or "n_components" not in held_out.coords:
        raise ValueError(f"held_out must have the dims n_components and item; got {held_out.dims}")
    canvas = Canvas(plot_held_out_density, options)
    held_out = held_out.sortby("n_components").transpose("n_components", "item")
    numbers, n = held_out["n_components"].values, held_out.sizes["item"]
    difference = held_out.values - held_out.values[-1]
    mean, error = difference.mean(axis=1), 2 * difference.std(axis=1, ddof=min(1, n - 1)) / np.sqrt(n)

    canvas.create(xr.Dataset({"difference": ("n_components", mean)}, {"n_components": numbers}))
    ends = numbers[[0, -1]] + [-0.3, 0.3]
    canvas.draw("line_xy", "reference", {"x": ends, "y": np.zeros(2)}, color="grey", width=1.0)
    bars = {"x": numbers, "y_bottom": mean - error, "y_top": mean + error}
    canvas.draw(whiskers, "error", bars, entry="± 2 standard errors", color="black", width=1.2)
    canvas.draw("scatter_xy", "mean", {"x": numbers, "y": mean}, color=CLUSTER_COLORS[0], size=40)
    canvas.labels(
        "number of principal directions in which clusters differ",
        f"log density of a held-out row,\nless that with {numbers[-1]} directions",
    )
    canvas.legend(loc="outside upper center")
    canvas.axes(xticks=numbers)
    return canvas.collection
