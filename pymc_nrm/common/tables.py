"""Tables of other libraries as pandas DataFrames."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import scipy
import xarray as xr


def as_pandas(argument, X):
    """Convert a table or column of another library to pandas; arrays and other objects are returned unchanged."""
    # A sparse matrix in DOK format is a mapping, too.
    if isinstance(X, pd.DataFrame) and isinstance(X.columns, pd.MultiIndex):
        # Names of columns are tuples.
        return X.set_axis(X.columns.to_flat_index(), axis=1)
    if isinstance(X, pd.DataFrame | pd.Series | np.ndarray | xr.DataArray) or scipy.sparse.issparse(X):
        return X
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
