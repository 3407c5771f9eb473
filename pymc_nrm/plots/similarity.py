"""Plot of the posterior probabilities that two items belong together."""

from typing import Any

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.checks import check_count
from pymc_nrm.plots.canvas import IMSHOW, LABELS, LINE_XY, Canvas, PlotCollection, check_names, options_of_plots
from pymc_nrm.plots.cluster_points import by_size
from pymc_nrm.plots.visuals import IMAGE_BACKENDS, color_bar, image, set_yticks, with_gaps
from pymc_nrm.stats.draws import partition_draws
from pymc_nrm.stats.levels import levels
from pymc_nrm.stats.point_estimate import chosen_estimate, compared_draws
from pymc_nrm.stats.similarity import similarity

MAX_NAMES = 50
MAX_ITEMS = 5000
CLUSTER_EDGES = "#d55e00"


@options_of_plots(
    {
        "image": IMSHOW,
        "color_bar": ":meth:`matplotlib.figure.Figure.colorbar`",
        "clusters": LINE_XY,
        "xticks, yticks": ":func:`arviz_plots.visuals.set_xticks`, and the same for y",
        **LABELS,
    },
    backends=IMAGE_BACKENDS,
)
def plot_similarity(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    level: int | None = None,
    order: Any = "estimate",
    estimate: Any = None,
    names: Any = None,
    **options: Any,
) -> PlotCollection:
    """Plot the matrix of posterior probabilities that two items are in the same cluster.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a partition, or of a nested partition.
    %(var_name)s
    level : int, optional
        Level of a nested partition to show, from 1; required for nested partitions, None for others.
    order : {"estimate", "dendrogram"}
        Order of the items: by cluster of the point estimate, the largest first, and within clusters by mean similarity
        to the members; or by average linkage on 1 - similarity.
    estimate : Dataset with variable ``labels``, DataArray or array_like, shape (n,), optional
        Point estimate, whose clusters are framed.  By default from :func:`~pymc_nrm.stats.point_estimate` with
        ``random_seed=0``, or no frames if ``order="dendrogram"``.
    names : sequence of str, shape (n,), optional
        Names of the items, shown if there are at most 50; by default the coordinate of the items.

    Returns
    -------
    PlotCollection
        The image is in ``.viz["image"]``.

    Raises
    ------
    ValueError
        If there is no such partition or level, there are more than 5000 items, an argument is not one of those listed,
        or the backend cannot draw images.

    Notes
    -----
    Frames surround runs of items in the same cluster of the estimate, so a cluster may have several frames with
    ``order="dendrogram"``.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_similarity
    >>> draws = xr.DataArray([[[0, 1, 0], [0, 1, 1]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = plot_similarity(draws, estimate=[0, 1, 1], backend="none")
    >>> pc.viz["image"]["z"].item()["image"].tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]

    A level of a nested partition:

    >>> h = xr.DataArray([[[[0, 0], [0, 1], [1, 2]]]], dims=("chain", "draw", "item", "level"), name="h")
    >>> plot_similarity(h, level=1, backend="none").viz["image"]["h"].item()["image"].tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if not isinstance(order, str) or order not in ("estimate", "dendrogram"):
        raise ValueError(f"order must be estimate or dendrogram; got {order!r}")
    canvas = Canvas(plot_similarity, options)
    draws = partition_draws(idata, var_name) if level is None else draws_of_level(idata, var_name, level)
    if estimate is not None or order == "estimate":
        draws = compared_draws(draws, estimate)
    name, n = draws.name or "partition", draws.shape[2]
    if n > MAX_ITEMS:
        raise ValueError(f"idata must have at most {MAX_ITEMS} items to plot all pairs; got {n}. Select items")
    check_names(names, n)
    labels = None
    if estimate is not None or order == "estimate":
        labels = by_size(chosen_estimate(estimate, draws, random_seed=0)[0])
    matrix = similarity(draws).values
    place = linkage_order(matrix) if order == "dendrogram" else cluster_order(matrix, labels)

    canvas.create(xr.Dataset({name: (("row", "column"), matrix[np.ix_(place, place)])}), width=1.05, height=3.3)
    canvas.draw(image, "image", aspect="auto")  # the colour bar is then as high as the image
    if canvas.wants("image"):
        same = "being in the same cluster" if level is None else f"sharing a node of level {level}"
        mappable = canvas.collection.viz["image"][name].item()
        canvas.draw(color_bar, "color_bar", mappable=mappable, label=f"posterior probability of {same}")
    if labels is not None:
        canvas.draw("line_xy", "clusters", cluster_frames(labels[place]), color=CLUSTER_EDGES, width=1.2)
    names = draws[draws.dims[2]].values if names is None else names
    ticks = (np.arange(n), [str(names[i]) for i in place]) if n <= MAX_NAMES else ([], [])
    size = {"size": 7} if 25 < n <= MAX_NAMES else {}
    canvas.ticks("set_xticks", "xticks", *ticks, rotation=90, **size)
    canvas.ticks(set_yticks, "yticks", *ticks, **size)
    what = "cluster of the point estimate" if order == "estimate" else "average linkage"
    canvas.labels(f"{n} items, ordered by {what}", "items in the same order")
    canvas.axes(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    return canvas.collection


def draws_of_level(idata, var_name, level):
    """Draws of one level of a nested partition."""
    draws = levels(idata, var_name)
    check_count("level", level, 1, draws.shape[2])
    return draws.isel({draws.dims[2]: int(level) - 1}, drop=True)


def cluster_order(matrix, labels):
    """Items by cluster, and within clusters by decreasing mean similarity to all members."""
    n_clusters = int(labels.max()) + 1
    members = np.eye(n_clusters)[labels]
    typical = np.take_along_axis(matrix @ members, labels[:, None], axis=1)[:, 0]
    return np.lexsort((-typical, labels))


def linkage_order(matrix):
    """Leaves of average linkage on 1 - similarity."""
    if len(matrix) < 3:
        return np.arange(len(matrix))
    distance = np.clip(1.0 - matrix, 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)

    pairs = scipy.spatial.distance.squareform(distance, checks=False)
    return scipy.cluster.hierarchy.leaves_list(scipy.cluster.hierarchy.linkage(pairs, "average"))


def cluster_frames(labels):
    """Squares around runs of equal labels on the diagonal, as one line with gaps."""
    cuts = np.flatnonzero(np.diff(labels)) + 1
    low, high = np.array([0, *cuts]) - 0.5, np.array([*cuts, len(labels)]) - 0.5
    return {"x": with_gaps(low, high, high, low, low), "y": with_gaps(low, low, high, high, low)}
