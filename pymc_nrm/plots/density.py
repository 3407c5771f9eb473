"""Plots of predictive densities: of one more item, and of held-out rows by number of components."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import interval_probability
from pymc_nrm.common.result_names import added_dim
from pymc_nrm.plots.canvas import HIST, LABELS, LEGEND, LINE, LINE_XY, SCATTER, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_points import feature_matrix
from pymc_nrm.plots.visuals import CLUSTER_COLORS, GREY, band, bins_dataset, contour, hollow, points_dataset, whiskers

MASSES = (0.95, 0.75, 0.5, 0.25)
CONTOUR_COLORS = ("#9ecae1", "#6baed6", "#2171b5", "#08306b")
MAX_RUG = 1000


@options_of_plots(
    {
        "histogram": HIST,
        "rug, points": SCATTER,
        "band": "``fill_between_y`` of the backend, or ``line`` for probabilities of counts",
        "mean": ":func:`arviz_plots.visuals.line_xy`, or ``scatter_xy`` for probabilities of counts",
        "contour": "``contour`` of the backend",
        **LABELS,
        **LEGEND,
    }
)
def plot_density(
    density: xr.Dataset, *, data: Any = None, ci_prob: Any = None, bins: Any = "auto", **options: Any
) -> PlotCollection:
    """Plot the predictive density of one more item over the data.

    One feature gives the mean over draws with a pointwise band; two features give contours of the mean.

    Parameters
    ----------
    density : Dataset
        Result of :func:`~pymc_nrm.predictive_density` on a grid in one dimension or a rectangular grid in two, or of
        :func:`~pymc_nrm.states.forecast_density` with one step.
    data : array_like, DataFrame or DataArray, shape (n,) or (n, d), optional
        Data, shown as a histogram and lines below it, or as points.
    ci_prob : float, optional
        Probability of the band, with equal tails; by default ``arviz_base.rcParams["stats.ci_prob"]``.
    bins : int, str or sequence
        Bins of the histogram, as in :func:`numpy.histogram_bin_edges`.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ValueError
        If the density has more than two features or its grid is not rectangular, the data have another number of
        features, or an argument is out of range.

    Notes
    -----
    Bands are pointwise, not simultaneous for the whole curve; they show the spread of
    :func:`~pymc_nrm.predictive_density` over draws.  Contours enclose the regions of highest mean density with 25, 50,
    75 and 95 % of the mass on the grid, so the grid should extend to points of small density.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_density
    >>> values = np.array([[[0.1, 0.4, 0.1], [0.3, 0.2, 0.1]]])
    >>> density = xr.Dataset({"density": (("chain", "draw", "point"), values)}, coords={"point": [0.0, 1.0, 2.0]})
    >>> pc = plot_density(density, data=[0.5, 1.0], backend="none")
    >>> pc.viz["mean"]["density"].item()["y"].round(3).tolist()
    [0.2, 0.3, 0.1]
    """
    if not isinstance(density, xr.Dataset) or "density" not in density:
        raise ValueError(f"density must be a Dataset with the variable density; got {type(density).__name__}")
    canvas = Canvas(plot_density, options)
    ci_prob = interval_probability(ci_prob)
    array = density["density"]
    if array.sizes.get("step") == 1:
        array = array.isel(step=0)
    point = added_dim(array, "point")
    if set(array.dims) != {"chain", "draw", point}:
        hint = f". Take one step, .sel(step={array['step'].values[0]})" if "step" in array.coords else ""
        raise ValueError(
            f"density must have dimensions chain, draw and point; got {', '.join(map(str, array.dims))}{hint}"
        )
    grid = grid_coordinates(array)
    d = len(grid)
    matrix, names = (None, None) if data is None else feature_matrix(data, len(data))
    if data is not None and matrix.shape[1] != d:
        raise ValueError(f"data must have {d} feature{'s' * (d > 1)}, as the grid has; got {matrix.shape[1]}")
    values = array.transpose("chain", "draw", point).values.reshape(-1, array.sizes[point])
    if d == 2:
        _draw_contours(canvas, values.mean(axis=0), list(grid.values()), matrix)
        labels = list(grid) if names in (None, ["x_0", "x_1"]) else names
    else:
        discrete = density.attrs.get("kind") == "probability"
        _draw_curve(canvas, values, grid[point], matrix, discrete, ci_prob, bins)
        x = str(density.attrs.get("variable", "x" if names is None else names[0]))
        labels = [x, "predictive probability" if discrete else "predictive density"]
    canvas.labels(labels[0], labels[1])
    return canvas.collection


def grid_coordinates(array):
    """Coordinates of the grid points for each feature; there must be one or two."""
    point = added_dim(array, "point")
    named = [name for name in array.coords if str(name).startswith("x_") and array[name].dims == (point,)]
    if len(named) > 2:
        raise ValueError(f"density must have one or two features; got {len(named)}: {', '.join(map(str, named))}")
    if len(named) == 2:
        return {name: array[name].values for name in named}
    if point not in array.coords:
        raise ValueError("density must have the coordinate point, or x_0 and x_1 along point")
    return {point: array[point].values}


def _draw_curve(canvas, values, points, matrix, discrete, ci_prob, bins):
    place = np.argsort(points, kind="stable")
    x, values = points[place].astype("float64"), values[:, place]
    mean = values.mean(axis=0)
    low, high = np.quantile(values, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    canvas.create(points_dataset("density", x=x, y=mean), height=2.4)
    bottom, top = 0.0, high.max()
    if matrix is not None:
        observed = matrix[np.isfinite(matrix[:, 0]), 0]
        units = (observed.min(), observed.max() + 2)
        edges = np.arange(*units) - 0.5 if discrete else np.histogram_bin_edges(observed, bins)
        height = np.histogram(observed, edges, density=True)[0]
        bars = bins_dataset("density", height, edges)
        style = {"facecolor": "#d0d0d0", "edgecolor": "white", **canvas.level(0.5)}  # behind the band
        canvas.draw("hist", "histogram", bars, entry=f"{len(observed)} items", **style)
        top = max(top, height.max()) if canvas.wants("histogram") else top
        if len(observed) <= MAX_RUG and not discrete:
            rug = {"x": observed, "y": -0.03 * top}
            canvas.draw("scatter_xy", "rug", rug, marker="|", size=40, color="#595959", width=0.7)
            bottom = -0.06 * top
    ends, color = {"x": x, "y_bottom": low, "y_top": high}, CLUSTER_COLORS[0]
    text = f"{100 * ci_prob:.4g} % interval at each point"
    if discrete:
        canvas.draw(whiskers, "band", ends, entry=text, color=color, width=1.2)
        canvas.draw("scatter_xy", "mean", entry="mean", **hollow(color, size=22))
    else:
        canvas.draw(band, "band", ends, entry=text, color=color, alpha=0.25)
        canvas.draw("line_xy", "mean", entry="mean", color=color, width=1.6)
    canvas.legend(loc="outside upper center", ncols=3)
    canvas.axes(ylim=(bottom, 1.05 * top))


def _draw_contours(canvas, mean, grid, matrix):
    axes = [np.unique(values) for values in grid]
    place = [np.searchsorted(axis, values) for axis, values in zip(axes, grid, strict=True)]
    table = np.full((len(axes[0]), len(axes[1])), np.nan)
    table[tuple(place)] = mean
    if len(mean) != table.size or not np.isfinite(table).all() or min(table.shape) < 2:
        raise ValueError(
            "density must be on a rectangular grid, with all pairs of at least two values of each feature; "
            f"got {len(mean)} points with {table.shape[0]} and {table.shape[1]} different values"
        )
    canvas.create(xr.Dataset({"density": (("x", "y"), table)}, {"x": axes[0], "y": axes[1]}), height=2.6)
    if matrix is not None:
        style = {"color": GREY, "width": 0, "size": float(np.clip(3000 / len(matrix), 4, 16)), "alpha": 0.8}
        dots = {"x": matrix[:, 0], "y": matrix[:, 1]}
        canvas.draw("scatter_xy", "points", dots, entry=f"{len(matrix)} items", **style)
    canvas.draw(contour, "contour", levels=mass_levels(table, axes, MASSES), color=list(CONTOUR_COLORS))
    if canvas.wants("contour"):
        lines = zip(MASSES, CONTOUR_COLORS, strict=True)
        canvas.entries[:0] = [(f"{100 * mass:g} %", {"color": color, "width": 1.5}) for mass, color in lines]
        canvas.legend(title="predictive mass\nwithin", loc="outside right upper")


def mass_levels(table, axes, masses):
    """Densities above which regions of highest density have given shares of the mass on a grid, in increasing order."""
    widths = [np.gradient(axis.astype("float64")) for axis in axes]
    cells = (table * np.outer(*widths)).ravel()
    place = np.argsort(-table.ravel(), kind="stable")
    share = np.cumsum(cells[place]) / cells.sum()
    return table.ravel()[place[np.minimum(np.searchsorted(share, masses), len(place) - 1)]]


@options_of_plots({"reference": LINE_XY, "error": LINE, "mean": SCATTER, **LABELS, **LEGEND})
def plot_held_out_density(held_out: xr.DataArray, **options: Any) -> PlotCollection:
    """Plot the log density of held-out rows by number of components, relative to the largest number.

    Parameters
    ----------
    held_out : DataArray, dims (n_directions, item)
        From :func:`~pymc_nrm.recipes.held_out_density`.

    Returns
    -------
    PlotCollection
        Points are in ``.viz["mean"]``.

    Raises
    ------
    TypeError, ValueError
        If ``held_out`` is not such an array.

    Notes
    -----
    Points are means over rows of the log density minus the log density with the largest number of components, in nats
    per row: above zero, fewer components predict rows better.  Error bars extend by two standard errors of this mean
    difference to either side.  They exclude Monte Carlo error and the dependence between folds.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_held_out_density
    >>> values = [[-3.0, -2.0, -4.0], [-2.5, -2.0, -3.0]]
    >>> held_out = xr.DataArray(values, dims=("n_directions", "item"), coords={"n_directions": [1, 2]})
    >>> pc = plot_held_out_density(held_out, backend="none")
    >>> pc.viz["mean"]["difference"].item()["y"].tolist()
    [-0.5, 0.0]
    """
    if not isinstance(held_out, xr.DataArray):
        raise TypeError(f"held_out must be a DataArray, from held_out_density; got {type(held_out).__name__}")
    if set(held_out.dims) != {"n_directions", "item"} or "n_directions" not in held_out.coords:
        raise ValueError(f"held_out must have the dims n_directions and item; got {held_out.dims}")
    canvas = Canvas(plot_held_out_density, options)
    held_out = held_out.sortby("n_directions").transpose("n_directions", "item")
    numbers, n = held_out["n_directions"].values, held_out.sizes["item"]
    difference = held_out.values - held_out.values[-1]
    mean, error = difference.mean(axis=1), 2 * difference.std(axis=1, ddof=min(1, n - 1)) / np.sqrt(n)

    canvas.create(xr.Dataset({"difference": ("n_directions", mean)}, {"n_directions": numbers}))
    ends = numbers[[0, -1]] + [-0.3, 0.3]
    canvas.draw("line_xy", "reference", {"x": ends, "y": np.zeros(2)}, color="grey", width=1.0)
    bars = {"x": numbers, "y_bottom": mean - error, "y_top": mean + error}
    canvas.draw(whiskers, "error", bars, entry="± 2 standard errors", color="black", width=1.2)
    canvas.draw("scatter_xy", "mean", {"x": numbers, "y": mean}, color=CLUSTER_COLORS[0], size=40)
    canvas.labels(
        "number of principal directions in which clusters differ",
        f"log density of a held-out row,\nrelative to {numbers[-1]} directions",
    )
    canvas.legend(loc="outside upper center")
    canvas.axes(xticks=numbers)
    return canvas.collection
