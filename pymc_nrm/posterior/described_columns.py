"""Columns of the data of a partition, with their kinds."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.families import BernoulliBeta, CategoricalDirichlet, HurdleLogNormal, HurdlePoisson
from pymc_nrm.models.chunked_mixture import ChunkedMixtureRV
from pymc_nrm.models.origin import origin_of
from pymc_nrm.models.rvs import counts_of, dims_of, family_of, mixtures_of, rows_of
from pymc_nrm.models.values import constant_value
from pymc_nrm.stats.draws import item_dimension
from pymc_nrm_predictor.reading.column_contents import read_content
from pymc_nrm_predictor.reading.content import BOOLEANS, Rule

# Names in tables, in addition to the names of columns of the data.
_OWN_NAMES = ("items", "observations", "together", "others", "certainty")

# Kinds of the columns of families, by the names of ``describe_values.KINDS``; all others hold numbers.
_KIND_OF_FAMILY = {
    BernoulliBeta: "truth",
    CategoricalDirichlet: "levels",
    HurdleLogNormal: "zero or positive",
    HurdlePoisson: "zero or positive",
}


class Column(NamedTuple):
    """A column of the data."""

    name: str
    # Name in ``describe_values.KINDS``.
    kind: str
    # Names of the levels that the values number, or None.
    levels: Any
    # Float of shape (n_rows,), NaN where it is missing.
    values: Any
    # Item of each row, of shape (n_rows,), or None if every item has one.
    items: Any = None
    # The unit that numbers had as text, or an empty text.
    unit: str = ""
    # How dates were read, a :class:`~pymc_nrm_predictor.reading.content.Rule`, or None for numbers.
    dates: Any = None
    # Number of observations of each value, int64 of shape (n_rows,), or None if each is one.
    counts: Any = None


def columns_of_model(model, partition, n, noun="cluster"):
    """Columns of the observed mixtures, for rows in chunks with the followed rows only; taken names begin with the name
    of the mixture, and ``noun``, what a cluster is called, is taken.
    """
    observed, columns = find_observations(model), []
    for mixture in mixtures_of(model, partition):
        if isinstance(mixture.owner.op, ChunkedMixtureRV):
            rows, recorded = mixture.owner.op.rows, origin_of(mixture).recorded
            values = rows.chunks.followed_values[rows.columns].to_numpy("float64") if recorded is None else recorded
            features, items = rows.columns, None
        elif mixture.name in observed:
            # Recipes keep what was recorded where they spread repeated values.
            recorded = origin_of(mixture).recorded
            values = np.asarray(observed[mixture.name] if recorded is None else recorded, dtype="float64")
            features, items = _features(model, mixture, values), _items(mixture)
        else:
            continue
        if items is None and len(values) != n:
            raise ValueError(
                f"Mixture {mixture.name!r} has {len(values)} rows of data, and its partition {n} items in the draws: "
                "set the data with which the draws were made"
            )
        matrix, readings = values.reshape(len(values), -1), origin_of(mixture).readings_by_name
        named = [getattr(reading, "levels", ()) for reading in origin_of(mixture).readings] or [()] * matrix.shape[1]
        kinds = _kinds(mixture, matrix.shape[1])
        for name, kind, column, known in zip(map(str, features), kinds, matrix.T, named, strict=True):
            levels = _levels(model, name, column, known) if kind == "levels" else None
            unit, dates = _unit_and_dates(readings[name].rule if name in readings else Rule())
            described = Column(name, kind, levels, column, items, unit, dates, counts_of(mixture))
            columns.append((mixture.name, described))
    names = [noun, *_OWN_NAMES, *(column.name for _, column in columns)]
    return [c._replace(name=f"{mixture} {c.name}") if names.count(c.name) > 1 else c for mixture, c in columns]


def _unit_and_dates(rule):
    """The unit of numbers, or the rule of dates, which have none."""
    return (rule.shown_unit, None) if rule.start is None else ("", rule)


def of_items(column, kept):
    """A column of some of the items only, which are numbered again; ``kept`` is bool (n,)."""
    if column.items is None:
        counts = None if column.counts is None else column.counts[kept]
        return column._replace(values=column.values[kept], counts=counts)
    rows = kept[column.items]
    return column._replace(values=column.values[rows], items=(np.cumsum(kept) - 1)[column.items[rows]])


def _features(model, mixture, values):
    """Names of the columns of a mixture."""
    if values.ndim == 1:
        return [mixture.name]
    read = [reading.name for reading in origin_of(mixture).readings]
    features = model.coords.get(dims_of(model, mixture)[-1])
    if features is None and len(read) == values.shape[1] and all(isinstance(name, str) for name in read):
        return read
    return [f"{mixture.name}_{k}" for k in range(values.shape[1])] if features is None else features


def _kinds(mixture, n_columns):
    """Kinds of the columns of a mixture."""
    family = family_of(mixture)
    log_columns = getattr(family, "log_columns", None)
    if log_columns is not None:
        is_log = np.broadcast_to(constant_value(log_columns), n_columns)
        return ["positive" if on_log_scale else "number" for on_log_scale in is_log]
    return [_KIND_OF_FAMILY.get(type(family), "number")] * n_columns


def _items(mixture):
    """Item of each row of a mixture, None if every item has one."""
    rows = rows_of(mixture)
    return None if isinstance(rows, slice) else np.asarray(rows, dtype="int64")


def observations_of_items(model, partition):
    """Number of observations of each item, int64 of shape (n,), if it is the same in all mixtures, else None."""
    counts = [counts_of(mixture) for mixture in mixtures_of(model, partition)]
    if not counts or any(one is None or not np.array_equal(one, counts[0]) for one in counts):
        return None
    return counts[0]


def columns_of_table(data, of_model, draws, rules, noun="cluster", counts=None):
    """Columns of a table with a row for each item, which stands for ``counts`` observations; levels are those that
    occur.

    ``rules`` say how the model has read columns, by their names.
    """
    data = as_pandas("data", data)
    if not isinstance(data, pd.DataFrame):
        raise TypeError(f"data must be a pandas DataFrame; got {type(data).__name__}")
    dim = item_dimension(draws)
    items = list(map(str, draws.indexes[dim] if dim in draws.indexes else data.index[: draws.sizes[dim]]))
    if len(data) != draws.sizes[dim] or list(map(str, data.index)) != items:
        raise ValueError(
            f"data must have a row for each of the {draws.sizes[dim]} items, with the names and in the order of the "
            f"draws; got {len(data)} rows"
        )
    kinds, columns = {column.name: column.kind for column in of_model}, []
    for place, name in enumerate(map(str, data.columns)):
        content = read_content(data.iloc[:, place], *rules.get(name, ()))
        kind = "truth" if content.form == BOOLEANS else kinds.get(name, "number")
        if content.is_number and kind != "levels":
            unit, dates = _unit_and_dates(content.rule)
            columns.append(Column(name, kind, None, content.values, unit=unit, dates=dates))
        else:
            columns.append(Column(name, "levels", tuple(map(str, content.levels)), content.codes(content.levels)))
    taken = (noun, *_OWN_NAMES)
    columns = [column._replace(name=f"data {column.name}") if column.name in taken else column for column in columns]
    return [column._replace(counts=counts) for column in columns]


def rules_of_model(model, partition):
    """How a recipe has read the columns of a table, by their names; one rule in a tuple for each."""
    readings = [origin_of(mixture).readings_by_name for mixture in mixtures_of(model, partition)]
    return {name: (reading.rule,) for columns in readings for name, reading in columns.items()}


def _levels(model, name, values, known):
    """Names of the levels of a column of categories: those that were read, or the coordinates of a model."""
    n_levels = int(np.nanmax(values, initial=0)) + 1
    named = known or model.coords.get(f"{name}_level", model.coords.get("level"))
    if named is None or len(named) < n_levels:
        named = range(n_levels)
    return tuple(map(str, named))
