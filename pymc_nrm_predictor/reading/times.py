"""Dates, times of the day and spans of time as numbers of days, minutes or seconds."""

import datetime

import numpy as np
import pandas as pd

from pymc_nrm_predictor.reading.content import DATES, NUMBERS, Content, Rule

# Dates that cover a shorter span are in seconds.
_LEAST_DAYS = 3


def numbers_of_dates_in_text(dates, missing, rule):
    """Dates in days or seconds, times of the day in minutes, durations in seconds."""
    if dates.format in ("clock", "duration"):
        seconds = np.full(len(missing), np.nan)
        seconds[~missing] = dates.values.dt.total_seconds()
        if dates.format == "duration":
            return Content(seconds, Rule(DATES, unit="seconds", format="duration"), "durations in text, seconds")
        note = "times in text, minutes since midnight, where the day has an edge"
        return Content(seconds / 60.0, Rule(DATES, unit="minutes", format="clock"), note)
    column = pd.Series(pd.NaT, index=range(len(missing)), dtype=dates.values.dtype)
    column[~missing] = dates.values.to_numpy() if dates.values.dt.tz is None else dates.values.array
    content = numbers_of_dates(column, rule, "dates in text, ")
    return content._replace(
        rule=content.rule._replace(format=dates.format, has_zone=dates.has_zone), remark=dates.remark
    )


def numbers_of_dates(column, rule, prefix=""):
    """Dates as numbers of days or seconds since the first date, and durations as numbers of days or seconds."""
    if column.isna().all():
        return Content(np.full(len(column), np.nan), Rule(NUMBERS))
    has_zone = False
    if column.dtype == object or isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
        first = column[column.notna()].iloc[0]
        has_zone = getattr(first, "tzinfo", None) is not None
        is_span = isinstance(first, datetime.timedelta | np.timedelta64)
        column = pd.to_timedelta(column) if is_span else pd.to_datetime(column, utc=True)
        column = column if is_span else column.dt.tz_localize(None)
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        has_zone = True
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    start, spans = None, column
    if column.dtype.kind == "M":
        start = column.min() if rule.start is None else rule.start
        spans = column - start
    days = (spans / pd.Timedelta(days=1)).to_numpy(dtype="float64")
    unit = rule.unit or ("days" if np.nanmax(days) - np.nanmin(days) >= _LEAST_DAYS else "seconds")
    note = f"{prefix}{unit}"
    if start is not None:
        note += f" since {start.strftime('%Y-%m-%d' if start == start.normalize() else '%Y-%m-%d %H:%M:%S')}"
    rule = Rule(DATES, start=start, unit=unit, has_zone=None if start is None else has_zone)
    return Content(days if unit == "days" else days * 86_400, rule, note)
