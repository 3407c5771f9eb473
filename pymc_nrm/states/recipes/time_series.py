"""A time series as users hold it: its columns of numbers in order of time, the times, and labels of sequences."""

import logging
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.common.dates import as_times, written_times, zone_of
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.common.wrapping import first_few, wrapped
from pymc_nrm.partitions.user_labels import stripped
from pymc_nrm.recipes.columns import check_columns
from pymc_nrm.recipes.reading.rules import MOST_LEVELS
from pymc_nrm.states.partitions.chain import States
from pymc_nrm.states.posterior.next_times import spacing_of
from pymc_nrm.states.recipes.joined_dates import joined_dates
from pymc_nrm_predictor.reading.column_contents import read_content, read_contents
from pymc_nrm_predictor.reading.content import BOOLEANS, LEVELS, NUMBERS, described_losses

_log = logging.getLogger("pymc.nrm_recipes")

# A column of at least so many rows that is a straight line, up to this share of a step, counts the rows.
_FEWEST_ROWS, _SHARE_OF_STEP = 10, 0.1


class TimeSeries(NamedTuple):
    """Rows in order of time within each sequence."""

    # Floats, NaN where missing.
    table: pd.DataFrame
    times: pd.Index
    # A label for each row, or None for a single sequence, and whether a sequence begins at each row.
    sequences: np.ndarray | None
    starts: np.ndarray
    # Columns of text, categories and truth values.
    labelled: pd.DataFrame


def read_time_series(series: Any, sequences: Any = None) -> TimeSeries:
    """Read the arguments ``series`` and ``sequences`` of :func:`~pymc_nrm.states.regime_model`."""
    if isinstance(series, xr.DataArray) and series.ndim in (1, 2):
        series = series.to_pandas()
    series = as_pandas("series", series)
    if isinstance(series, pd.Series):
        series = series.to_frame("x" if series.name is None else series.name)
    if isinstance(series, pd.DataFrame):
        series, sequences = _with_labels(series, sequences)
        check_columns(series, "series")
        series, sequences = _in_order(_with_times(series, sequences), sequences)
        table, labelled = _numbers(series)
    elif isinstance(sequences, str):
        raise ValueError(f"sequences must be labels, or the name of a column of a DataFrame; got {sequences!r}")
    else:
        table, labelled = _table_of_array(series), pd.DataFrame()
        sequences = None if sequences is None else _one_for_each(sequences, len(table))
    _check_columns_vary(table)
    starts = _starts(sequences, len(table))
    _tell_of_spacing(table.index, starts, sequences)
    return TimeSeries(table, table.index, sequences, starts, labelled)


def _starts(sequences, n):
    return np.arange(n) == 0 if sequences is None else States(sequences, "sequences").starts


def _one_for_each(labels, n):
    if np.ndim(labels) != 1 or len(labels) != n:
        raise ValueError(f"sequences must have a label for each of the {n} times; got {np.size(labels)}")
    return stripped(labels)


def _with_labels(series, sequences):
    """The rows without the column or level of the index that labels sequences, and these labels."""
    if isinstance(sequences, str) and sequences in series.index.names and series.index.nlevels > 1:
        series = series.reset_index(level=sequences)
    if isinstance(series.index, pd.MultiIndex):
        levels = list(series.index.names)
        named = [f"sequences={name!r} takes labels from a level, " for name in levels if isinstance(name, str)]
        raise ValueError(
            f"series must have an index of one level besides that of sequences; got levels {levels}. "
            f"{''.join(named[:1])}series.reset_index(drop=True) numbers the rows"
        )
    if isinstance(sequences, str):
        if sequences not in series.columns:
            raise ValueError(
                f"sequences must be labels or the name of a column of series, {list(series.columns)}; got {sequences!r}"
            )
        return series.drop(columns=sequences), stripped(series[sequences])
    if isinstance(sequences, pd.Series) and not sequences.index.equals(series.index):
        is_unique = sequences.index.is_unique
        wrong = ~series.index.isin(sequences.index) if is_unique else sequences.index.duplicated()
        if wrong.any():
            fault, index = ("no label", series.index) if is_unique else ("several labels", sequences.index)
            times = [time for time, is_wrong in zip(written_times(index), wrong, strict=True) if is_wrong]
            raise ValueError(
                f"sequences must have the index of series if it is a Series; it has {fault} at {first_few(times, 3)}. "
                "sequences.to_numpy() takes labels in the order of the rows"
            )
        sequences = sequences.reindex(series.index)
    return series, None if sequences is None else _one_for_each(sequences, len(series))


def _with_joined_dates(series, sequences):
    """The columns of data, with columns of years and quarters or months as the index if they tell rows apart."""
    dates, names = joined_dates(series)
    if not names or len(names) == series.shape[1] or isinstance(as_times(series.index), pd.DatetimeIndex):
        return series
    if pd.DataFrame({"time": dates, "sequence": 0 if sequences is None else sequences}).duplicated().any():
        return series
    _log.info(wrapped(f"Columns {first_few([*map(repr, names)])} say when the rows were."))
    return series.drop(columns=names).set_axis(dates)


def _with_times(series, sequences):
    """The columns of data, with dates or a column that counts the rows as the index."""
    dates = {}
    for k, (name, column) in enumerate(series.items()):
        times = as_times(pd.Index(column))
        if isinstance(times, pd.DatetimeIndex):
            dates[name] = k, times
    if dates and (len(dates) > 1 or isinstance(as_times(series.index), pd.DatetimeIndex)):
        raise ValueError(
            f"series must have columns of numbers; got dates in {list(dates)}. Leave them out, or choose when the rows "
            f"were by series.set_index({next(iter(dates))!r})"
        )
    if not dates:
        series = _with_joined_dates(series, sequences)
    has_default_index = series.index.equals(pd.RangeIndex(len(series)))
    counting = _counting(series.drop(columns=list(dates)), sequences)
    chosen = next(iter(dates), None)
    if chosen is None and series.index.name is None and series.index.dtype.kind in "iu":
        # What is left of row numbers, as after a sort, is no time; they serve as times if the data have no others.
        chosen = next((name for name, start in counting.items() if start not in (0.0, 1.0)), None)
        chosen = [*counting][-1] if chosen is None and counting and has_default_index else chosen
    row_numbers = [name for name in counting if name != chosen]
    if chosen is not None:
        why = "" if dates else ", since it grows by equal steps; series.to_numpy() takes all columns as data"
        _log.info(wrapped(f"Column {chosen!r} says when the rows were{why}."))
        series = series.drop(columns=chosen).set_axis(pd.Index(series[chosen]))
    if row_numbers:
        _log.info(wrapped(f"Left out: {first_few([repr(name) for name in row_numbers])}, which numbers the rows."))
        series = series.drop(columns=row_numbers)
    times, zone = as_times(series.index), zone_of(series.index)
    if zone is not None:
        is_local = isinstance(series.index, pd.DatetimeIndex) and times.equals(series.index.tz_localize(None))
        clock = "local times" if is_local else "UTC, since local times repeat" if zone else "UTC"
        of_zone = f"of the zone {zone}" if zone else "with a difference from UTC"
        _log.info(wrapped(f"Times {of_zone} are kept as {clock}, without a zone."))
    return series.set_axis(times)


def _counting(series, sequences):
    """First values of columns that grow by equal steps from row to row of each sequence, unless all columns do."""
    first_values, n = {}, len(series)
    starts = np.arange(n) == 0
    if sequences is not None:
        # Rows of a sequence need not be together: rows of a panel are often in order of time.
        codes = pd.factorize(sequences)[0]
        order = np.argsort(codes, kind="stable")
        series, starts[1:] = series.iloc[order], np.diff(codes[order]) > 0
    first = np.maximum.accumulate(np.where(starts, np.arange(n), 0))
    for name, column in series.items():
        content = read_content(column)
        if n < _FEWEST_ROWS or content.form != NUMBERS or content.missing.any():
            continue
        steps = np.diff(content.values)[~starts[1:]]
        if len(steps) and steps.min() > 0.0:
            line = content.values[first] + steps.mean() * (np.arange(n) - first)
            if abs(content.values - line).max() < _SHARE_OF_STEP * steps.mean():
                first_values[name] = content.values[0]
    return {} if len(first_values) == series.shape[1] else first_values


def _in_order(series, sequences):
    """Rows in order of time within their sequence, and their labels; text and objects have no order."""
    times = series.index
    if times.hasnans:
        raise ValueError(f"series must have a time for each row; row {int(times.isna().argmax())} has none")
    if times.dtype.kind not in "iufmM":
        text = "The index of series is neither dates nor numbers: its rows count as in order of time."
        _log.info(wrapped(f"{text} pd.to_datetime(series.index, dayfirst=...) makes dates of text."))
        return series, sequences
    codes = np.zeros(len(times), dtype=np.int64) if sequences is None else pd.factorize(sequences)[0]
    _check_one_row_for_each_time(times, codes)
    turns = np.flatnonzero(np.diff(codes)) + 1
    is_together = len(turns) == codes.max(initial=0)
    if not is_together and times.is_unique:
        # Whether a sequence pauses or two have the same label is for States to complain about.
        return series, sequences
    order = np.lexsort([times, codes])
    if (order == np.arange(len(order))).all():
        return series, sequences
    by = "time" if is_together else "sequence and time"
    _log.info(wrapped(f"Rows are sorted by {by}; rows without times keep their order."))
    return series.iloc[order], None if sequences is None else sequences[order]


def _check_one_row_for_each_time(times, codes):
    keys = pd.MultiIndex.from_arrays([codes, times])
    repeated = np.flatnonzero(keys.duplicated())
    if len(repeated):
        row = int(repeated[0])
        first = int(np.flatnonzero((codes == codes[row]) & (times == times[row]))[0])
        more = f" (and {len(repeated) - 1} more)" if len(repeated) > 1 else ""
        raise ValueError(
            f"series must have one row for each time{' of a sequence' if codes.any() else ''}; rows {first} and {row} "
            f"are both of {written_times(times)[row]}{more}. Keep one of them, or average them by "
            "series.groupby(level=0).mean(); sequences= tells several series apart"
        )


def _numbers(series):
    """Columns as floats, with NaN where missing, and the columns of levels and truth values."""
    table, labelled, wrong = {}, [], {}
    for [name, column], content in zip(series.items(), read_contents(series), strict=True):
        if content.form == BOOLEANS or (content.form == LEVELS and len(content.levels) <= MOST_LEVELS):
            labelled.append(name)
            continue
        if content.form != NUMBERS:
            example = next(iter(column.dropna()))
            if content.is_number and content.rule.start is not None:
                raise ValueError(
                    f"series must have times of one reading; column {name!r} has dates such as {example!r}, whose "
                    "order of day and month is not clear. Parse them by pd.to_datetime(column, dayfirst=True), or False"
                )
            kind = "durations" if content.is_number else f"text with more than {MOST_LEVELS} different values"
            wrong[name] = kind, example
        elif content.lost:
            raise ValueError(
                f"series must have finite numbers, and NaN where they are missing; column {name!r} has "
                f"{described_losses(content.lost)}"
            )
        elif content.decimals and content.remark:
            _log.warning(wrapped(f"Column {name!r}: {content.remark}."))
        elif content.note:
            _log.info(wrapped(f"Column {name!r}: {content.note}."))
        table[name] = content.values
    if wrong:
        kind, example = next(iter(wrong.values()))
        raise ValueError(
            f"series must have columns of numbers, categories or booleans; got {kind} in {list(wrong)}, such as "
            f"{example!r}. Leave them out, or name one that labels sequences by sequences="
        )
    return pd.DataFrame(table, index=series.index), series[labelled]


def _table_of_array(series):
    values = numeric_array("series", series)
    if values.ndim not in (1, 2) or 0 in values.shape[1:] or len(values) < 2:
        raise ValueError(f"series must have shape (n,) or (n, d) with n of at least 2; got shape {values.shape}")
    if values.dtype.kind == "b":
        raise TypeError("series must be numbers; got booleans")
    if np.isinf(values).any():
        place = tuple(np.argwhere(np.isinf(values))[0])
        raise ValueError(
            f"series must have finite numbers, and NaN where they are missing; row {place[0]} has {values[place]}"
        )
    columns = ["x"] if values.ndim == 1 else [f"x_{k}" for k in range(values.shape[1])]
    return pd.DataFrame(values.reshape(len(values), -1), columns=columns, dtype="float64")


def _tell_of_spacing(times, starts, labels):
    """Say which sequences have times with gaps, or with no spacing at all."""
    if times.dtype.kind not in "iufmM":
        return
    firsts = np.flatnonzero(starts)
    parts = [times[first:last] for first, last in zip(firsts, [*firsts[1:], len(times)], strict=True)]
    spacings = {k: spacing_of(part) for k, part in enumerate(parts) if len(part) > 1}
    unequal = [k for k, spacing in spacings.items() if spacing is None]
    gaps = {k: spacing for k, spacing in spacings.items() if spacing is not None and spacing.n > len(parts[k])}
    sentences = []
    if unequal:
        sentences.append(
            f"Times{_of_sequences(labels, firsts[unequal])} are not equally spaced, but count as if they were."
        )
    if gaps:
        n = sum(spacing.n for spacing in gaps.values())
        missing, words = n - sum(len(parts[k]) for k in gaps), {spacing.words for spacing in gaps.values()}
        sentences.append(
            f"{missing} of {n} times{_of_sequences(labels, firsts[[*gaps]])}"
            f"{f' by {words.pop()}' if len(words) == 1 else ''} have no row, and others count as neighbours. Rows of "
            "NaN, as of series.reindex(...), make them missing values."
        )
    if sentences:
        _log.info(wrapped(" ".join(sentences)))


def _of_sequences(labels, rows):
    """Which sequences are meant, by a row of each."""
    if labels is None:
        return ""
    return f" of sequence{'s' * (len(rows) > 1)} {first_few([repr(labels[row]) for row in rows])}"


def _check_columns_vary(table):
    for name, column in table.items():
        different = column.dropna().unique()
        if len(different) < 2:
            problem = f"has the only value {different[0]:g}" if len(different) else "has no values"
            raise ValueError(
                f"series must have columns that vary; column {name!r} {problem}"
                + (". Leave it out" if table.shape[1] > 1 else "")
            )
