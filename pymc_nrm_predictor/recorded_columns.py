"""Columns of the table of a model as a file describes them; pandas is imported when one is read."""

import numpy as np

from pymc_nrm_predictor.named_columns import in_order


class RecordedColumn:
    """A column as the table of the model had it."""

    def __init__(self, about):
        self.name, self.levels, self._about = about["name"], tuple(about.get("levels", ())), about

    def values(self, column):
        """Values of rows, a pandas Series, as floats: numbers in the units of the model, or numbers of levels."""
        from pymc_nrm_predictor.reading.recorded import values_of_recorded

        return values_of_recorded(self._about, column)


def recorded_columns(abouts):
    """Columns of a mixture in the order of its features."""
    return [RecordedColumn(about) for about in abouts]


def coded(title, X, columns):
    """Numbers of levels (m, d) of data that may have text; data without text are returned unchanged.

    Columns of a table are found by their names if it has all of them, and by their places otherwise.
    """
    if not any(column.levels for column in columns):
        return X
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        X = in_order(title, X, [column.name for column in columns])
        given = [X.iloc[:, k].to_numpy(dtype=object, na_value=None) for k in range(X.shape[1])]
    else:
        array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=getattr(X, "dtype", object))
        if array.ndim not in (1, 2) or array.dtype.kind not in "OUT":
            return X
        given = [*array.astype(object).reshape(len(array), -1).T]
    if not any(isinstance(value, str) for column in given for value in column):
        return X
    if len(given) != len(columns):
        raise ValueError(f"{title} must have {len(columns)} columns; got {len(given)}")
    import pandas as pd

    try:
        values = [column.values(pd.Series(entries)) for column, entries in zip(columns, given, strict=True)]
    except (TypeError, ValueError) as error:
        raise type(error)(f"{title}: {error}") from None
    return np.stack(values, axis=1)
