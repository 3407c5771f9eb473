"""Models of time series with regimes, whose number is unknown: hidden states with learned families."""

import logging
import math
from typing import Any

import numpy as np
import pymc as pm

from pymc_nrm.common.checks import check_count, check_number
from pymc_nrm.common.wrapping import first_few
from pymc_nrm.families import NormalRegression
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.models.origin import Origin
from pymc_nrm.recipes.columns import doubtful_columns, listed
from pymc_nrm.recipes.gaussian_mixture import default_measure, with_fields_in_model
from pymc_nrm.recipes.messages import tell_user, warn_user
from pymc_nrm.recipes.numeric_block import add_numeric_block, check_options
from pymc_nrm.recipes.reading.kinds import SKIP
from pymc_nrm.recipes.reading.table import read_columns
from pymc_nrm.recipes.table_mixtures import Options, add_columns
from pymc_nrm.recipes.ties import jitter_ties as with_jitter
from pymc_nrm.states.models.hidden_states import HiddenStates
from pymc_nrm.states.partitions.prior import Transitions
from pymc_nrm.states.recipes.time_series import read_time_series

# So many steps in one direction are not chance.
_FEWEST_STEPS = 10

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
            gamma, alpha = pm.Exponential("gamma", np.log(len(series))), pm.Gamma("alpha", 2, 1)
            kappa = pm.Gamma("kappa", 2, 1 / duration)
            transitions = nrm.states.Transitions(alpha, kappa)
            z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), transitions, dims="time")
            family = nrm.NormalGamma.learned("x", series)
            nrm.Mixture("x", z, family, observed=series, dims=("time", "x_feature"))

    Parameters
    ----------
    series : Series, DataFrame, array_like or DataArray, shape (n,) or (n, d)
        Numbers at equally spaced times, in any units; NaN means missing.  The coordinate ``time`` is the index of a
        Series or DataFrame, or else its only column of dates, columns named year and quarter, qtr or month that have
        each pair once in a sequence, or a column that grows by equal steps, such as a year.  Rows are sorted by times
        that are dates or numbers.  What is guessed is said in the log.  Text of at most 20 different values, categories
        and booleans are data of the states too, in mixtures ``categorical`` and ``binary`` of their own.
    lags : int
        Number p of values before each time on which its value has a linear regression in every regime, a switching
        autoregression.  Needs one complete column.  The first p values of each sequence are conditioned on: they have
        no item.
    sequences : str or array_like of int or str, shape (n,), optional
        Label of the sequence of each time, or the column or level of the index that has it, such as a patient: rows of
        a sequence lie together, or several of them have the same times, by which they are sorted.  A Series is aligned
        by its index.  Sequences share regimes, and no transition leads from one to the next.
    duration : float, optional
        Typical length of a run of one regime, in time points; by default the square root of the number of times.  It
        is the scale of the prior of ``kappa``, which is wide; 1 is a model without preference for staying, ``kappa =
        0``.
    covariance : {None, "full", "diagonal"}
        Of several columns within a regime, as in :func:`~pymc_nrm.gaussian_mixture`.
    measure : DirichletProcess or PitmanYorProcess, optional
        Prior of the weights of regimes; by default ``DirichletProcess(pm.Exponential.dist(log(n)))`` for n times, whose
        concentration is ``gamma``.  Hyperparameters are as in :func:`~pymc_nrm.gaussian_mixture`.
    jitter_ties : bool
        Whether times with the same value are spread over the width of its rounding, see
        :func:`~pymc_nrm.recipes.jitter_ties`.

    Returns
    -------
    pymc.Model
        With the hidden states ``z``, the data ``x``, and the hyperparameters of both; with lags also ``x_lags``, the
        values before.  Sample it with :func:`pymc_nrm.sample`.

    Raises
    ------
    TypeError
        If an array has anything but real numbers, labels of sequences are neither whole numbers nor strings, or the
        measure is neither of the two; an :class:`ElicitedPrior` is about clusters of independent items.
    ValueError
        If two rows of a sequence have the same time, the rows of a sequence are not together, a Series of labels lacks
        a time, a column is constant or has no numbers, or lags are given for several columns, for a column with gaps,
        or leave no time of a sequence or fewer than two of all.

    See Also
    --------
    pymc_nrm.describe : What regimes are like, how long they last, and when.
    pymc_nrm.states.plots.plot_state_sequence : The picture.
    pymc_nrm.states.forecast_density : What comes next.

    Notes
    -----
    A run of a regime of weight b lasts ``(alpha + kappa) / (alpha (1 - b))`` times on average.  The prior means of
    ``alpha`` and ``kappa`` are 2 and twice ``duration``, and both are learned.  A priori there is one regime with
    probability 0.77 and 1.3 regimes in the mean, for 100 to 2,000 times and the default ``duration``.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> series = pd.Series([0.1, -0.2, 0.0, 7.1, 6.9], pd.date_range("2020", periods=5, freq="MS"), name="rate")
    >>> model = nrm.states.regime_model(series)
    >>> [variable.name for variable in model.free_RVs][:4], model.coords["x_feature"]
    (['gamma', 'alpha', 'kappa', 'z'], ('rate',))
    """
    check_options(covariance, jitter_ties)
    check_count("lags", lags, 0)
    if duration is not None:
        duration = check_number("duration", duration, lambda value: 1.0 <= value < math.inf, "at least 1 and finite")
    read = read_time_series(series, sequences)
    table, sequences = read.table, read.sequences
    _warn_of_doubtful_numbers(table)
    if not lags:
        _warn_of_growth(read)
    kept, before = np.ones(len(table), dtype=bool), None
    if lags and len(read.labelled.columns):
        names = list(read.labelled.columns)
        raise ValueError(f"lags must be 0 with columns of categories or booleans, {names}; got {lags}")
    if lags:
        kept, before = _lagged(read, lags)
    values = table[kept]
    sequences = None if sequences is None else sequences[kept].tolist()
    coords = {"time": read.times[kept].tolist()}
    with pm.Model(coords=coords, model=None) as model:
        measure = default_measure(len(values)) if measure is None else measure
        # Rows of transitions have a concentration, alpha, as well.
        measure = with_fields_in_model(measure, alpha="gamma")
        alpha = pm.Gamma("alpha", 2.0, 1.0)
        duration = math.sqrt(len(values)) if duration is None else duration
        kappa = 0.0 if duration == 1.0 else pm.Gamma("kappa", 2.0, 1.0 / duration)
        z = HiddenStates("z", measure, Transitions(alpha, kappa), dims="time", sequences=sequences)
        if lags:
            _add_regression(model, z, values.iloc[:, 0], before[kept], jitter_ties)
        elif values.shape[1]:
            add_numeric_block("x", z, values, covariance, jitter_ties)
        if len(read.labelled.columns):
            add_columns(model, z, read.labelled, _read_labelled(read), Options(covariance, jitter_ties))
    return model


def _read_labelled(read):
    """Readings of the columns of text and truth values; one must vary if there are no numbers."""
    readings = read_columns(read.labelled, argument="series")
    left_out = [reading for reading in readings if reading.kind == SKIP]
    if len(left_out) == len(readings) and not read.table.shape[1]:
        raise ValueError(f"series must have columns that vary; column {left_out[0].name!r} has {left_out[0].why}")
    for reading in left_out:
        tell_user(_log, f"Column {reading.name!r} is left out: {reading.why}.")
    return readings


def _warn_of_doubtful_numbers(table):
    """Warn of columns that look like counts, codes, times or names of rows."""
    codes, names = doubtful_columns({name: table[name].to_numpy() for name in table}, table.shape[1])
    if codes:
        warn_user(
            f"{listed(codes)} taken as measurements, with few different values, as counts and codes have. A Mixture "
            "over HiddenStates takes counts with PoissonGamma, and codes with CategoricalDirichlet"
        )
    if names:
        warn_user(
            f"{listed(names)} taken as measurements, with a different whole number in every row, as times and names of "
            f"rows have. series.set_index({next(iter(names))!r}) makes them the times; leave names of rows out"
        )


def _warn_of_growth(series):
    """Warn of columns that never decrease within a sequence."""
    names = [name for name, column in series.table.items() if _never_decreases(column.to_numpy(), series.starts)]
    if names:
        warn_user(
            f"column{'s' * (len(names) > 1)} {first_few([repr(name) for name in names])} never decrease"
            f"{'s' * (len(names) == 1)}, as times of events and sums do, and would be cut into regimes of neighbouring "
            "values. Counts of events per year, or differences, series.diff(), have regimes"
        )


def _never_decreases(values, starts):
    """Whether no value is below the one before it in its sequence, missing values aside."""
    is_known, sequence = ~np.isnan(values), np.cumsum(starts)
    steps = np.diff(values[is_known])[np.diff(sequence[is_known]) == 0]
    return len(steps) >= _FEWEST_STEPS and (steps >= 0.0).all()


def _lagged(series, lags):
    """The rows that have so many values before them in their sequence, a mask (n,), and these values (n, lags)."""
    if series.table.shape[1] > 1:
        raise ValueError(
            f"lags must be 0 for several columns, {series.table.columns.tolist()}; got {lags}. Give one column, or a "
            "Mixture of NormalRegression over HiddenStates for each of them"
        )
    y = series.table.iloc[:, 0].to_numpy()
    if np.isnan(y).any():
        raise ValueError(f"lags must be 0 for a series with gaps; row {int(np.isnan(y).argmax())} has none; got {lags}")
    starts = np.flatnonzero(series.starts)
    lengths = np.diff(starts, append=len(y))
    kept = np.arange(len(y)) - np.repeat(starts, lengths) >= lags
    if series.sequences is not None and lengths.min() <= lags:
        short = lengths.argmin()
        raise ValueError(
            f"sequences must have more rows than lags={lags}, which need as many values before them; "
            f"{series.sequences[starts[short]]!r} has {lengths[short]}"
        )
    if kept.sum() < 2:
        raise ValueError(f"lags must leave at least two times with values before them; got {lags} for {len(y)} times")
    before = np.full((len(y), lags), np.nan)
    for k in range(1, lags + 1):
        before[k:, k - 1] = y[:-k]
    return kept, before


def _add_regression(model, z, series, before, jitter_ties):
    """Add the regression of a series on the values before to the model at hand."""
    model.add_coord("lag", np.arange(1, before.shape[1] + 1))
    lagged = pm.Data("x_lags", before, dims=("time", "lag"))
    y = with_jitter(series.to_numpy()) if jitter_ties else series.to_numpy()
    # Forecasts need lags of the values that they draw.
    origin = Origin(series=str(series.name), lags="x_lags")
    Mixture("x", z, NormalRegression.learned("x", y, lagged), observed=y, dims="time", origin=origin)
