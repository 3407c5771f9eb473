"""Models of time series with regimes, whose number is unknown: hidden states with learned families."""

import logging
import math
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

from pymc_nrm.common.checks import check_count, check_number, numeric_array
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.families import NormalRegression
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.models.hidden_states import HiddenStates
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.partitions.hidden_states import States
from pymc_nrm.partitions.state_prior import Transitions
from pymc_nrm.recipes.columns import item_names, warn_of_doubtful_numbers
from pymc_nrm.recipes.gaussian_mixture import with_fields_in_model
from pymc_nrm.recipes.numeric_block import add_numeric_block, check_options
from pymc_nrm.recipes.reading.table import numeric_columns
from pymc_nrm.recipes.ties import jitter_ties as with_jitter

_log = logging.getLogger("pymc.nrm_recipes")


def regime_model(
    series: Any,
    *,
    lags: int = 0,
    sequences: Any = None,
    duration: float | None = None,
    covariance: str | None = None,
    measure: Any = None,
    jitter_ties: bool = True,
) -> pm.Model:
    """Model of a time series with regimes, whose number, levels, spreads and lengths are unknown.

    ``regime_model(series)`` is short for the following model, with a DataFrame in place of the series::

        with pm.Model(coords={"time": series.index}) as model:
            gamma, alpha = pm.Gamma("gamma", 2, 1), pm.Gamma("alpha", 2, 1)
            kappa = pm.Gamma("kappa", 2, 1 / duration)
            transitions = nrm.Transitions(alpha, kappa)
            z = nrm.HiddenStates("z", nrm.DirichletProcess(gamma), transitions, dims="time")
            family = nrm.NormalGamma.learned("x", series)
            nrm.Mixture("x", z, family, observed=series, dims=("time", "x_feature"))

    Parameters
    ----------
    series : Series, DataFrame, array_like or DataArray, shape (n,) or (n, d)
        Numbers in order of time, in any units; NaN means missing.  The index becomes the coordinate ``time``: dates,
        numbers or anything else.
    lags : int
        Number p of values before each time on which its value has a linear regression in every regime, a switching
        autoregression.  Needs one complete column.  The first p values of each sequence are conditioned on: they have
        no item.
    sequences : str or array_like of int or str, shape (n,), optional
        Label of the sequence of each time, or the column of a DataFrame that has it, such as a patient: rows of a
        sequence lie together, in order of time.  Sequences share regimes, and no transition leads from one to the
        next.
    duration : float, optional
        Typical length of a run of one regime, in time points; by default the square root of the number of times.  It
        is the scale of the prior of ``kappa``, which is wide; 1 is a model without preference for staying, ``kappa =
        0``.
    covariance : {None, "full", "diagonal"}
        Of several columns within a regime, as in :func:`~pymc_nrm.gaussian_mixture`.
    measure : DirichletProcess, PitmanYorProcess or ElicitedPrior, optional
        Prior of the weights of regimes; by default ``DirichletProcess(pm.Gamma.dist(2, 1))``, whose concentration is
        ``gamma``.  Hyperparameters are as in :func:`~pymc_nrm.gaussian_mixture`.
    jitter_ties : bool
        Whether times with the same value are spread over the width of its rounding, see :func:`~pymc_nrm.jitter_ties`.

    Returns
    -------
    pymc.Model
        With the hidden states ``z``, the data ``x``, and the hyperparameters of both; with lags also ``x_lags``, the
        values before.  Sample it with :func:`pymc_nrm.sample`.

    Raises
    ------
    TypeError
        If the series has anything but real numbers.
    ValueError
        If dates are not in order of time, rows of a sequence are not together, a column is constant, or lags are given
        for several columns, for a column with gaps, or leave fewer than two times.

    See Also
    --------
    pymc_nrm.describe_regimes : What regimes are like, how long they last, and when.
    pymc_nrm.plots.plot_state_sequence : The picture.
    pymc_nrm.forecast_density : What comes next.

    Notes
    -----
    A run of a regime of weight b lasts ``(alpha + kappa) / (alpha (1 - b))`` times on average.  The prior means of
    ``alpha`` and ``kappa`` are 2 and twice ``duration``, and both are learned.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> series = pd.Series([0.1, -0.2, 0.0, 7.1, 6.9], pd.date_range("2020", periods=5, freq="MS"), name="rate")
    >>> model = nrm.regime_model(series)
    >>> [variable.name for variable in model.free_RVs][:4], model.coords["x_feature"]
    (['gamma', 'alpha', 'kappa', 'z'], ('rate',))
    """
    check_options(covariance, jitter_ties)
    check_count("lags", lags, 0)
    if duration is not None:
        duration = check_number("duration", duration, lambda value: 1.0 <= value < math.inf, "at least 1 and finite")
    table, times, sequences = _read(series, sequences)
    kept, before = np.ones(len(table), dtype=bool), None
    if lags:
        kept, before = _lagged(table, sequences, lags)
    values = table[kept]
    if sequences is not None:
        sequences = [label for label, is_kept in zip(sequences, kept, strict=True) if is_kept]
    coords = {"time": [time for time, is_kept in zip(times, kept, strict=True) if is_kept]}
    with pm.Model(coords=coords, model=None) as model:
        measure = DirichletProcess(pm.Gamma.dist(2.0, 1.0)) if measure is None else measure
        # Rows of transitions have a concentration, alpha, as well.
        measure = with_fields_in_model(measure, alpha="gamma")
        alpha = pm.Gamma("alpha", 2.0, 1.0)
        duration = math.sqrt(len(values)) if duration is None else duration
        kappa = 0.0 if duration == 1.0 else pm.Gamma("kappa", 2.0, 1.0 / duration)
        z = HiddenStates("z", measure, Transitions(alpha, kappa), dims="time", sequences=sequences)
        if lags:
            _add_regression(model, z, values.iloc[:, 0].to_numpy(), before[kept], jitter_ties)
        else:
            add_numeric_block("x", z, values, covariance, jitter_ties)
    return model


def _read(series, sequences):
    """The columns as a DataFrame, the times, and the labels of the sequences or None."""
    if isinstance(series, xr.DataArray) and series.ndim in (1, 2):
        series = series.to_pandas()
    series = as_pandas("series", series)
    if isinstance(series, pd.Series):
        series = series.to_frame("x" if series.name is None else series.name)
    if isinstance(series, pd.DataFrame) and isinstance(series.index, pd.PeriodIndex):
        # Files hold dates, not periods.
        series = series.to_timestamp()
    if isinstance(sequences, str):
        if not isinstance(series, pd.DataFrame) or sequences not in series.columns:
            names = list(series.columns) if isinstance(series, pd.DataFrame) else []
            raise ValueError(f"sequences must be labels or the name of a column of series, {names}; got {sequences!r}")
        sequences, series = series[sequences].to_numpy(), series.drop(columns=sequences)
    if isinstance(series, pd.DataFrame):
        series = _with_dates_as_index(series)
        table, _ = numeric_columns("series", series)
        times = item_names(series, "series")
        has_dates = isinstance(series.index, pd.DatetimeIndex)
        if has_dates and sequences is None and not series.index.is_monotonic_increasing:
            raise ValueError("series must be in order of time; got dates that go back. series.sort_index() sorts it")
    else:
        values = numeric_array("series", series)
        if values.ndim not in (1, 2) or 0 in values.shape[1:] or len(values) < 2:
            raise ValueError(f"series must have shape (n,) or (n, d) with n of at least 2; got shape {values.shape}")
        columns = ["x"] if values.ndim == 1 else [f"x_{k}" for k in range(values.shape[1])]
        table = pd.DataFrame(values.reshape(len(values), -1), columns=columns, dtype="float64")
        times = range(len(table))
    warn_of_doubtful_numbers({name: table[name].to_numpy() for name in table}, table.shape[1])
    if sequences is not None:
        if len(sequences) != len(table):
            raise ValueError(f"sequences must have a label for each of the {len(table)} times; got {len(sequences)}")
        sequences = np.asarray(sequences).tolist()
    return table, times, sequences


def _with_dates_as_index(series):
    """The columns of numbers, with the only column of dates as the index; columns of text are an error."""
    kinds = {name: column.dtype for name, column in series.items()}
    dates = [name for name, kind in kinds.items() if pd.api.types.is_datetime64_any_dtype(kind)]
    if len(dates) == 1 and not isinstance(series.index, pd.DatetimeIndex):
        _log.info(wrapped(f"Column {dates[0]!r} says when the rows were; series.set_index(...) chooses another index."))
        series = series.set_index(dates[0])
    text = [
        name
        for name, column in series.items()
        if pd.api.types.is_string_dtype(column.dtype) and pd.to_numeric(column, errors="coerce").isna().all()
    ]
    if text:
        raise ValueError(
            f"series must have columns of numbers; got {text}. Leave them out, or name one that labels sequences by "
            "sequences="
        )
    return series


def _lagged(table, sequences, lags):
    """The rows that have so many values before them in their sequence, a mask (n,), and these values (n, lags)."""
    if table.shape[1] > 1:
        raise ValueError(f"lags must be 0 for several columns, {table.columns.tolist()}; got {lags}")
    y = table.iloc[:, 0].to_numpy()
    if np.isnan(y).any():
        raise ValueError(f"lags must be 0 for a series with gaps; row {int(np.isnan(y).argmax())} has none; got {lags}")
    starts = np.arange(len(y)) == 0 if sequences is None else States(sequences, "sequences").starts
    first = np.maximum.accumulate(np.where(starts, np.arange(len(y)), 0))
    kept = np.arange(len(y)) - first >= lags
    if kept.sum() < 2:
        raise ValueError(f"lags must leave at least two times with values before them; got {lags} for {len(y)} times")
    before = np.full((len(y), lags), np.nan)
    for k in range(1, lags + 1):
        before[k:, k - 1] = y[:-k]
    return kept, before


def _add_regression(model, z, y, before, jitter_ties):
    """Add the regression of a series on the values before to the model at hand."""
    model.add_coord("lag", np.arange(1, before.shape[1] + 1))
    lagged = pm.Data("x_lags", before, dims=("time", "lag"))
    y = with_jitter(y) if jitter_ties else y
    mixture = Mixture("x", z, NormalRegression.learned("x", y, lagged), observed=y, dims="time")
    # Forecasts need these of the values that they draw.
    mixture.tag.lags = "x_lags"
