"""Coordinates of items that are dates."""

import re

import numpy as np
import pandas as pd

from pymc_nrm_predictor.reading.dates_in_text import are_iso_dates, dates_in_text

_OFFSET = re.compile(r":\d\d(\.\d+)?[+-](?!00:?00$)\d\d:?\d\d$")
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])$")


def as_times(index):
    """An index of dates as a DatetimeIndex without a time zone: periods by their start, objects of Python, and ISO 8601
    text are dates.  Any other index is returned unchanged.
    """
    if isinstance(index, pd.PeriodIndex):
        return index.to_timestamp()
    if isinstance(index, pd.DatetimeIndex):
        if index.tz is None:
            return index
        local = index.tz_localize(None)
        # Local hours repeat when summer time ends.
        return local if local.nunique() == index.nunique() else index.tz_convert(None)
    if index.dtype.kind in "biufcm" or not len(index):
        return index
    values = index.astype(object)
    present = values[~values.isna()]
    if not len(present):
        return index
    if all(isinstance(value, str) for value in present):
        if not are_iso_dates(present) and not all(map(_MONTH.match, present)):
            parsed = dates_in_text(present.tolist())
            # Times of a day are not dates, and the user decides an ambiguous order of day and month.
            if parsed is None or parsed.format in ("clock", "duration") or parsed.remark:
                return index
            dates = pd.Series(pd.NaT, index=range(len(values)), dtype="datetime64[ns]")
            dates[~values.isna()] = parsed.values.to_numpy()
            return pd.DatetimeIndex(dates)
        texts = [None if pd.isna(value) else value.strip().replace("/", "-") for value in values]
        return as_times(pd.DatetimeIndex(pd.to_datetime(pd.Series(texts, dtype=object), format="ISO8601", utc=True)))
    dates = dates_of(values.where(~values.isna(), pd.NaT))
    return index if dates is None else dates


def zone_of(index):
    """Name of the time zone of an index of dates, "" for text with differences from UTC, and None without a zone."""
    if isinstance(index, pd.DatetimeIndex):
        return None if index.tz is None else str(index.tz)
    if index.dtype.kind in "biufcmM":
        return None
    return "" if any(isinstance(value, str) and _OFFSET.search(value) for value in index) else None


def dates_of(values):
    """Dates of items as a DatetimeIndex without a time zone, or None if their coordinate does not hold dates."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return pd.DatetimeIndex(array)
    if array.dtype.kind != "O" or not array.size:
        return None
    if all(isinstance(value, pd.Period) for value in array):
        return pd.PeriodIndex(array).to_timestamp()
    if all(hasattr(value, "year") and hasattr(value, "month") for value in array):
        return pd.DatetimeIndex(array).tz_localize(None)
    return None


def written_times(values):
    """Texts of the coordinate of items: dates and fractions as short as they can be, others as they are printed."""
    dates = dates_of(values)
    if dates is None:
        array = np.asarray(values)
        return _written_numbers(array) if array.dtype.kind == "f" else [str(value) for value in array]
    is_day = bool((dates == dates.normalize()).all())
    is_first = is_day and bool((dates.day == 1).all())
    text = "%Y-%m-%d %H:%M" if not is_day else "%Y-%m-%d" if not is_first else "%Y-%m"
    if is_first and len(dates) > 1 and bool((dates.month == dates.month[0]).all()):
        text = "%Y"
    return dates.strftime(text).tolist()


def _written_numbers(values):
    """Numbers with as few decimals as keep different ones different."""
    different = len(np.unique(values))
    for decimals in range(7):
        if len(np.unique(np.round(values, decimals))) == different:
            return [f"{value:.{decimals}f}" for value in values]
    return [str(value) for value in values]
