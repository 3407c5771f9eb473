"""Plot of data in the colours of the clusters of a point estimate."""

from typing import Any

import numpy as np
import scipy
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_probability, numeric_array
from pymc_nrm.plots.canvas import LEGEND, OF_BACKEND, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_points import (
    columns_of_text,
    draws_and_estimate,
    feature_matrix,
    followed_rows,
    grouped_estimate,
    grouped_points,
)
from pymc_nrm.plots.observed_numbers import observed_numbers
from pymc_nrm.plots.visuals import grouped_lines, set_yticks
from pymc_nrm.posterior.number_of_clusters import clusters_overlap_in
from pymc_nrm.stats.uncertainty import assignment_uncertainty

N_CORNERS = 73
MAX_FEATURES = 6
PALEST = 0.2
# A legend names at most this many columns that are not shown.
MAX_NAMES = 6


@options_of_plots(
    {
        "points": "``scatter`` of the backend, once for each cluster",
        "components": "``line`` of the backend, once for each cluster",
        "xlabel, ylabel, yticks": OF_BACKEND,
        **LEGEND,
    },
    backends=("matplotlib", "plotly", "none"),
)
def plot_clusters(
    idata: xr.DataTree | xr.Dataset | xr.DataArray | None,
    X: Any = None,
    *,
    var_name: str | None = None,
    model: Model | None = None,
    estimate: Any = None,
    components: Any = None,
    uncertainty: bool = True,
    features: Any = None,
    min_size: Any = None,
    probability: float = 0.9,
    **options: Any,
) -> PlotCollection:
    """Plot data in the colours of the clusters of a point estimate, pale where the assignment is uncertain.

    One feature gives a row of points for each cluster, two features give a scatter plot, and more features give a
    scatter plot for each pair.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray, or None
        Draws of a partition; None is allowed if `estimate` is given and `uncertainty` is not True.
    X : array_like, DataFrame or DataArray, shape (n,) or (n, d)
        Data; items with NaN in a feature are omitted from its plots.  Of rows in chunks, all rows or the followed
        ones, which are shown.
    %(var_name)s
    model : pymc.Model, optional
        The sampled model: without an estimate, clusters are then the fused components of
        :func:`~pymc_nrm.describe`, with the same labels.
    estimate : Dataset with variable ``labels``, DataArray or array_like, shape (n,), or Description, optional
        A description stands for the estimate that it describes.  By default, without a model, the components of
        :func:`~pymc_nrm.stats.point_estimate` with ``random_seed=0``.
    components : Dataset, optional
        Result of :func:`~pymc_nrm.sample_cluster_parameters` for a normal family.  The lines then show the
        posterior means of the mean and covariance of the components, averaged over the items of each cluster.  By
        default they show the mean and covariance of the items.
    uncertainty : bool or array_like, shape (n,)
        Whether points are paler the more uncertain their assignment is, by
        :func:`~pymc_nrm.stats.assignment_uncertainty`; or the uncertainties to use, from 0 to 1.  A fused estimate is
        compared with fused draws.
    features : sequence of int or str, optional
        Columns of X to show, at most 6, by position or name.  By default all numeric columns; of more than 6, those
        whose variance clusters explain best.  The legend names columns that are not shown.
        :func:`~pymc_nrm.plots.plot_category_shares` shows columns of text and categories of a DataFrame.
    min_size : int, optional
        Clusters with fewer items are drawn as grey crosses; by default 1 % of the items, and at least 2.
    probability : float
        Probability of the normal region whose boundary is drawn: an ellipse, or an interval for one feature.

    Returns
    -------
    PlotCollection
        Points are in ``.viz["points"]``, with dimension ``group``; the last group may hold small clusters.

    Raises
    ------
    ValueError
        If there are more than 6 ``features``, or an argument does not fit the draws or the data.

    Notes
    -----
    A plot collection of your own needs dimensions ``row`` and ``column``, except for one or two features.

    Clusters are ordered by size; the legend has their labels in the estimate.  There are 16 colours, and with markers
    32 styles; clusters after the 32nd are drawn as small clusters.  The opacity of an item is 1 minus 0.8 times its
    uncertainty.  Small clusters have no lines, and neither do clusters with fewer than d + 2 items, which do not
    determine a covariance of d features.  Here d counts the features of a plot, or all features of `components` with
    full covariances.  The legend then gives the smallest number of items with lines.  Without `components`, features
    with at most ten different whole numbers, such as categories, have no lines either.

    Examples
    --------
    >>> from pymc_nrm.plots import plot_clusters
    >>> X = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [5.0, 5.1]]
    >>> pc = plot_clusters(None, X, estimate=[0, 0, 0, 1], uncertainty=False, backend="none")
    >>> [len(points["x"]) for points in pc.viz["points"]["X"].values.ravel()]
    [3, 1]
    """
    canvas = Canvas(plot_clusters, options)
    draws, estimate, kept = draws_and_estimate(idata, model, var_name, estimate)
    if draws is None and (estimate is None or uncertainty is True):
        raise ValueError("idata must be given unless estimate is given and uncertainty is False or numbers")
    if X is None:
        X = observed_numbers(idata, model, var_name, draws, 0 if kept is None else len(kept))
    X = followed_rows(X, draws)
    kept = np.ones(len(X), dtype=bool) if kept is None else kept
    values, names = feature_matrix(X, len(kept), features)
    values, n = values[kept], np.count_nonzero(kept)
    d = values.shape[1]
    if d > MAX_FEATURES and features is not None:
        raise ValueError(f"features must be at most {MAX_FEATURES} columns of X; got {d}")
    check_probability(probability)
    labels, groups = grouped_estimate(draws, estimate, n, min_size)
    opacity = item_opacity(draws, labels, uncertainty, kept)
    n_own = groups.n_groups - bool(groups.n_others)
    fitted = None
    if components is not None:
        all_names = feature_matrix(X, len(kept))[1]
        fitted = component_moments(components, groups.labels, groups.n_groups, len(all_names), kept)
        fitted = _of_features(fitted, places_in_components(components, all_names, names))
    shown = features_to_show(values, labels)
    least = (min(d, 2) if fitted is None else fitted[2]) + 2

    categories = np.array([has_few_values(values[:, j]) for j in shown])

    def moments(places):
        if fitted is None:
            means, covariances = empirical_moments(values[:, shown[places]], groups.labels, n_own)
            return (np.nan * means, np.nan * covariances) if categories[places].any() else (means, covariances)
        means, covariances = fitted[0][:n_own, shown[places]], fitted[1][:n_own][:, shown[places]][:, :, shown[places]]
        few = np.array(groups.sizes[:n_own]) < least
        return np.where(few[:, None], np.nan, means), np.where(few[:, None, None], np.nan, covariances)

    draw = _draw_strips if d == 1 else _draw_pairs
    area, lines = draw(canvas, values[:, shown], [names[j] for j in shown], groups, moments, probability)
    points = {"groups": groups, "alpha": opacity, "size": area}
    canvas.draw(grouped_points, "points", artist_dims={"group": groups.n_groups}, **points)
    canvas.entries = list(zip(groups.names(), groups.entries(), strict=True))
    if n_own:
        styles = [groups.style(k)[0] for k in range(n_own)]
        canvas.draw(grouped_lines, "components", lines, artist_dims={"cluster": n_own}, styles=styles, width=1.3)
    if canvas.wants("components") and np.isfinite(lines["X"]).any():
        text = f"{100 * probability:.4g} % of a normal\ndistribution"
        if min(groups.sizes[:n_own]) < least:
            text += f",\nfrom {least} items on"
        canvas.entries.append((text, {"color": "#595959", "width": 1.2}))
    title = "clusters" if opacity is None else "clusters\n(pale: uncertain)"
    if draws is not None and clusters_overlap_in(draws):
        title += "\n(overlap almost completely:\ntheir number mostly\nreflects the prior)"
    absent = {"differ less": [name for j, name in enumerate(names) if j not in shown]}
    absent |= {"no numbers": columns_of_text(X) if features is None else []}
    for reason, columns in absent.items():
        if columns:
            more = ", ..." if len(columns) > MAX_NAMES else ""
            title += f"\n({reason}, not shown:\n" + ",\n".join(columns[:MAX_NAMES]) + f"{more})"
    canvas.legend(title=title, loc="outside right upper", fontsize="small")
    return canvas.collection


def features_to_show(values, labels):
    """Positions of all features, or of the features for which clusters explain the largest shares of the variance."""
    d = values.shape[1]
    if d <= MAX_FEATURES:
        return np.arange(d)
    shares = np.zeros(d)
    for j in range(d):
        present = np.isfinite(values[:, j])
        x, present_labels = values[present, j], labels[present]
        total = ((x - x.mean()) ** 2).sum() if len(x) else 0.0
        if total > 0.0:
            counts = np.bincount(present_labels)
            means = np.bincount(present_labels, x - x.mean()) / np.maximum(counts, 1)
            shares[j] = (counts * means**2).sum() / total
    return np.sort(np.argsort(-shares, kind="stable")[:MAX_FEATURES])


def has_few_values(x):
    """Whether a feature (n,) has at most ten distinct values, all whole, and far fewer than there are items."""
    seen = np.unique(x[np.isfinite(x)])
    return len(seen) <= min(10, len(x) // 3) and bool((seen == np.rint(seen)).all())


def item_opacity(draws, labels, uncertainty, kept):
    """Opacity of each item that is kept, bool (n,); None if it is the same for all."""
    if uncertainty is False:
        return None
    if uncertainty is True:
        uncertainty = assignment_uncertainty(draws, labels)
    uncertainty, n = numeric_array("uncertainty", uncertainty), np.count_nonzero(kept)
    if uncertainty.shape == kept.shape:
        uncertainty = uncertainty[kept]
    if uncertainty.shape != (n,) or not ((uncertainty >= 0) & (uncertainty <= 1 + 1e-9)).all():
        raise ValueError(
            f"uncertainty must be True, False or one number from 0 to 1 for each of the {n} items; "
            f"got shape {uncertainty.shape}"
        )
    return 1.0 - (1.0 - PALEST) * np.minimum(uncertainty, 1.0)


def _draw_pairs(canvas, values, names, groups, moments, probability):
    """Draw the lower triangle of pairs: feature i + 1 against feature j in row i and column j, with ellipses."""
    d = values.shape[1]
    pairs = np.full((d - 1, d - 1, 2), -1)
    points = np.full((d - 1, d - 1, len(values), 2), np.nan)
    for row, column in zip(*np.tril_indices(d - 1), strict=True):
        pairs[row, column] = column, row + 1
        points[row, column] = values[:, [column, row + 1]]
    coords = {"row": np.arange(d - 1), "column": np.arange(d - 1), "plot_axis": ["x", "y"]}
    data = xr.Dataset({"X": (("row", "column", "item", "plot_axis"), points)}, coords=coords)
    lines = ellipse_dataset(moments, groups.n_groups - bool(groups.n_others), pairs, probability)
    area = float(np.clip(5000 / len(values), 6, 24))
    if d == 2:
        lines = lines.isel(row=0, column=0)
        canvas.create(data.isel(row=0, column=0), height=2.6)
        canvas.labels(names[0], names[1])
        return area, lines
    facets = {"rows": ["row"], "cols": ["column"], "figure_kwargs": {"sharex": "col", "sharey": "row"}}
    canvas.create(data, width=0.42 * d, height=1.4 * (d - 1), **facets)
    canvas.label("xlabel", {(d - 2, j): names[j] for j in range(d - 1)}, by=["row", "column"])
    canvas.label("ylabel", {(i, 0): names[i + 1] for i in range(d - 1)}, by=["row", "column"])
    if canvas.collection.facet_dims >= {"row", "column"}:
        empty = xr.zeros_like(data.isel(item=0, plot_axis=0, drop=True))
        canvas.set("remove_axis", empty.where(empty["row"] < empty["column"]), axis="both")
        canvas.align_labels()
    return area / 1.5, lines


def _draw_strips(canvas, values, names, groups, moments, probability):
    """Draw one row of points for each group, with the smallest mean at the bottom, and intervals."""
    height, coords = groups.heights(values[:, 0]), {"plot_axis": ["x", "y"]}
    points = np.stack([values[:, 0], height[groups.labels]], axis=1)
    canvas.create(xr.Dataset({"X": (("item", "plot_axis"), points)}, coords), height=1.6 + 0.12 * groups.n_groups)
    means, covariances = moments([0])
    half = scipy.special.ndtri((1 + probability) / 2) * np.sqrt(covariances[:, 0, 0])
    ends = means[:, [0]] + half[:, None] * np.array([-1.0, 1.0])
    lines = np.stack([ends, np.repeat(height[: len(means), None], 2, axis=1)], axis=1)
    canvas.labels(names[0], "cluster, by mean")
    canvas.ticks(set_yticks, "yticks", [], [])
    canvas.axes(ylim=(-0.7, groups.n_groups - 0.3))
    return 36, xr.Dataset({"X": (("cluster", "plot_axis", "corner"), lines)}, coords)


def empirical_moments(values, labels, n_clusters):
    """Means and covariances of the items of each cluster; NaN with fewer than d + 2 complete items. Shapes: ``values``
    (n, d), ``labels`` (n,); returns ``means`` (n_clusters, d), ``covariances`` (n_clusters, d, d).
    """
    d = values.shape[1]
    means, covariances = np.full((n_clusters, d), np.nan), np.full((n_clusters, d, d), np.nan)
    complete = np.isfinite(values).all(axis=1)
    for k in range(n_clusters):
        rows = values[complete & (labels == k)]
        if len(rows) > d + 1:
            means[k], covariances[k] = rows.mean(axis=0), np.atleast_2d(np.cov(rows.T))
    return means, covariances


def component_moments(components, labels, n_clusters, n_features, kept=slice(None)):
    """Posterior means of the components' means and covariances, averaged over the items of each cluster. Shapes:
    ``labels`` (n,) of the items that are kept, an index; returns ``means`` (n_clusters, d), ``covariances``
    (n_clusters, d, d), and the number of features in one covariance.
    """
    # Parameters of items, unlike parameters of clusters, can be averaged over draws with different partitions.
    if not isinstance(components, xr.Dataset):
        raise TypeError(f"components must be a Dataset from sample_cluster_parameters; got {type(components).__name__}")
    scale = next((name for name in ("item_covariance", "item_variance") if name in components), None)
    if scale is None or "item_mean" not in components:
        raise ValueError(
            "components must have item_mean and item_covariance or item_variance, from sample_cluster_parameters of a "
            f"normal family; got {', '.join(map(str, components.data_vars))}"
        )
    n, d = len(labels), n_features
    mean = components["item_mean"].mean(("chain", "draw")).values[kept]
    spread = components[scale].mean(("chain", "draw")).values[kept]
    full = scale == "item_covariance"
    if mean.shape[0] != n or mean.size != n * d or spread.size != n * d * (d if full else 1):
        raise ValueError(
            f"components must have {n} items and {d} features, as X has; got item_mean of shape {mean.shape}"
        )
    mean = mean.reshape(n, d)
    spread = spread.reshape(n, d, d) if full else spread.reshape(n, d, 1) * np.eye(d)
    members = np.eye(n_clusters)[:, labels]
    members /= members.sum(axis=1, keepdims=True)
    return members @ mean, np.einsum("kn,nij->kij", members, spread), d if full else 1


def places_in_components(components, all_names, names):
    """Places of the features that are shown, by name if the parameters have the names of the columns of X."""
    dim = components["item_mean"].dims[-1]
    given = list(map(str, components[dim].values)) if dim in components.coords else all_names
    # Names of columns end with their unit.
    plain = {name: name if name in given else name.rsplit(" (", 1)[0] for name in all_names}
    if set(plain.values()) != set(given):
        given, plain = all_names, {name: name for name in all_names}
    return [given.index(plain[name]) for name in names]


def _of_features(fitted, places):
    """Moments of some features."""
    means, covariances, width = fitted
    return means[:, places], covariances[:, places][:, :, places], width


def ellipse(mean, covariance, probability):
    """Boundary of the smallest region with the given probability under a normal distribution in two dimensions. The
    line is closed; it is NaN if the covariance is NaN. Shapes: ``mean`` (2,), ``covariance`` (2, 2); returns (2, 73).
    """
    if not np.isfinite(covariance).all():
        return np.full((2, N_CORNERS), np.nan)
    angle = np.linspace(0.0, 2 * np.pi, N_CORNERS)
    values, vectors = np.linalg.eigh(covariance)
    circle = np.stack([np.cos(angle), np.sin(angle)]) * np.sqrt(-2.0 * np.log1p(-probability))
    return mean[:, None] + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)


def ellipse_dataset(moments, n_clusters, pairs, probability):
    """Ellipses of all clusters in the plots of pairs of features. Dimensions are row, column, cluster, plot_axis and
    corner; ``moments`` returns means (K, 2) and covariances (K, 2, 2) of a pair. Shapes: ``pairs`` (rows, columns, 2).
    """
    lines = np.full((*pairs.shape[:2], n_clusters, 2, N_CORNERS), np.nan)
    for row, column in np.argwhere(pairs[:, :, 0] >= 0):
        for k, (mean, covariance) in enumerate(zip(*moments(pairs[row, column]), strict=True)):
            lines[row, column, k] = ellipse(mean, covariance, probability)
    dims = ("row", "column", "cluster", "plot_axis", "corner")
    coords = {"row": np.arange(len(pairs)), "column": np.arange(pairs.shape[1]), "plot_axis": ["x", "y"]}
    return xr.Dataset({"X": (dims, lines)}, coords=coords)
