"""Rows of a table at the times, and in the sequences, of draws of hidden states."""

import itertools

import numpy as np
import pandas as pd

from pymc_nrm.common.dates import as_times, written_times
from pymc_nrm.states.recipes.joined_dates import joined_dates


def rows_of_times(data, times, sequences=None):
    """Rows of a Series or DataFrame at some times, without the columns of times and of labels of sequences.

    These are found in levels of the index and in columns, which must have each time of a sequence once.  ``sequences``
    are labels of the times, shape (n,), None if they are unknown or there is one.  Data without these times are
    returned as they are; data that have them in another order and lack the labels are refused.
    """
    if not isinstance(data, pd.Series | pd.DataFrame):
        return data
    times = as_times(pd.Index(times))
    columns = [(data.index.get_level_values(level), []) for level in range(data.index.nlevels)]
    if data.ndim == 2 and data.shape[1] > 1:
        dates, names = joined_dates(data)
        columns += [(dates, [data.columns.get_loc(name) for name in names])] if names else []
        columns += [(pd.Index(data.iloc[:, k]), [k]) for k in range(data.shape[1])]
    candidates = [(as_times(values), place) for values, place in columns]
    candidates = [(values, place) for values, place in candidates if times.isin(values).all()]
    if times.is_unique:
        sequences = None
    labels = [(None, [])] if sequences is None else [(_texts(values), place) for values, place in columns]
    matches = {}
    for (values, place), (names, other) in itertools.product(candidates, labels):
        if sequences is None:
            rows = _places(values, times)
        elif not np.isin(sequences, names).all():
            continue
        else:
            rows = _places(*map(pd.MultiIndex.from_arrays, ([names, values], [sequences, times])))
        if rows is not None and sequences is None:
            return _without(data, place).iloc[rows]
        if rows is not None:
            matches.setdefault(tuple(rows), place + other)
    if len(matches) > 1:
        raise ValueError(
            "data must tell times from labels of sequences: two of its columns or levels of the index may be either. "
            "Give the columns of numbers alone, with the rows in the order of the draws"
        )
    for rows, places in matches.items():
        return _without(data, places).iloc[list(rows)]
    if not times.is_unique:
        different = times.unique()
        expected = different.get_indexer(times)
        places = [(different.get_indexer(values), place) for values, place in candidates if len(values) == len(times)]
        for got, place in places:
            if (got == expected).all():
                return _without(data, place)
        for got, _ in places:
            if (np.sort(got) == np.sort(expected)).all():
                row = int((got != expected).argmax())
                here, there = written_times(different[[got[row], expected[row]]])
                raise ValueError(
                    "data must have the rows of several sequences in the order of the draws, or a column with labels "
                    f"of the sequences; row {row} is of {here}, and of {there} in the draws"
                )
    return data


def _texts(values):
    """Labels of sequences as texts, whole numbers without decimals."""
    is_float = values.dtype.kind == "f" and np.equal(values, np.floor(values)).all()
    return np.array([str(value) for value in (values.astype("int64") if is_float else values)], dtype=object)


def _without(data, columns):
    """A DataFrame without columns at some positions."""
    return data.iloc[:, np.delete(np.arange(data.shape[1]), columns)] if columns else data


def _places(index, keys):
    """Positions of keys in an index, None unless it has each of them once."""
    if not index.is_unique or not keys.is_unique:
        return None
    places = index.get_indexer(keys)
    return None if (places < 0).any() else places
