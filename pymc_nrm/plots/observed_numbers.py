"""Numbers that the items of a partition have in a model, or in the group observed_data of a result."""

import numpy as np
import pandas as pd
import xarray as xr

from pymc_nrm.posterior.default_clusters import find_shown_partition
from pymc_nrm.posterior.described_columns import columns_of_model
from pymc_nrm.stats.draws import item_dimension

_HINT = "give X, the data to plot, shape (n,) or (n, d)"


def observed_numbers(idata, model, var_name, draws, n):
    """Columns of numbers of the n items as a DataFrame: from the model, as recorded, or else from the result."""
    if draws is None:
        raise ValueError(f"X must be given without draws: {_HINT}")
    dim = item_dimension(draws)
    if model is not None:
        columns = columns_of_model(model, find_shown_partition(model, var_name), n)
        columns = {
            column.name: column.values
            for column in columns
            if column.kind not in ("levels", "truth") and column.items is None
        }
    else:
        columns = _stored_columns(idata, dim)
    if not columns:
        where = "the model" if model is not None else "idata"
        raise ValueError(f"X must be given, since {where} has no numbers of the items: {_HINT}")
    return pd.DataFrame(columns)


def _stored_columns(idata, dim):
    has_data = isinstance(idata, xr.DataTree) and "observed_data" in idata.children
    stored = idata["observed_data"].data_vars if has_data else {}
    columns = {}
    for name, array in stored.items():
        if array.dims[:1] != (dim,) or array.ndim > 2 or array.dtype.kind not in "fiu":
            continue
        matrix = np.asarray(array, dtype="float64").reshape(array.shape[0], -1)
        features = array.coords[array.dims[1]].values if array.ndim == 2 and array.dims[1] in array.coords else None
        names = (
            [f"{name}_{k}" for k in range(matrix.shape[1])]
            if features is None
            else [str(feature) for feature in features]
        )
        columns |= dict(zip([name] if array.ndim == 1 else names, matrix.T, strict=True))
    return columns
