"""Checked point estimates with clusters in a common order, and items as points in the colours of clusters."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pymc_nrm.common.checks import check_count, numeric_array
from pymc_nrm.common.marks import ROWS
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.plots.visuals import CLUSTER_COLORS, MARKERS, backend_marker, backend_of, cluster_style
from pymc_nrm.posterior.default_clusters import default_clusters
from pymc_nrm.posterior.description import Description
from pymc_nrm.stats.contingency import contingency_table, match_clusters
from pymc_nrm.stats.draws import estimated_items, item_dimension, partition_draws
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import chosen_estimate, draws_of_estimate
from pymc_nrm_predictor.reading.column_contents import read_content


def distance_unit(attrs):
    """Unit of a loss with the given costs: bits, nats, or none."""
    return {2: "bits", np.e: "nats"}.get(attrs.get("base"), "")


def by_size(labels):
    """Rename labels so that 0 is the largest cluster; clusters of equal size keep their order."""
    return np.argsort(np.argsort(-np.bincount(labels), kind="stable"))[labels]


def matched_labels(labels, reference):
    """Rename labels so that clusters get the labels of overlapping clusters of another partition. As many items as
    possible keep their label in `reference`.  Clusters without a match get the following labels, the largest cluster
    first.
    """
    table = contingency_table(labels, reference)
    name = match_clusters(table)
    unmatched = np.flatnonzero(name < 0)
    unmatched = unmatched[np.argsort(-table[unmatched].sum(axis=1), kind="stable")]
    name[unmatched] = table.shape[1] + np.arange(len(unmatched))
    return name[labels]


def prior_draws(prior, read, name):
    """Read prior draws, from the group ``prior`` if there is one."""
    if isinstance(prior, xr.DataTree) and "prior" in prior.children:
        prior = prior["prior"].to_dataset()
    return read(prior, None if isinstance(prior, xr.DataArray) else name)


OTHERS_COLOR = "#595959"
MAX_GROUPS = len(CLUSTER_COLORS) * len(MARKERS)


def feature_matrix(X, n, features=None):
    """Data (n,) or (n, d) as a matrix of numbers, and names of its columns: ``x_0``, ... if they have none."""
    X = as_pandas("X", X)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if isinstance(X, pd.DataFrame):
        contents = [read_content(X.iloc[:, j]) for j in range(len(names))]
        numeric = [j for j, content in enumerate(contents) if content.is_number]
        if features is None and not numeric:
            raise ValueError(f"X must have numeric columns; got {names} of text or categories")
        kept = numeric if features is None else column_places(names, features)
        of_text = [names[j] for j in kept if j not in numeric]
        if of_text:
            raise TypeError(f"X must have numbers in the columns of features; got text or categories in {of_text}")
        units = [contents[j].rule.shown_unit for j in kept]
        names = [f"{names[j]} ({unit})" if unit else names[j] for j, unit in zip(kept, units, strict=True)]
        X, features = np.stack([contents[j].values for j in kept], axis=1), None
    values = numeric_array("X", X).astype("float64")
    if isinstance(X, xr.DataArray) and X.ndim == 2 and X.dims[1] in X.coords:
        names = [str(name) for name in X[X.dims[1]].values]
    elif values.ndim == 1:
        names = [str(getattr(X, "name", None) or "x")]
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[0] != n or values.shape[1] == 0:
        raise ValueError(f"X must have one row for each of the {n} items; got shape {np.shape(X)}")
    names = names or [f"x_{j}" for j in range(values.shape[1])]
    if features is None:
        return values, names
    kept = column_places(names, features)
    return values[:, kept], [names[j] for j in kept]


def followed_rows(X, draws):
    """The rows of data that draws follow, if these are of rows in chunks and X has all rows; otherwise X."""
    X = as_pandas("X", X)
    n_rows = None if draws is None else draws.attrs.get(ROWS)
    if n_rows is None or np.ndim(X) == 0 or len(X) != n_rows:
        return X
    places = draws[item_dimension(draws)].to_numpy()
    return X.iloc[places] if hasattr(X, "iloc") else np.asarray(X)[places]


def columns_of_text(X):
    """Names of the columns of a DataFrame that :func:`feature_matrix` omits by default."""
    X = as_pandas("X", X)
    if not isinstance(X, pd.DataFrame):
        return []
    return [str(name) for j, name in enumerate(X.columns) if not read_content(X.iloc[:, j]).is_number]


def column_places(names, features):
    """Positions of features, specified by position or name."""
    chosen = list(features) if isinstance(features, Iterable) and not isinstance(features, str | bytes) else []
    places = [names.index(feature) if isinstance(feature, str) and feature in names else feature for feature in chosen]
    wrong = [feature for feature, place in zip(chosen, places, strict=True) if not _is_place(place, len(names))]
    if wrong or not chosen:
        raise ValueError(
            f"features must be a list of at least one name or position among the columns of X ({', '.join(names)}); "
            f"got {wrong[0] if wrong else features!r}"
        )
    return [int(place) for place in places]


def _is_place(place, n):
    return isinstance(place, int | np.integer) and not isinstance(place, bool) and 0 <= place < n


@dataclasses.dataclass(frozen=True)
class Groups:
    """Groups of items with one style each: large clusters one by one, then all small clusters together."""

    # Group of each item, 0 to `n_groups - 1`; int of shape (n,).
    labels: Any
    n_groups: int
    # Numbers of items of the groups.
    sizes: tuple = ()
    # Number of small clusters in the last group; 0 if it is a single cluster like the others.
    n_others: int = 0
    # Smallest and largest size of the small clusters.
    others: tuple = (0, 0)
    # Labels of the large clusters in the estimate.
    numbers: tuple = ()

    def style(self, group):
        """Colour and marker of a group; small clusters have marker ``x``."""
        if self.n_others and group == self.n_groups - 1:
            return OTHERS_COLOR, "x"
        return cluster_style(group)

    def heights(self, x):
        """Heights of the items of each group for one feature: ranks of groups by mean, with small clusters lowest."""
        present = np.isfinite(x)
        counts = np.bincount(self.labels[present], minlength=self.n_groups)
        with np.errstate(invalid="ignore"):
            means = np.bincount(self.labels[present], x[present], self.n_groups) / counts
        if self.n_others:
            means[-1] = -np.inf
        return np.argsort(np.argsort(means, kind="stable"))

    def names(self):
        """Legend texts."""
        own_sizes = self.sizes[: self.n_groups - bool(self.n_others)]
        texts = [f"{k}: {size} item{'s' * (size > 1)}" for k, size in zip(self.numbers, own_sizes, strict=True)]
        if self.n_others:
            low, high = self.others
            size = f"{low}" if low == high else f"{low} to {high}"
            many = f"{self.n_others} clusters" if self.n_others > 1 else "1 cluster"
            texts.append(f"{many} of {size} item{'s' * (high > 1)}")
        return texts

    def entries(self):
        """Legend properties."""
        styles = [self.style(group) for group in range(self.n_groups)]
        return [{"color": color, "marker": marker, "linestyle": "none"} for color, marker in styles]


def group_clusters(labels, min_size, numbers):
    """Group items by cluster; clusters with fewer than `min_size` items, or beyond the last style, share a group."""
    counts = np.bincount(labels)
    n_own = min(int((counts >= min_size).sum()), MAX_GROUPS)
    n_others = len(counts) - n_own
    sizes = [int(count) for count in counts[:n_own]]
    if n_others:
        sizes.append(int(counts[n_own:].sum()))
    others = (int(counts[-1]), int(counts[n_own])) if n_others else (0, 0)
    return Groups(np.minimum(labels, n_own), len(sizes), tuple(sizes), n_others, others, tuple(numbers[:n_own]))


def draws_and_estimate(idata, model, var_name, estimate):
    """Draws to compare an estimate with, or None, the estimate, and whether it has each item, bool (n,), or None.

    By default the estimate is the one that :func:`~pymc_nrm.describe` shows, if there is a model.
    """
    if isinstance(estimate, Description):
        estimate = estimate.estimate
    if idata is None:
        return None, estimate, None
    if model is not None:
        clusters = default_clusters(idata, model, var_name, estimate)
        return clusters.draws, clusters.estimate, clusters.kept
    draws = partition_draws(idata, var_name)
    return draws_of_estimate(draws, estimate), estimate, estimated_items(draws, estimate)


def grouped_estimate(draws, estimate, n, min_size):
    """Ranks by size of the clusters of items (n,) in an estimate, by default from the draws, and their groups."""
    check_count("min_size", min_size, 1, optional=True)
    estimated, names = (
        read_estimate(estimate, n=n) if draws is None else chosen_estimate(estimate, draws, random_seed=0)
    )
    labels, numbers = by_size(estimated), np.empty_like(names)
    numbers[labels] = names[estimated]
    return labels, group_clusters(labels, max(2, -(-n // 100)) if min_size is None else min_size, numbers)


def grouped_points(da, target, *, groups, alpha=None, size=22, **kwargs):
    """Draw points in the colour and with the marker of their group; the result is None for a group without points."""
    backend = backend_of(target)
    backend_name = backend.__name__.rsplit(".", 1)[-1]
    x, y = da.sel(plot_axis="x").values, da.sel(plot_axis="y").values
    shown = np.isfinite(x) & np.isfinite(y)
    drawn = np.empty(groups.n_groups, dtype=object)
    for group in range(groups.n_groups):
        members = np.flatnonzero((groups.labels == group) & shown)
        if len(members) == 0:
            continue
        color, marker = groups.style(group)
        style = {"color": color, "marker": backend_marker(marker, backend_name), "width": 1.2 if marker == "x" else 0}
        if alpha is not None:
            style["alpha"] = alpha[members]
        drawn[group] = backend.scatter(x[members], y[members], target, **{"size": size, **style, **kwargs})
    return drawn
