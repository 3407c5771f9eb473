"""Tables of pandas and of other libraries, as DataFrames."""

from collections.abc import Mapping

import numpy as np
import pandas as pd


def table_as_pandas(argument, X):
    """Convert a table of another library, or a mapping of columns, to pandas; other objects are returned unchanged."""
    if isinstance(X, pd.DataFrame):
        # Names of columns of several levels are tuples.
        return X.set_axis(X.columns.to_flat_index(), axis=1) if isinstance(X.columns, pd.MultiIndex) else X
    kind = type(X)
    is_table = hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_pandas")
    # Polars warns when code asks a lazy table for its column names.
    for method in ("collect", "compute"):
        if hasattr(X, method) and hasattr(kind, "columns") and not is_table:
            raise TypeError(
                f"{argument} must be a table in memory; got {kind.__name__} of {kind.__module__.partition('.')[0]}. "
                f"Call its method {method}() first, or use rows in chunks with nrm.Chunks"
            )
    if isinstance(X, Mapping) and not is_table:
        try:
            return pd.DataFrame(dict(X))
        except ValueError as error:
            lengths = {name: np.shape(column)[0] if np.ndim(column) else "a single value" for name, column in X.items()}
            raise ValueError(
                f"{argument} must have columns of equal length if it is a mapping; got lengths {lengths}"
            ) from error
    if not is_table:
        return X
    # Methods of the libraries support more types than the protocol, such as dates without a time.
    return X.to_pandas() if hasattr(X, "to_pandas") else pd.DataFrame.from_arrow(X)


def check_table(df, argument):
    """Check that an argument is a DataFrame with rows, and columns of different names."""
    if not isinstance(df, pd.DataFrame):
        raise TypeError(
            f"{argument} must be a pandas DataFrame; got {type(df).__name__}. pandas.DataFrame({argument}) makes one "
            "of lists, arrays and Series; gaussian_mixture takes arrays of numbers"
        )
    if df.shape[0] == 0 or df.shape[1] == 0:
        raise ValueError(f"{argument} must have rows and columns; got shape {df.shape}")
    # A model has names as text.
    names = [str(name) for name in df.columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{argument} must have columns of different names; got {repeated} more than once")
