"""Tables of other libraries as pandas DataFrames."""

import numpy as np
import pandas as pd
import scipy
import xarray as xr

from pymc_nrm_predictor.reading.tables import table_as_pandas


def as_pandas(argument, X):
    """Convert a table or column of another library to pandas; arrays and other objects are returned unchanged."""
    # A sparse matrix in DOK format is a mapping, too.
    if isinstance(X, pd.Series | np.ndarray | xr.DataArray) or scipy.sparse.issparse(X):
        return X
    return table_as_pandas(argument, X)
