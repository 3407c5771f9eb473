"""What the clusters of an estimate are like, in the columns of the data."""

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_probability
from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.families import BernoulliBeta, CategoricalDirichlet
from pymc_nrm.models.dependents import mixtures_of
from pymc_nrm.models.rvs import checked_model, dims_of, family_of, find_partition
from pymc_nrm.posterior.cluster_description import ClusterDescription
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.stats.draws import item_dimension, partition_draws, posterior_of, stack_draws
from pymc_nrm.stats.losses import check_estimate
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.uncertainty import assignment_uncertainty

__all__ = ["describe_clusters"]

# A cell names at most so many levels, the most frequent ones, of at least this share.
_MOST_LEVELS, _LEAST_SHARE = 3, 0.1
# A cluster is set apart by at most so many columns; beside the first, they differ by so many standard deviations.
_MOST_APART, _LEAST_DIFFERENCE = 3, 0.5
# Names in tables beside those of columns of the data.
_OWN_NAMES = ("cluster", "items", "certainty")
# Texts show at most so many columns.
_MOST_COLUMNS = 20
_APART = "What sets a cluster apart from all other items most"


class _Column(NamedTuple):
    """A column of the data: its numbers, or the indicators of its levels."""

    name: str
    # Names of the levels, or None for numbers.
    levels: Any
    # Float of shape (n,), NaN where it is missing.
    values: Any


def describe_clusters(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    data: pd.DataFrame | None = None,
    var_name: str | None = None,
    ci_prob: float | None = None,
) -> ClusterDescription:
    """Describe the clusters of an estimate: sizes, how certain they are, their data, and what sets them apart.

    Parameters
    ----------
    %(idata)s
    %(model)s
    estimate : array_like of int, shape (n,), DataArray, or Dataset with the variable ``labels``, optional
        By default that of :func:`~pymc_nrm.point_estimate` with seed 0, as in
        :func:`~pymc_nrm.plots.plot_clusters`, whose legend has the same labels.
    data : DataFrame, shape (n, d), optional
        Columns to describe in place of those of the model, with a row for each item: values as they were recorded, or
        columns that the model leaves out.  Text, categories and columns that the model takes as categories have shares.
    %(var_name)s
    ci_prob : float, optional
        Probability of the intervals of sizes; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    ClusterDescription
        ``print`` shows a text, ``.table`` has the numbers, ``.to_html()`` makes a table for a report.

    Raises
    ------
    TypeError
        If the model is not a model, the estimate does not hold integers, or ``data`` is not a DataFrame.
    ValueError
        If there is no such partition, the estimate has a different number of items, the draws are not those of the
        model, ``data`` has other rows, or ``ci_prob`` is not between 0 and 1.

    Notes
    -----
    *Size.* The number of items of the cluster in the estimate.  In each draw it is the number of items of the cluster
    that holds most of these items, of several the smallest; the interval has equal tails.  It reaches above the size
    where draws merge the cluster with others, and below where they split it.

    *Certainty.* The mean posterior probability that two items of the cluster share one, over all pairs; for a single
    item, that it is alone.  This is one minus the mean of :func:`~pymc_nrm.assignment_uncertainty`.

    *Data.* Columns are the features of all observed mixtures over the partition, with names from the coordinates of
    the model, or the name of the mixture with a number.  Mean and standard deviation are those of the items, in units
    of the data in the model; recipes have spread repeated values by less than the width of their rounding, while
    ``data`` is taken as it is.  Binary columns have the share of ones, categorical ones the shares of levels, which
    have the names of the coordinate ``<column>_level`` or else ``level``.  Missing values are left out and counted.

    *What sets it apart.* Of each column, and each level of a category, the mean of the items of the cluster minus that
    of all other items, divided by the standard deviation of the column, or of the indicator of the level, over all
    items.  The three columns with the largest differences are named, and of the second and third only those of at least
    half a standard deviation.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"length": [3.1, 2.9, 5.5, 5.2, 5.0], "colour": ["red", "red", "blue", "blue", None]})
    >>> model = nrm.mixture_model(df)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1, 1], [0, 0, 1, 1, 2]]])})
    >>> description = nrm.describe_clusters(posterior, model, [0, 0, 1, 1, 1])
    >>> description.table["cluster"]["apart"][1]
    'length high: 5.2 against 3.0; colour blue: 100 % against 0 %'
    >>> description.cells["colour"].tolist()
    ['blue 100 % (1 missing)', 'red 100 %']
    """
    from arviz_base import rcParams

    if ci_prob is None:
        ci_prob = rcParams["stats.ci_prob"]
    check_probability(ci_prob, name="ci_prob")
    model = checked_model(model)
    partition = find_partition(model, var_name)
    draws = partition_draws(posterior_of(idata), partition.name)
    check_same_model(idata, model, partition.name)
    if estimate is None:
        estimate = point_estimate(draws, random_seed=0)
    check_estimate(estimate, draws)
    given = np.asarray(estimate["labels"] if isinstance(estimate, xr.Dataset) else estimate)
    names, labels = np.unique(given, return_inverse=True)
    counts = np.bincount(labels)
    order = np.argsort(-counts, kind="stable")
    partitions, tails = stack_draws(draws), [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    sizes = np.quantile(_sizes_in_draws(labels, partitions), tails, axis=0, method="inverted_cdf").astype("int64")
    certainty = 1.0 - np.bincount(labels, assignment_uncertainty(draws, given)) / counts

    table = {("cluster", "size"): counts, ("cluster", "size_low"): sizes[0], ("cluster", "size_high"): sizes[1]}
    table |= {("cluster", "certainty"): certainty, ("cluster", "apart"): None}
    cells = {
        "items": [f"{size} ({low} to {high})" for size, low, high in zip(counts, *sizes, strict=True)],
        "certainty": [f"{value:.2f}" for value in certainty],
    }
    apart, largest = [[] for _ in counts], {}
    columns = _columns(model, partition, len(labels))
    if data is not None:
        columns = _columns_of_table(data, columns, draws)
    for column in columns:
        statistics, texts, differences = _described(column, labels)
        table |= {(column.name, statistic): values for statistic, values in statistics.items()}
        cells[column.name] = texts
        largest[column.name] = max((difference[0] for difference in differences if difference), default=0.0)
        for entries, difference in zip(apart, differences, strict=True):
            entries += [difference] if difference else []
    left_out = sorted(largest, key=largest.get, reverse=True)[_MOST_COLUMNS:]
    cells = {name: texts for name, texts in cells.items() if name not in left_out}
    cells[_APART] = table["cluster", "apart"] = [_most_apart(entries) for entries in apart]
    index = pd.Index(names, name="cluster")
    notes = [
        f"items: how many there are, and in brackets how many are in the cluster that holds most of them, in "
        f"{100 * ci_prob:.4g} % of {len(partitions)} draws",
        "certainty: how probable it is that two items of the cluster belong together, or that a single one is alone",
    ]
    if any(column.levels is None for column in columns):
        notes.append("numbers: mean ± standard deviation of the items")
    if any(statistic == "missing" for _, statistic in table):
        notes.append("missing: items without a value, which means and shares leave out")
    if left_out:
        notes.append(
            f"columns: the {_MOST_COLUMNS} of {len(columns)} that differ most between a cluster and the others"
        )
    return ClusterDescription(
        pd.DataFrame(table, index=index).iloc[order],
        pd.DataFrame(cells, index=index).iloc[order],
        f"{len(labels)} items in {len(counts)} cluster{'s' * (len(counts) > 1)}, the largest first",
        tuple(notes),
    )


def _sizes_in_draws(labels, draws):
    """Size, in each draw, of the cluster with most items of a cluster of the estimate. Shapes: ``labels`` (n,),
    ``draws`` (S, n); returns (S, K).
    """
    n, n_clusters = len(labels), int(labels.max()) + 1
    found = np.empty((len(draws), n_clusters), dtype=np.int64)
    for s, draw in enumerate(draws):
        shared = np.bincount(draw * n_clusters + labels, minlength=(draw.max() + 1) * n_clusters)
        shared = shared.reshape(-1, n_clusters)
        sizes = shared.sum(axis=1)
        found[s] = sizes[(shared * (n + 1) - sizes[:, None]).argmax(axis=0)]
    return found


def _columns(model, partition, n):
    """All columns of the observed mixtures over a partition; names that are taken begin with that of the mixture."""
    observed, columns = find_observations(model), []
    for mixture in mixtures_of(model, partition):
        if mixture.name not in observed:
            continue
        values = np.asarray(observed[mixture.name], dtype="float64")
        if len(values) != n:
            raise ValueError(
                f"Mixture {mixture.name!r} has {len(values)} rows of data, and its partition {n} items in the draws: "
                "set the data with which the draws were made"
            )
        dim = dims_of(model, mixture)[-1]
        features = [mixture.name] if values.ndim == 1 else model.coords.get(dim)
        if features is None:
            features = [f"{mixture.name}_{k}" for k in range(values.shape[1])]
        for name, column in zip(map(str, features), values.reshape(n, -1).T, strict=True):
            columns.append((mixture.name, _Column(name, _levels(model, mixture, name, column), column)))
    names = [*_OWN_NAMES, *(column.name for _, column in columns)]
    return [c._replace(name=f"{mixture} {c.name}") if names.count(c.name) > 1 else c for mixture, c in columns]


def _columns_of_table(data, of_model, draws):
    """Columns of a table with a row for each item; levels are those that occur."""
    if not isinstance(data, pd.DataFrame):
        raise TypeError(f"data must be a pandas DataFrame; got {type(data).__name__}")
    dim = item_dimension(draws)
    items = list(map(str, draws.indexes[dim] if dim in draws.indexes else data.index[: draws.sizes[dim]]))
    if len(data) != draws.sizes[dim] or list(map(str, data.index)) != items:
        raise ValueError(
            f"data must have a row for each of the {draws.sizes[dim]} items, with the names and in the order of the "
            f"draws; got {len(data)} rows"
        )
    levels, columns = {column.name: column.levels for column in of_model}, []
    for place, name in enumerate(map(str, data.columns)):
        column, known = data.iloc[:, place], levels.get(name)
        numeric = pd.api.types.is_numeric_dtype(column)
        if numeric and (known is None or known == ("yes",)):
            if pd.api.types.is_bool_dtype(column):
                known = ("yes",)
            columns.append(_Column(name, known, column.to_numpy(dtype="float64", na_value=np.nan)))
        else:
            codes, present = pd.factorize(column, sort=True)
            columns.append(_Column(name, tuple(map(str, present)), np.where(codes < 0, np.nan, codes)))
    return [one._replace(name=f"data {one.name}") if one.name in _OWN_NAMES else one for one in columns]


def _levels(model, mixture, name, values):
    """Names of the levels of a column of categories, ``yes`` for one of truth values, None for numbers."""
    family_class = type(family_of(mixture))
    if family_class is BernoulliBeta:
        return ("yes",)
    if family_class is not CategoricalDirichlet:
        return None
    n_levels = int(np.nanmax(values, initial=0)) + 1
    named = model.coords.get(f"{name}_level", model.coords.get("level"))
    if named is None or len(named) < n_levels:
        named = range(n_levels)
    return tuple(map(str, named))


def _described(column, labels):
    """Statistics of a column in each cluster by their names, texts for cells, and what sets each cluster apart in it:
    pairs of a difference in standard deviations and a text, or None.
    """
    known = np.isfinite(column.values)
    own, values, n_clusters = labels[known], column.values[known], int(labels.max()) + 1
    counts = np.bincount(own, minlength=n_clusters)
    missing = np.bincount(labels[~known], minlength=n_clusters)
    if column.levels is None:
        # Sums of centred numbers lose no digits.
        centre = values.mean() if len(values) else 0.0
        parts = values[:, None] - centre
    else:
        centre, codes = 0.0, [1.0] if column.levels == ("yes",) else np.arange(len(column.levels))
        parts = (values[:, None] == codes).astype("float64")
    sums = np.stack([np.bincount(own, part, n_clusters) for part in parts.T], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / counts[:, None]
        others = (sums.sum(axis=0) - sums) / (counts.sum() - counts)[:, None]
        spread = parts.std(axis=0) if len(parts) else np.full(parts.shape[1], np.nan)
        differences = (means - others) / spread
    if column.levels is None:
        write, squares = _writer(spread[0]), (parts[:, 0] - means[own, 0]) ** 2
        inner = np.sqrt(np.bincount(own, squares, n_clusters) / np.where(counts > 1, counts - 1, np.nan))
        means, others = means + centre, others + centre
        statistics = {"mean": means[:, 0], "sd": inner}
        texts = [write(m) + (f" ± {write(s)}" if s == s else "") for m, s in zip(means[:, 0], inner, strict=True)]
    else:
        statistics = dict(zip(column.levels, means.T, strict=True))
        texts = [_main_levels(column.levels, shares) for shares in means]
    if missing.any():
        statistics["missing"] = missing
    texts = ["" if count == 0 else text for text, count in zip(texts, counts, strict=True)]
    texts = [f"{text} ({gaps} missing)".strip() if gaps else text for text, gaps in zip(texts, missing, strict=True)]
    found = []
    for mean, other, difference in zip(means, others, differences, strict=True):
        if not np.isfinite(difference).any():
            found.append(None)
            continue
        # Of two levels that differ alike, the one that is frequent in the cluster.
        level = int(np.nanargmax(np.abs(difference) * (1 + 1e-9 * np.sign(difference))))
        if column.levels is None:
            how = f"{'high' if difference[0] > 0 else 'low'}: {write(mean[0])} against {write(other[0])}"
        else:
            how = f"{column.levels[level]}: {100 * mean[level]:.0f} % against {100 * other[level]:.0f} %"
        found.append((abs(difference[level]), f"{column.name} {how}"))
    return statistics, texts, found


def _main_levels(levels, shares):
    """The most frequent levels with their shares in per cent."""
    order = np.argsort(-shares, kind="stable")[:_MOST_LEVELS]
    main = [k for k in order if shares[k] >= _LEAST_SHARE or len(levels) == 1]
    rest = 100 * (1.0 - shares[main].sum())
    others = [f"others {rest:.0f} %"] if len(levels) > 1 and rest >= 0.5 else []
    return ", ".join([*(f"{levels[k]} {100 * shares[k]:.0f} %" for k in main), *others])


def _writer(spread):
    """A function that writes numbers to a twentieth of a standard deviation or more exactly."""
    if not 1e-5 < spread < 1e7:
        return "{:.4g}".format
    # Without a sign of zero.
    return f"{{:z.{max(0, 1 - math.floor(math.log10(spread)))}f}}".format


def _most_apart(entries):
    entries = sorted(entries, key=lambda entry: -entry[0])
    kept = [text for k, (size, text) in enumerate(entries[:_MOST_APART]) if k == 0 or size >= _LEAST_DIFFERENCE]
    return "; ".join(kept)
