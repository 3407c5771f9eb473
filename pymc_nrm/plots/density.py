"""Plot of the predictive density of one more item."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_probability
from pymc_nrm.plots.canvas import CLUSTER_COLORS, GREY, Canvas
from pymc_nrm.plots.cluster_points import feature_matrix
from pymc_nrm.plots.visuals import points_dataset, whiskers

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

__all__ = ["plot_density"]

VISUALS = ("histogram", "rug", "band", "mean", "contour", "points", "xlabel", "ylabel", "legend")
MASSES = (0.95, 0.75, 0.5, 0.25)
CONTOUR_COLORS = ("#9ecae1", "#6baed6", "#2171b5", "#08306b")
MAX_RUG = 1000


def plot_density(
    density: xr.Dataset,
    *,
    data: Any = None,
    ci_prob: Any = None,
    bins: Any = "auto",
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Plot the predictive density of one more item over the data.

    For one feature, it shows the mean over draws with a pointwise band; for two features, contours of the mean.

    Parameters
    ----------
    density : Dataset
        Result of :func:`~pymc_nrm.predictions.predictive_density` on a grid in one dimension or a rectangular one in
        two.
    data : array_like, DataFrame or DataArray, shape (n,) or (n, d), optional
        Data, shown as a histogram and lines below it, or as points.
    ci_prob : float, optional
        Probability of the band, with equal tails; by default ``arviz_base.rcParams["stats.ci_prob"]``.
    bins : int, str or sequence
        Bins of the histogram, as in :func:`numpy.histogram_bin_edges`.
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * histogram -> :func:`arviz_plots.visuals.hist`
        * rug -> :func:`arviz_plots.visuals.scatter_xy`
        * band -> ``fill_between_y`` of the backend, or ``line`` for probabilities of counts
        * mean -> :func:`arviz_plots.visuals.line_xy`, or ``scatter_xy`` for probabilities of counts
        * contour -> ``contour`` of the backend
        * points -> :func:`arviz_plots.visuals.scatter_xy`
        * xlabel, ylabel -> :func:`arviz_plots.visuals.labelled_x`, ``labelled_y``
        * legend -> ``legend`` of the backend
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.grid`.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ImportError
        If arviz-plots is not installed.
    ValueError
        If the density has more than two features or no rectangular grid, the data have another number of features, or
        an argument is out of range.

    Notes
    -----
    Bands are pointwise, not for the whole curve at once; they show the spread of
    :func:`~pymc_nrm.predictions.predictive_density` over draws.  Contours enclose the regions of highest mean density
    with 25, 50, 75 and 95 % of the mass on the grid, so the grid should extend to where the density is small.

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
    if ci_prob is not None:
        check_probability(ci_prob, name="ci_prob")
    array = density["density"]
    if set(array.dims) != {"chain", "draw", "point"}:
        raise ValueError(f"density must have dimensions chain, draw and point; got {', '.join(map(str, array.dims))}")
    grid = grid_coordinates(array)
    d = len(grid)
    matrix, names = (None, None) if data is None else feature_matrix(data, len(data))
    if data is not None and matrix.shape[1] != d:
        raise ValueError(f"data must have {d} feature{'s' * (d > 1)} as the grid has; got {matrix.shape[1]}")
    canvas = Canvas("plot_density", VISUALS, visuals, plot_collection, backend)
    if ci_prob is None:
        from arviz_base import rcParams

        ci_prob = rcParams["stats.ci_prob"]
    values = array.transpose("chain", "draw", "point").values.reshape(-1, array.sizes["point"])
    if d == 2:
        if names is None or names == ["x_0", "x_1"]:
            names = list(grid)
        _draw_contours(canvas, values.mean(axis=0), list(grid.values()), matrix, names, pc_kwargs)
    else:
        (points,) = grid.values()
        discrete = density.attrs.get("kind") == "probability"
        label = str(density.attrs.get("variable", "x" if names is None else names[0]))
        _draw_curve(canvas, values, points, matrix, label, discrete, ci_prob, bins, pc_kwargs)
    return canvas.collection


def grid_coordinates(array):
    """Coordinates of the points for each feature, of which there are one or two."""
    named = [name for name in array.coords if str(name).startswith("x_") and array[name].dims == ("point",)]
    if len(named) > 2:
        raise ValueError(f"density must have one or two features; got {len(named)}: {', '.join(map(str, named))}")
    if len(named) == 2:
        return {name: array[name].values for name in named}
    if "point" not in array.coords:
        raise ValueError("density must have the coordinate point, or x_0 and x_1 along point")
    return {"point": array["point"].values}


def _draw_curve(canvas, values, points, matrix, label, discrete, ci_prob, bins, pc_kwargs):
    place = np.argsort(points, kind="stable")
    x, values = points[place].astype("float64"), values[:, place]
    mean = values.mean(axis=0)
    low, high = np.quantile(values, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    curve = points_dataset("density", x=x, y=mean)
    canvas.create(curve, pc_kwargs, width=1.2, height=2.4)
    color, entries, top = CLUSTER_COLORS[0], [], high.max()
    if matrix is not None:
        observed = matrix[np.isfinite(matrix[:, 0]), 0]
        if discrete:
            edges = np.arange(observed.min(), observed.max() + 2) - 0.5
        else:
            edges = np.histogram_bin_edges(observed, bins)
        height = np.histogram(observed, edges, density=True)[0]
        bars = xr.Dataset(
            {"density": (("plot_axis", "bin"), np.stack([height, edges[:-1], edges[1:]]))},
            coords={"plot_axis": ["histogram", "left_edges", "right_edges"]},
        )
        # By default matplotlib would draw it in front of the band.
        behind = {"zorder": 0.5} if canvas.backend == "matplotlib" else {}
        canvas.draw(canvas.visuals.hist, "histogram", bars, facecolor="#d0d0d0", edgecolor="white", **behind)
        top = max(top, height.max()) if canvas.wants("histogram") else top
        entries.append((f"{len(observed)} items", {"color": "#d0d0d0", "width": 6}, "histogram"))
        if len(observed) <= MAX_RUG and not discrete:
            rug = points_dataset("density", x=observed, y=-0.03 * top)
            canvas.draw(canvas.visuals.scatter_xy, "rug", rug, marker="|", size=40, color="#595959", width=0.7)
    ends = points_dataset("density", x=x, y_bottom=low, y_top=high)
    text = f"{100 * ci_prob:.4g} % interval at each point"
    if discrete:
        canvas.draw(whiskers, "band", ends, color=color, width=1.2)
        canvas.draw(canvas.visuals.scatter_xy, "mean", curve, facecolor="white", edgecolor=color, size=22, width=1.3)
        style = {"color": color, "marker": "o", "linestyle": "none", "markerfacecolor": "white"}
        entries.append(("mean", style, "mean"))
        entries.append((text, {"color": color, "width": 1.2}, "band"))
    else:
        canvas.draw(band, "band", ends, color=color, alpha=0.25)
        canvas.draw(canvas.visuals.line_xy, "mean", curve, color=color, width=1.6)
        entries.append(("mean", {"color": color, "width": 1.6}, "mean"))
        entries.append((text, {"color": color, "width": 6, "alpha": 0.25}, "band"))
    canvas.label("xlabel", label, curve)
    canvas.label("ylabel", "predictive probability" if discrete else "predictive density", curve)
    shown = [(name, style) for name, style, visual in entries if canvas.wants(visual)]
    canvas.legend([name for name, _ in shown], [style for _, style in shown], loc="outside upper center", ncols=3)
    bottom = -0.06 * top if matrix is not None and not discrete and len(matrix) <= MAX_RUG else 0.0
    canvas.set(canvas.visuals.set_ylim, curve, limits=(bottom, 1.05 * top))


def _draw_contours(canvas, mean, grid, matrix, names, pc_kwargs):
    axes = [np.unique(values) for values in grid]
    place = [np.searchsorted(axis, values) for axis, values in zip(axes, grid, strict=True)]
    table = np.full((len(axes[0]), len(axes[1])), np.nan)
    table[tuple(place)] = mean
    if len(mean) != table.size or not np.isfinite(table).all() or min(table.shape) < 2:
        raise ValueError(
            "density must be on a rectangular grid, all pairs of two or more values of each feature; "
            f"got {len(mean)} points with {table.shape[0]} and {table.shape[1]} different values"
        )
    data = xr.Dataset({"density": (("x", "y"), table)}, coords={"x": axes[0], "y": axes[1]})
    canvas.create(data, pc_kwargs, width=1.2, height=2.6)
    if matrix is not None:
        dots = points_dataset("density", x=matrix[:, 0], y=matrix[:, 1])
        area = float(np.clip(3000 / len(matrix), 4, 16))
        canvas.draw(canvas.visuals.scatter_xy, "points", dots, color=GREY, width=0, size=area, alpha=0.8)
    levels = mass_levels(table, axes, MASSES)
    canvas.draw(contour, "contour", data, levels=levels, color=list(CONTOUR_COLORS))
    if canvas.wants("contour"):
        entries = [{"color": color, "width": 1.5} for color in CONTOUR_COLORS]
        labels = [f"{100 * mass:g} %" for mass in MASSES]
        if matrix is not None and canvas.wants("points"):
            labels.append(f"{len(matrix)} items")
            entries.append({"color": GREY, "marker": "o", "linestyle": "none"})
        canvas.legend(labels, entries, title="predictive mass\nwithin", loc="outside right upper")
    canvas.label("xlabel", names[0], data)
    canvas.label("ylabel", names[1], data)


def mass_levels(table, axes, masses):
    """Densities above which the regions of highest density have given shares of the mass on a grid. Levels increase.
    Shapes: ``table`` (n_0, n_1).
    """
    widths = [np.gradient(axis.astype("float64")) for axis in axes]
    cells = (table * np.outer(*widths)).ravel()
    place = np.argsort(-table.ravel(), kind="stable")
    share = np.cumsum(cells[place]) / cells.sum()
    return table.ravel()[place[np.minimum(np.searchsorted(share, masses), len(place) - 1)]]


def band(da, target, **kwargs):
    """Visual: the area between two curves, from x, y_bottom and y_top along ``plot_axis``."""
    from arviz_plots.plot_collection import backend_from_object

    x, low, high = (da.sel(plot_axis=name).values for name in ("x", "y_bottom", "y_top"))
    return backend_from_object(target).fill_between_y(x, low, high, target, **kwargs)


def contour(da, target, *, levels, color, **kwargs):
    """Visual: contours of a table over its coordinates ``x`` and ``y``, with a colour for each level."""
    from arviz_plots.plot_collection import backend_from_object

    backend = backend_from_object(target)
    x, y = da["x"].values, da["y"].values
    if isinstance(target, list) or hasattr(target, "add_line"):
        return backend.contour(x, y, da.values, target, levels=levels, color=color, **kwargs)
    for level, one in zip(levels, color, strict=True):  # other backends take one colour
        backend.contour(x, y, da.values, target, levels=[level], color=one, **kwargs)
    return None
