"""Plot of a network or a table, sorted by clusters, beside the strength of ties between clusters."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_flag, interval_probability, random_generator
from pymc_nrm.common.wrapping import cut
from pymc_nrm.networks.posterior.block_draws import draws_of_blocks
from pymc_nrm.networks.posterior.block_parameters import parameters_of_estimate
from pymc_nrm.networks.posterior.estimates import read_estimates
from pymc_nrm.networks.posterior.strengths import strength_of
from pymc_nrm.plots.canvas import IMSHOW, LINE_XY, OF_BACKEND, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import (
    IMAGE_BACKENDS,
    color_bar,
    colored_texts,
    image,
    points_dataset,
    set_yticks,
    with_gaps,
)
from pymc_nrm.stats.point_estimate import evenly_spaced
from pymc_nrm.stats.result import posterior_of

# At most so many items, and so many names of items on an axis, of at most so many characters.
MAX_ITEMS, MAX_NAMES, _NAME = 5000, 50, 20
# Numbers are written into at most so many rows and columns of blocks, and the ends of intervals into fewer.
_MOST_NUMBERS, _MOST_INTERVALS = 12, 5
# Parameters are drawn in at most so many draws.
_MOST_DRAWS = 200
# Clusters with a smaller share of the items have no label beside a large matrix.
_LEAST_SHARE = 0.04
_EDGES, _UNKNOWN = "#d55e00", "#fbe3c8"
PANELS = ("pairs", "blocks")


@options_of_plots(
    {
        "pairs, blocks": IMSHOW,
        "color_bar": ":meth:`matplotlib.figure.Figure.colorbar`",
        "clusters": LINE_XY,
        "numbers": "``text`` of the backend",
        "xticks, yticks, xticks_blocks, yticks_blocks": ":func:`arviz_plots.visuals.set_xticks`, and the same for y",
        "xlabel, ylabel": OF_BACKEND,
    },
    backends=IMAGE_BACKENDS,
)
def plot_blocks(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    intervals: bool = True,
    var_name: str | None = None,
    ci_prob: Any = None,
    **options: Any,
) -> PlotCollection:
    """Plot the matrix of a network or a table sorted by clusters, and the strength of ties between clusters.

    Parameters
    ----------
    %(idata)s
    %(model)s
    %(block_estimate)s
    intervals : bool
        Whether to write the ends of intervals below posterior means, for at most 5 clusters.
    %(block_model)s
    ci_prob : float, optional
        Probability of the intervals, with equal tails; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    PlotCollection
        The panels ``"pairs"`` and ``"blocks"`` of the dimension ``panel``; ``.viz`` has the images by these names.

    Raises
    ------
    ValueError
        If there is no such block model, there are more than 5000 rows or columns, the estimate has a different number
        of items, or the backend cannot draw images.

    Notes
    -----
    On the left are the data, shades being square roots unless some are negative; pairs that were not observed are pale
    orange, and a diagonal that is left out is blank.  Items are sorted by clusters, the largest first, and within these
    by the sums of their values.  On the right is the posterior mean of the strength of ties between two clusters: a
    probability, a rate or a mean, see :func:`~pymc_nrm.networks.block_parameters`.  Rows are items from which directed
    ties lead.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> from pymc_nrm.networks.plots import plot_blocks
    >>> A = [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     ties = nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 1, 0, 1]] * 4])})
    >>> pc = plot_blocks(posterior, model, [0, 1, 0, 1], backend="none")
    >>> pc.viz["pairs"]["ties"].item()["image"].tolist()[0]
    [0.0, 1.0, 0.0, 0.0]
    """
    canvas = Canvas(plot_blocks, options)
    check_flag("intervals", intervals)
    ci_prob = interval_probability(ci_prob)
    draws = draws_of_blocks(evenly_spaced(posterior_of(idata, by_chain=True), _MOST_DRAWS), model, var_name)
    if max(draws.blocks.shape) > MAX_ITEMS:
        raise ValueError(f"data must have at most {MAX_ITEMS} rows and columns to be plotted; got {draws.blocks.shape}")
    clusters = read_estimates(draws, idata, estimate)
    strength = strength_of(draws.family_class)
    values = strength.of(parameters_of_estimate(draws, clusters, random_generator(0), progressbar=False))
    order = [np.argsort(-np.bincount(clustering.labels), kind="stable") for clustering in clusters]
    low, high = np.quantile(values, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    mean, low, high = (array[np.ix_(*order)] for array in (values.mean(axis=0), low, high))
    data = draws.blocks.dense()
    shown = data.copy()
    if not draws.is_table and not draws.blocks.loops:
        np.fill_diagonal(shown, 0.0)
    places = [
        _place(clustering.labels, by_size, data, axis)
        for axis, (clustering, by_size) in enumerate(zip(clusters, order, strict=True))
    ]
    matrix = shown[np.ix_(*places)]
    name = draws.name
    canvas.create(
        xr.Dataset({name: ("panel", np.zeros(2))}, {"panel": list(PANELS)}), cols=["panel"], width=2.3, height=3.4
    )
    aspect = "auto" if draws.is_table else "equal"
    _draw_matrix(canvas, name, matrix, aspect)
    numbers = (mean, low, high) if intervals else (mean,)
    _draw_blocks(canvas, name, strength, numbers, aspect)
    sizes = [np.bincount(clustering.labels)[by_size] for clustering, by_size in zip(clusters, order, strict=True)]
    _draw_edges(canvas, name, sizes)
    _draw_axes(canvas, draws, places, clusters, order, sizes)
    return canvas.collection


def _place(labels, order, data, axis):
    """Items by cluster, and within clusters by decreasing sums of their values."""
    rank = np.empty(len(order), dtype=int)
    rank[order] = np.arange(len(order))
    return np.lexsort((-np.nansum(data, axis=1 - axis), rank[labels]))


def _draw_matrix(canvas, name, matrix, aspect):
    """The data; grey by square roots, so that small values are visible, or two colours if some are negative."""
    matrix = matrix if np.nanmin(matrix) < 0.0 else np.sqrt(matrix)
    known = matrix[np.isfinite(matrix)]
    low, high = min(known.min(), 0.0), max(known.max(), 0.0)
    style = {"cmap": "Greys", "vmin": low, "vmax": high if high > low else 1.0}
    if low < 0.0:
        style = {"cmap": "PuOr", "vmin": -max(-low, high), "vmax": max(-low, high)}
    if canvas.backend == "matplotlib":
        import matplotlib

        style["cmap"] = matplotlib.colormaps[style["cmap"]].with_extremes(bad=_UNKNOWN)
    data = xr.Dataset({name: (("row", "column"), matrix)})
    canvas.draw(image, "pairs", data, coords={"panel": "pairs"}, aspect=aspect, **style)


def _draw_blocks(canvas, name, strength, numbers, aspect):
    """Posterior means of the strengths, with numbers."""
    mean = numbers[0]
    low, high = 0.0 if np.nanmin(mean) >= 0.0 else np.nanmin(mean), np.nanmax(mean)
    high = high if high > low else low + 1.0
    blocks, coords = xr.Dataset({name: (("row", "column"), mean)}), {"panel": "blocks"}
    canvas.draw(image, "blocks", blocks, coords=coords, aspect=aspect, cmap="Blues", vmin=low, vmax=high)
    if canvas.wants("blocks"):
        mappable = canvas.collection.viz["blocks"][name].item()
        options = {"mappable": mappable, "label": strength.name, "shrink": 0.7}
        canvas.draw(color_bar, "color_bar", blocks, coords=coords, **options)
    if max(mean.shape) > _MOST_NUMBERS:
        return
    write = strength.writer(mean)
    shown = numbers if max(mean.shape) <= _MOST_INTERVALS else numbers[:1]
    y, x = (places.ravel() for places in np.indices(mean.shape))
    labels = [_number(write, *values) for values in zip(*(array.ravel() for array in shown), strict=True)]
    colors = ["white" if value > low + 0.6 * (high - low) else "black" for value in mean.ravel()]
    points = points_dataset(name, x=x, y=y)
    canvas.draw(
        colored_texts,
        "numbers",
        points,
        coords=coords,
        artist_dims={"entry": len(labels)},
        labels=labels,
        colors=colors,
        size=9 if len(mean) <= _MOST_INTERVALS else 7,
        vertical_align="center",
        horizontal_align="center",
    )


def _number(write, mean, low=None, high=None):
    if np.isnan(mean):
        return ""
    if low is None:
        return write(mean)
    low, high = (write(end).removesuffix(" %") for end in (low, high))
    return f"{write(mean)}\n{low} to {high}"


def _draw_edges(canvas, name, sizes):
    """Lines between clusters."""
    rows, columns = (np.cumsum(counts)[:-1] - 0.5 for counts in sizes)
    n_rows, n_columns = (counts.sum() - 0.5 for counts in sizes)
    left, top = np.full(len(rows), -0.5), np.full(len(columns), -0.5)
    x = np.concatenate([with_gaps(left, np.full(len(rows), n_columns)), with_gaps(columns, columns)])
    y = np.concatenate([with_gaps(rows, rows), with_gaps(top, np.full(len(columns), n_rows))])
    if len(x):
        points = points_dataset(name, x=x, y=y)
        canvas.draw("line_xy", "clusters", points, coords={"panel": "pairs"}, color=_EDGES, width=1.2)


def _draw_axes(canvas, draws, places, clusters, order, sizes):
    """Names of items, labels of clusters, and what the axes are."""
    pairs, blocks = ({"panel": panel} for panel in PANELS)
    for axis, function, kind in ((1, "set_xticks", "xticks"), (0, set_yticks, "yticks")):
        turned = {"rotation": 90} if axis == 1 else {}
        n, names = len(places[axis]), clusters[axis].names[order[axis]]
        if n <= MAX_NAMES:
            items = draws.item_names()[axis][places[axis]]
            ticks, labels = np.arange(n), [cut(str(item), _NAME) for item in items]
            small = {"size": 7 if n > 25 else 8}
        else:
            middles, is_large = np.cumsum(sizes[axis]) - sizes[axis] / 2 - 0.5, sizes[axis] >= _LEAST_SHARE * n
            ticks, labels = middles[is_large], [str(cluster) for cluster in names[is_large]]
            turned, small = {}, {}
        canvas.ticks(function, kind, ticks, labels, coords=pairs, **turned, **small)
        labels = [f"{cluster} ({size})" for cluster, size in zip(names, sizes[axis], strict=True)]
        turned = {"rotation": 90} if axis == 1 and len(labels) > _MOST_NUMBERS else {}
        small = {"size": 7} if len(labels) > _MOST_NUMBERS else {}
        canvas.ticks(function, f"{kind}_blocks", np.arange(len(labels)), labels, coords=blocks, **turned, **small)
    dims, by = draws.dims, ", sorted by cluster"
    rows, columns = (f"{len(place)} {dim}s{by}" for place, dim in zip(places, dims, strict=True))
    if not draws.is_table:
        rows, columns = (f"from {rows}", f"to {columns}") if draws.directed else (rows, columns)
    of = [f" of {dim}s" if draws.is_table else "" for dim in dims]
    canvas.label("xlabel", {"pairs": columns, "blocks": f"cluster{of[1]} (size)"}, by=["panel"])
    canvas.label("ylabel", {"pairs": rows, "blocks": f"cluster{of[0]} (size)"}, by=["panel"])
    for coords, (n_rows, n_columns) in ((pairs, draws.blocks.shape), (blocks, map(len, sizes))):
        canvas.axes(coords=coords, xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5))
