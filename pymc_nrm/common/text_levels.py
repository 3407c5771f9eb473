"""Columns of text as numbers of their levels, for families of categories; names of levels stay with the columns."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
import xarray as xr
from pytensor.graph.basic import Variable

from pymc_nrm.common.tables import as_pandas
from pymc_nrm_predictor.named_columns import in_order
from pymc_nrm_predictor.reading.column_contents import is_text, read_content
from pymc_nrm_predictor.reading.content import LEVELS, NUMBERS, Rule
from pymc_nrm_predictor.reading.kinds import numbers_of_levels


@dataclasses.dataclass(frozen=True, eq=False)
class LevelColumn:
    """A column of categories: its levels in the order of their numbers, none if it holds the numbers themselves."""

    name: Any
    levels: tuple = ()

    @property
    def rule(self):
        """How values are read."""
        return Rule(LEVELS if self.levels else NUMBERS)

    def values(self, column):
        """Numbers of the levels of a column, NaN where missing; numbers are taken as they are."""
        return numbers_of_levels(self.name, self.levels, column)


@dataclasses.dataclass(frozen=True, eq=False)
class NumbersOfLevels:
    """Numbers of levels, an array (d,), of columns that a family has read."""

    columns: tuple[LevelColumn, ...]
    numbers: Any
    # What a user should have a look at.
    remarks: tuple[str, ...] = ()

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers, dtype=dtype)


class TextData(NamedTuple):
    """Data with text: their columns, numbers of levels as a table or array of floats, and remarks on columns."""

    columns: tuple[LevelColumn, ...]
    values: Any
    remarks: tuple[str, ...]

    def numbers(self, n_levels):
        """Numbers of levels (d,) that keep the names."""
        return NumbersOfLevels(self.columns, n_levels, self.remarks)


def read_levels(argument, X, name):
    """Read data with text, whose levels are sorted or, of a pandas category, in its order; None if they have none.

    ``name`` is the column of data of shape (n,).  Levels that do not occur are left out.
    """
    X = as_pandas(argument, X)
    columns = _columns(X, name)
    if not any(is_text(column) for _, column in columns):
        return None
    read, values, remarks = [], {}, []
    for place, (key, column) in enumerate(columns):
        levels = ()
        if is_text(column):
            content = read_content(column, Rule(LEVELS))
            levels = content.levels
            notes = [note for note in (content.note, content.remark) if note and note != "in order"]
            remarks += [f"column {key!r}: {'; '.join(notes)}"] if notes else []
        read.append(LevelColumn(key, levels))
        values[place] = read[-1].values(column)
    return TextData(tuple(read), _like(X, values), tuple(remarks))


def coded(argument, X, columns):
    """Numbers of levels (n, d) or (n,) of data that may have text, by columns with the names of the levels.

    Data without text are returned unchanged, as is everything if no column has levels.  Columns of a table are found by
    their names if it has all of them.
    """
    if not any(getattr(column, "levels", ()) for column in columns):
        return X
    X = as_pandas(argument, X)
    if isinstance(X, xr.Dataset):
        X = pd.DataFrame({name: X[name].to_numpy() for name in X.data_vars}) if _has_text(X) else X
    X = in_order(argument, X, [column.name for column in columns])
    named_columns = _columns(X, columns[0].name)
    if not any(is_text(column) for _, column in named_columns):
        return X
    if len(named_columns) != len(columns):
        raise ValueError(f"{argument} must have {len(columns)} columns; got {len(named_columns)}")
    try:
        values = {
            k: levels.values(column) for k, (levels, (_, column)) in enumerate(zip(columns, named_columns, strict=True))
        }
    except (TypeError, ValueError) as error:
        raise type(error)(f"{argument}: {error}") from None
    return _like(X, values)


def shared_levels(columns):
    """Names of the levels of all columns, if they are the same; otherwise none."""
    levels = {getattr(column, "levels", ()) for column in columns}
    return levels.pop() if len(levels) == 1 else ()


def _has_text(dataset):
    return any(is_text(pd.Series(array.to_numpy().ravel())) for array in dataset.data_vars.values())


def _columns(X, name):
    """Columns of data as pairs of a name and a Series; none of what holds no text."""
    if isinstance(X, pd.DataFrame):
        return [(key, X.iloc[:, place]) for place, key in enumerate(X.columns)]
    if isinstance(X, pd.Series):
        return [(name, X)]
    if isinstance(X, pd.Index | pd.api.extensions.ExtensionArray):
        return [(name, pd.Series(X))]
    if isinstance(X, Variable | xr.Dataset) or scipy.sparse.issparse(X) or X is None or hasattr(X, "sampled_values"):
        return []
    if isinstance(X, np.ma.MaskedArray):
        X = np.where(np.ma.getmaskarray(X), None, X.data.astype(object))
    array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    if array.ndim not in (1, 2) or array.dtype.kind not in "OUT":
        return []
    array = array.astype(object)
    return (
        [(name, pd.Series(array))] if array.ndim == 1 else [(k, pd.Series(column)) for k, column in enumerate(array.T)]
    )


def _like(X, values):
    """Numbers by the place of their column as a table or array like the data."""
    if isinstance(X, pd.DataFrame):
        return pd.DataFrame(np.stack(list(values.values()), axis=1), index=X.index, columns=X.columns)
    array = values[0] if np.ndim(X) == 1 else np.stack(list(values.values()), axis=1)
    return X.copy(data=array) if isinstance(X, xr.DataArray) else array
