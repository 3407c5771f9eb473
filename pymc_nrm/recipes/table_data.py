"""Data of new rows of a table, in the form that predictions take."""

import logging

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

from pymc_nrm.models.rvs import checked_model, find_partition, mixtures_of
from pymc_nrm.recipes.columns import CATEGORICAL, KINDS, NUMERIC, check_table, item_names, level_codes, numbers_of

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_tables")


def table_data(model: pm.Model, df: pd.DataFrame) -> dict[str, xr.DataArray]:
    """Data of new rows for the mixtures of a model of a table.

    Parameters
    ----------
    model : pymc.Model
        From :func:`~pymc_nrm.recipes.mixture_model`, or from :func:`~pymc_nrm.recipes.gaussian_mixture` of a DataFrame.
    df : DataFrame
        New rows with the columns of the model, in any order; missing values where the family allows them.  Further
        columns, such as the class of an item, are left out, and a line in the log names them.

    Returns
    -------
    dict of {str : DataArray}
        By mixture, dims (new_item, <mixture>_feature): what ``cluster_probabilities`` and
        ``log_predictive_density`` take as ``X_new``.  Categories are numbered, strings gone.

    Raises
    ------
    TypeError
        If ``df`` is not a DataFrame, or a column is not of its kind.
    ValueError
        If columns of the model are missing, or a value is outside the support of its kind or a new level.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"length": [3.1, 2.9, 5.5, 5.2], "colour": ["red", "red", "blue", None]})
    >>> data = nrm.table_data(nrm.mixture_model(df), df.tail(2))
    >>> data["categorical"].values.tolist(), data["numeric"].new_item.values.tolist()
    ([[0.0], [nan]], [2, 3])
    """
    model = checked_model(model)
    check_table(df, "df")
    columns = {}
    for mixture in mixtures_of(model, find_partition(model, None)):
        features = model.coords.get(f"{mixture.name}_feature")
        if features is not None and all(isinstance(feature, str) for feature in features):
            columns[mixture.name] = list(features)
    if not columns:
        raise ValueError("model must be made of a DataFrame, by mixture_model or gaussian_mixture; it names no columns")
    _check_names(df, [name for names in columns.values() for name in names])
    df = df.rename(columns=str)
    items = item_names(df, "df")
    data = {}
    for mixture, names in columns.items():
        if mixture == CATEGORICAL:
            block = [level_codes(df[name], name, model.coords[f"{name}_level"]) for name in names]
        else:
            kind = mixture if mixture in KINDS else NUMERIC
            block = [numbers_of(df[name], name, kind, new=True) for name in names]
        coords = {"new_item": items, f"{mixture}_feature": names}
        data[mixture] = xr.DataArray(np.stack(block, axis=1), dims=list(coords), coords=coords)
    return data


def _check_names(df, names):
    given = [str(name) for name in df.columns]
    absent, others = [name for name in names if name not in given], [name for name in given if name not in names]
    if absent:
        raise ValueError(f"df must have the columns of the model, {names}; it lacks {absent}")
    if others:
        _log.info(f"Columns that the model does not have are left out: {', '.join(others)}.")
