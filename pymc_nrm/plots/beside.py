"""Several partitions of the same items beside one another."""

import numpy as np
import xarray as xr

from pymc_nrm.plots.cluster_points import Groups, feature_matrix, grouped_points
from pymc_nrm.plots.options import IMSHOW, OF_BACKEND
from pymc_nrm.plots.visuals import image

MAX_ITEMS = 2000
VISUALS = {
    "points": "``scatter`` of the backend, once for each cluster",
    "image": IMSHOW,
    "title, xlabel, ylabel": OF_BACKEND,
}


def draw_beside(canvas, name, partitions, titles, X, features, opacity=None):
    """Draw partitions with matched labels as points of X or, if it is None, as matrices of pairs of items.

    Partitions, titles and opacities of the points are dicts with the same keys.
    """
    keys = list(partitions)
    n = len(partitions[keys[0]])
    n_columns = 3 if len(keys) == 3 else 2
    height = 2.1 * -(-len(keys) // n_columns)
    facets, coords = {"cols": ["partition"], "col_wrap": n_columns, "height": height}, {"partition": keys}
    if X is None:
        if n > MAX_ITEMS:
            raise ValueError(f"{name} must have at most {MAX_ITEMS} items for a picture of all pairs; got {n}: give X")
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
            raise ValueError(f"X must have one or two features; got {values.shape[1]}: choose them with features")
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
    clusters = np.unique(labels)
    means = [np.nanmean(x[labels == k]) if np.isfinite(x[labels == k]).any() else np.inf for k in clusters]
    height = np.empty(int(labels.max()) + 1)
    height[clusters[np.argsort(means, kind="stable")]] = np.arange(len(clusters))
    return np.stack([x, height[labels]], axis=1)


def _scatter(da, target, *, groups, opacity, **kwargs):
    """Points of one of the partitions; see :func:`~pymc_nrm.plots.cluster_points.grouped_points`."""
    key = da["partition"].item()
    return grouped_points(da, target, groups=groups[key], alpha=opacity.get(key), **kwargs)
