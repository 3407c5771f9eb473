"""Plot of the categories of the items of each cluster."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.tables import as_pandas
from pymc_nrm.plots.canvas import LEGEND, OF_BACKEND, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_points import (
    column_places,
    columns_of_text,
    draws_and_estimate,
    followed_rows,
    grouped_estimate,
    grouped_points,
)
from pymc_nrm.stats.contingency import contingency_table

MAX_COLUMNS = 12
MAX_LEVELS = 8
MAX_BINARY = 40
# Plot of the columns with values 0 and 1.
ONES = "share of ones"
# Vertical distance between the first and the last cluster of a category; categories are 1 apart.
SPREAD = 0.5


@options_of_plots(
    {"shares": "``scatter`` of the backend, once for each cluster", "xlabel, ylabel": OF_BACKEND, **LEGEND},
    method="wrap",
)
def plot_category_shares(
    idata: xr.DataTree | xr.Dataset | xr.DataArray | None,
    X: Any,
    *,
    var_name: str | None = None,
    model: Model | None = None,
    estimate: Any = None,
    features: Any = None,
    min_size: Any = None,
    **options: Any,
) -> PlotCollection:
    """Plot the share of each category among the items of each cluster of a point estimate.

    Binary columns, of 0 and 1 or of truth values, share one plot of the share of ones in each column: the profiles of
    the clusters.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray, or None
        Draws of a partition; None is allowed if `estimate` is given.
    X : DataFrame, n rows
        Data; shares are relative to the items with a value in the column.
    %(var_name)s
    model : pymc.Model, optional
        The sampled model: without an estimate, clusters are then the fused components of
        :func:`~pymc_nrm.describe`, with the same labels.
    estimate : Dataset with variable ``labels``, DataArray or array_like, shape (n,), or Description, optional
        By default, without a model, the components of :func:`~pymc_nrm.stats.point_estimate` with ``random_seed=0``.
    features : sequence of int or str, optional
        Columns of X to show, by position or name, at most 12 of categories and 40 of 0 and 1.  By default columns of
        text, categories or truth values, and columns whose numbers are all 0 or 1.
    min_size : int, optional
        Clusters with fewer items are grey crosses, all together; by default 1 % of the items, and at least 2.

    Returns
    -------
    PlotCollection
        It has a plot for each column of categories, in its dimension ``column``, and a last plot named
        ``share of ones`` for all binary columns.

    Raises
    ------
    TypeError
        If X is not a DataFrame.
    ValueError
        If there are no such columns, there are too many of them, or an argument does not fit the draws or the data.

    Notes
    -----
    Clusters have the order, colours and markers of :func:`~pymc_nrm.plots.plot_clusters`, which shows numeric columns.
    The most frequent category is at the top; categories after the seventh are combined as "others".

    Examples
    --------
    >>> import pandas as pd
    >>> from pymc_nrm.plots import plot_category_shares
    >>> df = pd.DataFrame({"island": ["Dream", "Dream", "Biscoe", "Biscoe", "Biscoe"]})
    >>> pc = plot_category_shares(None, df, estimate=[0, 0, 0, 1, 1], backend="none")
    >>> [points["x"].round(2).tolist() for points in pc.viz["shares"]["share"].sel(column="island").values]
    [[0.33, 0.67], [1.0, 0.0]]
    """
    canvas = Canvas(plot_category_shares, options)
    X = as_pandas("X", X)
    if not isinstance(X, pd.DataFrame):
        raise TypeError(f"X must be a DataFrame; got {type(X).__name__}")
    draws, estimate, kept = draws_and_estimate(idata, model, var_name, estimate)
    if draws is None and estimate is None:
        raise ValueError("idata must be given unless estimate is given")
    X = followed_rows(X, draws)
    n = len(X) if draws is None else len(kept)
    if len(X) != n:
        raise ValueError(f"X must have one row for each of the {n} items; got {len(X)}")
    X, n = (X, n) if kept is None else (X[kept], np.count_nonzero(kept))
    columns = [str(name) for name in X.columns]
    binary = [name for j, name in enumerate(columns) if _is_binary(X.iloc[:, j])]
    if features is None:
        of_text = columns_of_text(X)
        features = [name for name in columns if name in of_text or name in binary]
        if not features:
            raise ValueError(
                f"X must have a column of text, categories, truth values or 0 and 1; got numbers in "
                f"{', '.join(columns)}. Choose columns with features=[...]"
            )
    places = column_places(columns, features)
    of_ones = [place for place in places if columns[place] in binary]
    places = [place for place in places if place not in of_ones]
    if len(places) > MAX_COLUMNS or len(of_ones) > MAX_BINARY:
        raise ValueError(
            f"features must be at most {MAX_COLUMNS} columns of categories and {MAX_BINARY} of 0 and 1; got "
            f"{len(places)} and {len(of_ones)}"
        )
    _, groups = grouped_estimate(draws, estimate, n, min_size)
    tables = {columns[place]: _shares(X.iloc[:, place], groups) for place in places}
    if of_ones:
        shares = [_share_of_ones(X.iloc[:, place], groups) for place in of_ones]
        tables[ONES] = [columns[place] for place in of_ones], np.stack(shares, axis=1)
    names = list(tables)
    n_columns, most = min(len(names), 3), max(len(levels) for levels, _ in tables.values())
    points = np.full((len(names), groups.n_groups, most, 2), np.nan)
    offsets = np.linspace(SPREAD / 2, -SPREAD / 2, groups.n_groups) if groups.n_groups > 1 else np.zeros(1)
    for j, (levels, shares) in enumerate(tables.values()):
        heights = np.arange(len(levels))[::-1] + offsets[:, None]
        points[j, :, : len(levels)] = np.stack([shares, heights], axis=-1)
    coords = {"column": names, "plot_axis": ["x", "y"]}
    data = xr.Dataset({"share": (("column", "item", "plot_axis"), points.reshape(len(names), -1, 2))}, coords)
    canvas.create(
        data,
        width=0.6 + 0.7 * n_columns,
        height=0.6 + (0.5 + 0.25 * most) * -(-len(names) // n_columns),
        cols=["column"],
        col_wrap=n_columns,
    )
    drawn = dataclasses.replace(groups, labels=np.repeat(np.arange(groups.n_groups), most))
    canvas.draw(grouped_points, "shares", artist_dims={"group": groups.n_groups}, groups=drawn, size=30)
    canvas.label("ylabel", {name: "" if name == ONES else name for name in names}, by=["column"])
    below = {name: ONES if name == ONES else "share of the items" for name in names[-n_columns:]}
    canvas.label("xlabel", below, by=["column"])
    for name, (levels, _) in tables.items():
        ticks = np.arange(len(levels))[::-1], levels
        canvas.axes(coords={"column": name}, yticks=ticks, ylim=(-0.6, len(levels) - 0.4), xlim=(-0.05, 1.05))
    canvas.entries = list(zip(groups.names(), groups.entries(), strict=True))
    canvas.legend(title="clusters", loc="outside right upper", fontsize="small")
    return canvas.collection


def _shares(column, groups):
    """Categories, the most frequent first, and their shares in each group (n_groups, n_levels)."""
    counts = column.value_counts()
    counts = counts[counts > 0]
    if not len(counts):
        raise ValueError(f"X must have a value in each column to show; column {column.name!r} has none")
    kept = counts.index if len(counts) <= MAX_LEVELS else counts.index[: MAX_LEVELS - 1]
    place = pd.Index(list(kept), dtype=object).get_indexer(column.astype(object))
    present = column.notna().to_numpy()
    place = np.where(present & (place < 0), len(kept), place)
    levels = [*map(str, kept), *(["others"] if len(kept) < len(counts) else [])]
    counts = contingency_table(groups.labels[present], place[present], groups.n_groups, len(levels))
    with np.errstate(invalid="ignore"):
        return levels, counts / counts.sum(axis=1, keepdims=True)


def _is_binary(column):
    """Whether a column holds truth values, or numbers that are all 0 or 1."""
    is_number = pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column)
    if not is_number or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    present = column.dropna()
    return len(present) > 0 and bool(present.isin([0, 1]).all())


def _share_of_ones(column, groups):
    """Share of ones or of True in each group, shape (n_groups,)."""
    values = column.to_numpy(dtype="float64", na_value=np.nan)
    present = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        counts = np.bincount(groups.labels[present], minlength=groups.n_groups)
        return np.bincount(groups.labels[present], values[present], groups.n_groups) / counts
