"""Plot of the partitions that stand for the modes of a posterior."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.plots.beside import VISUALS, count, draw_beside
from pymc_nrm.plots.canvas import Canvas
from pymc_nrm.plots.estimates import by_size, matched_labels
from pymc_nrm.plots.options import BACKENDS, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import IMAGE_BACKENDS

# Opacity of items that are in the same cluster of all partitions.
PALE = 0.2


@options_of_plots(VISUALS, method="wrap")
def plot_point_estimates(
    estimates: xr.Dataset, X: Any = None, *, features: Any = None, **options: Any
) -> PlotCollection:
    """Plot the partitions that stand for the modes of a posterior beside one another, and where they differ.

    Parameters
    ----------
    estimates : Dataset
        Result of :func:`~pymc_nrm.point_estimates`.
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
        If `estimates` has no labels along ``clustering``, X has other items or more than two features, there are more
        than 2000 items for a matrix of pairs, or the backend cannot draw it.

    Notes
    -----
    Clusters have the colour of the cluster of the first partition with which they share items, matched one to one.
    Items of the same colour in all partitions are pale, and titles count those of another colour than in the first.
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
    if labels is None or labels.ndim != 2 or "clustering" not in labels.dims or "share" not in estimates:
        raise ValueError("estimates must be a Dataset from point_estimates, with labels and share along clustering")
    first, *others = [np.unique(row, return_inverse=True)[1] for row in labels.transpose("clustering", ...).values]
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
