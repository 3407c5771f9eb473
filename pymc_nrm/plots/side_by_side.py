"""Plots of several partitions of the same items side by side."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.result_names import added_dim
from pymc_nrm.plots.canvas import BACKENDS, IMSHOW, OF_BACKEND, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_points import Groups, by_size, distance_unit, feature_matrix, grouped_points, matched_labels
from pymc_nrm.plots.visuals import IMAGE_BACKENDS, image

MAX_ITEMS = 2000
# Opacity of items that keep their cluster in all partitions.
PALE = 0.2
BOUNDS = {
    "horizontal": "horizontal bound",
    "upper_vertical": "upper vertical bound",
    "lower_vertical": "lower vertical bound",
}
VISUALS = {
    "points": "``scatter`` of the backend, once for each cluster",
    "image": IMSHOW,
    "title, xlabel, ylabel": OF_BACKEND,
}


def draw_beside(canvas, name, partitions, titles, X, features, opacity=None):
    """Draw partitions with matched labels as points of X or, if X is None, as matrices of pairs of items.

    Partitions, titles and opacities of the points are dicts with the same keys.
    """
    keys = list(partitions)
    n = len(partitions[keys[0]])
    n_columns = 3 if len(keys) == 3 else 2
    height = 2.1 * -(-len(keys) // n_columns)
    facets, coords = {"cols": ["partition"], "col_wrap": n_columns, "height": height}, {"partition": keys}
    if X is None:
        if n > MAX_ITEMS:
            raise ValueError(f"{name} must have at most {MAX_ITEMS} items to plot all pairs; got {n}. Pass X instead")
        place = np.lexsort([partitions[key] for key in reversed(keys)])
        tables = np.stack([(labels[place, None] == labels[place]).astype("float64") for labels in partitions.values()])
        canvas.create(
            xr.Dataset({name: (("partition", "row", "column"), tables)}, coords), width=0.55 * n_columns, **facets
        )
        canvas.draw(image, "image")
        across = up = f"{n} items"
        canvas.set("remove_ticks", axis="both")
    else:
        values, names = feature_matrix(X, n, features)
        single = values.shape[1] == 1
        if values.shape[1] > 2:
            raise ValueError(f"X must have one or two features; got {values.shape[1]}. Choose them with features")
        points = np.stack([_points(values, labels) for labels in partitions.values()])
        coords |= {"plot_axis": ["x", "y"]}
        data = xr.Dataset({name: (("partition", "item", "plot_axis"), points)}, coords)
        canvas.create(data, width=0.6 * n_columns, figure_kwargs={"sharex": True, "sharey": not single}, **facets)
        n_groups = 1 + max(int(labels.max()) for labels in partitions.values())
        groups = {key: Groups(labels, n_groups) for key, labels in partitions.items()}
        area = float(np.clip(4000 / n, 5, 18))
        canvas.draw(
            _scatter, "points", artist_dims={"group": n_groups}, groups=groups, opacity=opacity or {}, size=area
        )
        across, up = names[0], "cluster, by mean" if single else names[1]
        if single:
            canvas.set("remove_ticks", axis="y")
    canvas.label("title", titles, by=["partition"], size=9)
    canvas.label("xlabel", dict.fromkeys(keys[-n_columns:], across), by=["partition"])
    canvas.label("ylabel", dict.fromkeys(keys[::n_columns], up), by=["partition"])


def count(labels):
    """Text with the number of clusters."""
    n_clusters = len(np.unique(labels))
    return f"{n_clusters} cluster{'s' * (n_clusters > 1)}"


def _points(values, labels):
    """Points of the items, shape (n, 2); for one feature, y is the rank of the cluster by its mean."""
    if values.shape[1] == 2:
        return values
    x = values[:, 0]
    return np.stack([x, Groups(labels, int(labels.max()) + 1).heights(x)[labels]], axis=1)


def _scatter(da, target, *, groups, opacity, **kwargs):
    """Draw the points of one partition; see :func:`~pymc_nrm.plots.cluster_points.grouped_points`."""
    key = da["partition"].item()
    return grouped_points(da, target, groups=groups[key], alpha=opacity.get(key), **kwargs)


@options_of_plots(VISUALS, method="wrap")
def plot_credible_ball(ball: xr.Dataset, X: Any = None, *, features: Any = None, **options: Any) -> PlotCollection:
    """Plot a point estimate beside the horizontal, upper vertical and lower vertical bounds of its credible ball.

    Parameters
    ----------
    ball : Dataset
        Returned by :func:`~pymc_nrm.stats.credible_ball`.  If several partitions tie for a bound, the first is shown.
    %(side_by_side)s

    Raises
    ------
    ValueError
        If `ball` lacks a partition, X has other items or more than two features, there are more than 2000 items for a
        matrix of pairs, or the backend cannot draw matrices.

    Notes
    -----
    Clusters of a bound have the colour of the cluster of the estimate with which they share items, matched one to one.
    Only matplotlib can draw matrices.  A plot collection of your own needs the dimension ``partition``.

    All four matrices have the items in the same order: by cluster of the estimate, then by cluster of the bounds.

    The horizontal bound is the partition in the ball that is furthest from the estimate.  The upper vertical bound has
    the fewest clusters, the lower vertical bound the most (Wade & Ghahramani 2018, section 4).

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_credible_ball
    >>> from pymc_nrm.stats import credible_ball
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 0, 0], [0, 1, 2]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = plot_credible_ball(credible_ball(draws, [0, 0, 1]), backend="none")
    >>> pc.viz["image"]["ball"].sel(partition="lower vertical bound").item()["image"].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    canvas = Canvas(plot_credible_ball, options, IMAGE_BACKENDS if X is None else BACKENDS)
    partitions, titles = ball_partitions(ball)
    draw_beside(canvas, "ball", partitions, titles, X, features)
    return canvas.collection


def ball_partitions(ball):
    """Labels of the four partitions, matched to the estimate, and titles of their plots."""
    if not isinstance(ball, xr.Dataset):
        raise ValueError(f"ball must be a Dataset from credible_ball; got {type(ball).__name__}")
    missing = [name for name in ("center", *BOUNDS) if name not in ball]
    if missing:
        raise ValueError(f"ball must have the variables center, {', '.join(BOUNDS)}; it lacks {', '.join(missing)}")
    center = by_size(np.unique(ball["center"].values, return_inverse=True)[1])
    partitions = {"estimate": center}
    unit = f" {distance_unit(ball.attrs)}".rstrip()
    radius = f", radius {float(ball['radius']):.3g}{unit}" if "radius" in ball else ""
    titles = {"estimate": f"estimate\n{count(center)}{radius}"}
    for name, title in BOUNDS.items():
        array = first_of_ties(ball[name], ball["center"].dims)
        partitions[title] = matched_labels(np.unique(array.values, return_inverse=True)[1], center)
        at = ""
        if f"{name}_distance" in ball:
            at = f", distance {float(first_of_ties(ball[f'{name}_distance'], ())):.3g}{unit}"
        titles[title] = f"{title}\n{count(partitions[title])}{at}"
    return partitions, titles


def first_of_ties(array, kept):
    """First entry along all dimensions except the kept ones."""
    return array.isel({dim: 0 for dim in array.dims if dim not in kept})


@options_of_plots(VISUALS, method="wrap")
def plot_point_estimates(
    estimates: xr.Dataset, X: Any = None, *, features: Any = None, **options: Any
) -> PlotCollection:
    """Plot the partitions that represent the modes of a posterior side by side, and mark where they differ.

    Parameters
    ----------
    estimates : Dataset
        Returned by :func:`~pymc_nrm.point_estimates`.
    %(side_by_side)s

    Raises
    ------
    ValueError
        If `estimates` has no labels along ``clustering``, X has other items or more than two features, there are more
        than 2000 items for a matrix of pairs, or the backend cannot draw matrices.

    Notes
    -----
    Clusters have the colour of the cluster of the first partition with which they share items, matched one to one.
    Items with the same colour in all partitions are pale, and titles count items whose colour differs from the first.
    Matrices have the items in the same order: by cluster of the first partition, then of the others.

    Examples
    --------
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> draws = xr.DataArray([[[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = nrm.plots.plot_point_estimates(nrm.point_estimates(draws, random_seed=1), backend="none")
    >>> [panel["string"].splitlines() for panel in pc.viz["title"]["labels"].values]
    [['67 % of draws', '2 clusters'], ['33 % of draws', '1 cluster, 2 items elsewhere']]
    """
    canvas = Canvas(plot_point_estimates, options, IMAGE_BACKENDS if X is None else BACKENDS)
    labels = estimates.get("labels") if isinstance(estimates, xr.Dataset) else None
    along = None if labels is None else added_dim(labels, "clustering")
    if labels is None or labels.ndim != 2 or along is None or "share" not in estimates:
        raise ValueError("estimates must be a Dataset from point_estimates, with labels and share along clustering")
    first, *others = [np.unique(row, return_inverse=True)[1] for row in labels.transpose(along, ...).values]
    rows = [by_size(first)]
    rows += [matched_labels(row, rows[0]) for row in others]
    partitions, titles = {}, {}
    for k, (row, share) in enumerate(zip(rows, estimates["share"].values, strict=True), start=1):
        n_moved = int((row != rows[0]).sum())
        moved = f", {n_moved} item{'s' * (n_moved > 1)} elsewhere" if n_moved else ""
        partitions[k], titles[k] = row, f"{100 * share:.0f} % of draws\n{count(row)}{moved}"
    differ = (np.stack(rows) != rows[0]).any(axis=0)
    opacity = dict.fromkeys(partitions, np.where(differ, 1.0, PALE)) if others else None
    draw_beside(canvas, "labels", partitions, titles, X, features, opacity)
    return canvas.collection
