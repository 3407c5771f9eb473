"""Plot of a point estimate and the bounds of its credible ball."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.plots.beside import VISUALS, count, draw_beside
from pymc_nrm.plots.canvas import Canvas
from pymc_nrm.plots.estimates import by_size, distance_unit, matched_labels
from pymc_nrm.plots.options import BACKENDS, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import IMAGE_BACKENDS

BOUNDS = {
    "horizontal": "horizontal bound",
    "upper_vertical": "upper vertical bound",
    "lower_vertical": "lower vertical bound",
}


@options_of_plots(VISUALS, method="wrap")
def plot_credible_ball(ball: xr.Dataset, X: Any = None, *, features: Any = None, **options: Any) -> PlotCollection:
    """Plot a point estimate beside the horizontal, upper and lower vertical bounds of its credible ball.

    Parameters
    ----------
    ball : Dataset
        Result of :func:`~pymc_nrm.stats.credible_ball`.  If several partitions tie for a bound, the first is shown.
    X : array_like, DataFrame or DataArray, shape (n,) or (n, d), optional
        Data, drawn as points; one feature gives one row of points for each cluster.  Without it, a black and white
        matrix shows which pairs of items are in the same cluster.
    features : sequence of int or str, optional
        One or two columns of X, by position or name.
    **options
        Options of all plots.

    Returns
    -------
    PlotCollection
        ``.viz["points"]`` or ``.viz["image"]`` with dimension ``partition``.

    Raises
    ------
    ValueError
        If `ball` lacks a partition, X has other items or more than two features, there are more than 2000 items for a
        matrix of pairs, or the backend cannot draw it.

    Notes
    -----
    Clusters of a bound have the colour of the cluster of the estimate with which they share items, matched one to one.
    Matrices can be drawn on matplotlib alone.  A plot collection of your own needs the dimension ``partition``.

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
    """Labels of the four partitions, with matched names of clusters, and titles of their plots."""
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
    """First entry along all dimensions except those to keep."""
    return array.isel({dim: 0 for dim in array.dims if dim not in kept})
