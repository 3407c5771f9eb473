"""Columns of the data of a partition, and what they are like in each cluster."""

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.families import BernoulliBeta, CategoricalDirichlet
from pymc_nrm.models.rvs import dims_of, family_of, mixtures_of, rows_of
from pymc_nrm.stats.draws import item_dimension

# A cell names at most so many levels, the most frequent ones, of at least this share, and one more if it is the last.
_MOST_LEVELS, _LEAST_SHARE = 3, 0.1
# Names in tables beside those of columns of the data.
_OWN_NAMES = ("cluster", "items", "together", "others", "certainty")


class _Column(NamedTuple):
    """A column of the data: its numbers, or the indicators of its levels."""

    name: str
    # Names of the levels, or None for numbers.
    levels: Any
    # Float of shape (n,), NaN where it is missing.
    values: Any


def columns_of_model(model, partition, n):
    """Columns of the observed mixtures with a row for each item; taken names begin with that of the mixture."""
    observed, columns = find_observations(model), []
    for mixture in mixtures_of(model, partition):
        if mixture.name not in observed or not isinstance(rows_of(mixture), slice):
            continue
        # Recipes keep what was recorded where they spread repeated values.
        values = np.asarray(getattr(mixture.tag, "recorded", observed[mixture.name]), dtype="float64")
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


def columns_of_table(data, of_model, draws):
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


def describe_column(column, labels):
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
        write, squares = _writer(spread[0], (values == np.floor(values)).all()), (parts[:, 0] - means[own, 0]) ** 2
        inner = np.sqrt(np.bincount(own, squares, n_clusters) / np.where(counts > 1, counts - 1, np.nan))
        means, others = means + centre, others + centre
        # What is left of zeros that were centred, or of equal values, is no number.
        error = 16.0 * np.finfo("float64").eps * np.abs(values).max(initial=0.0)
        means, others, inner = (np.where(np.abs(one) < error, 0.0, one) for one in (means, others, inner))
        statistics = {"mean": means[:, 0], "sd": inner}
        texts = [_mean_and_sd(mean, sd, write) for mean, sd in zip(means[:, 0], inner, strict=True)]
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


def _mean_and_sd(mean, sd, write):
    """The text of a cluster, with more digits if those of a column over orders of magnitude show none of it."""
    alone = math.isnan(sd)
    own = abs(mean) if alone else sd
    if own > 0.0 and float(write(own)) == 0.0:
        write = _writer(own, whole=False)
    return write(mean) if alone else f"{write(mean)} ± {write(sd)}"


def _main_levels(levels, shares):
    """The most frequent levels with their shares in per cent; the others together, but a single one by its name."""
    order = [k for k in np.argsort(-shares, kind="stable") if shares[k] >= 0.005 or len(levels) == 1]
    n_main = max(1, sum(shares[k] >= _LEAST_SHARE for k in order[:_MOST_LEVELS]))
    n_main += len(order) == n_main + 1
    rest = 100 * (1.0 - shares[order[:n_main]].sum())
    others = [f"others {rest:.0f} %"] if len(order) > n_main else []
    return ", ".join([*(f"{levels[k]} {100 * shares[k]:.0f} %" for k in order[:n_main]), *others])


def _writer(spread, whole):
    """A function that writes numbers to a tenth of a standard deviation, but means of whole numbers to 0.1 at most."""
    if not 1e-5 < spread < 1e7:
        return "{:.4g}".format
    # Without a sign of zero.
    n_digits = max(0, 1 - math.floor(math.log10(spread)))
    return f"{{:z.{min(n_digits, 1) if whole else n_digits}f}}".format
