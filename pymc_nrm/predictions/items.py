"""Conversion of data that the model has not seen to the form that kernels take."""

import numpy as np
import xarray as xr
from scipy import sparse

from pymc_nrm.common.checks import naming, numeric_array
from pymc_nrm.families.base import Centred, prepare_data


def prepare_new_items(family, data, X, argument="X_new"):
    """Check new data and prepare them in the coordinates of the prepared data of a mixture. They fit the caches of
    clusters of ``data``. Shapes: ``X`` (m, d).
    """
    with naming(argument):
        prepared = prepare_data(family, X)
    if isinstance(prepared, Centred):
        return data._replace(values=np.ascontiguousarray(X, dtype="float64") - data.center)
    return prepared


def as_rows(X, n_features, argument, names=None):
    """Convert data of new items to a matrix. Shapes: returns (m, n_features)."""
    if isinstance(X, xr.Dataset):
        columns = list(X.data_vars)
        if names is not None and set(map(str, names)) == set(map(str, columns)):
            columns = [next(c for c in columns if str(c) == str(name)) for name in names]
        X = np.stack(np.broadcast_arrays(*[X[c].to_numpy() for c in columns]), axis=-1) if columns else np.empty((0, 0))
    if not sparse.issparse(X):
        X = numeric_array(argument, X)
    rows = X[:, None] if X.ndim == 1 and n_features == 1 else X
    if rows.ndim != 2 or rows.shape[1] != n_features:
        allowed = f"(m, {n_features})" + (" or (m,)" if n_features == 1 else "")
        raise ValueError(f"{argument} must have shape {allowed}, one column per feature; got shape {X.shape}")
    if rows.shape[0] == 0:
        raise ValueError(f"{argument} must have at least one row; got shape {X.shape}")
    return rows
