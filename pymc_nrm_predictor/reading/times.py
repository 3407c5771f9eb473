"""Dates, times of the day and spans of time as numbers of days, minutes or seconds."""

import datetime

import numpy as np
import pandas as pd

from pymc_nrm_predictor.reading.content import DATES, NUMBERS, Content, Rule

# Dates that cover a shorter span are in seconds.
_LEAST_DAYS = 3
_SECONDS = {"days": 86_400.0, "minutes": 60.0, "seconds": 1.0}
# Years outside are placeholders, such as the end of what has not ended in a database.
YEARS = range(1000, 2900)


def numbers_of_times(seconds, rule, unit, note, format=None):
    """Times of the day and spans of time, float of seconds, in the unit of the table of a model, or else in another."""
    unit = rule.unit or unit
    return Content(seconds / _SECONDS[unit], Rule(DATES, unit=unit, format=format), note)


def numbers_of_dates_in_text(dates, missing, rule):
    """Dates in days or seconds, times of the day in minutes, durations in seconds."""
    if dates.format in ("clock", "duration"):
        seconds = np.full(len(missing), np.nan)
        seconds[~missing] = dates.values.dt.total_seconds()
        if dates.format == "duration":
            return numbers_of_times(seconds, rule, "seconds", "durations in text, seconds", "duration")
        note = "times in text, minutes since midnight, where the day has an edge"
        return numbers_of_times(seconds, rule, "minutes", note, "clock")
    column = pd.Series(pd.NaT, index=range(len(missing)), dtype=dates.values.dtype)
    column[~missing] = dates.values.to_numpy() if dates.values.dt.tz is None else dates.values.array
    content = numbers_of_dates(column, rule, "dates in text, ")
    return content._replace(
        rule=content.rule._replace(format=dates.format, has_zone=dates.has_zone), remark=dates.remark
    )


def numbers_of_dates(column, rule, prefix=""):
    """Dates as numbers of days or seconds since the first date, and spans of time as numbers of days or seconds."""
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
    if column.dtype.kind == "m":
        seconds = (column / pd.Timedelta(seconds=1)).to_numpy(dtype="float64")
        unit = _unit_of(seconds)
        return numbers_of_times(seconds, rule, unit, f"{prefix}{rule.unit or unit}")
    column, lost = _without_placeholders(column)
    start = column.min() if rule.start is None else rule.start
    if start is pd.NaT:
        return Content(np.full(len(column), np.nan), Rule(NUMBERS), lost=lost)
    seconds = ((column - start) / pd.Timedelta(seconds=1)).to_numpy(dtype="float64")
    unit = rule.unit or _unit_of(seconds)
    since = start.strftime("%Y-%m-%d" if start == start.normalize() else "%Y-%m-%d %H:%M:%S")
    rule = Rule(DATES, start=start, unit=unit, has_zone=has_zone)
    return Content(seconds / _SECONDS[unit], rule, f"{prefix}{unit} since {since}", lost=lost)


def date_writer(rule):
    """A function that writes numbers of a column of dates as dates."""
    with_time = rule.unit == "seconds"

    def write(value):
        date = rule.start + pd.Timedelta(seconds=round(float(value) * _SECONDS[rule.unit]))
        return date.strftime("%Y-%m-%d %H:%M:%S" if with_time else "%Y-%m-%d")

    return write


def _unit_of(seconds):
    return "days" if np.nanmax(seconds) - np.nanmin(seconds) >= _LEAST_DAYS * _SECONDS["days"] else "seconds"


def _without_placeholders(column):
    """Dates without those of years such as 9999, which are returned as text."""
    years = column.dt.year
    is_placeholder = column.notna() & ~years.between(YEARS[0], YEARS[-1])
    if not is_placeholder.any():
        return column, ()
    return column.where(~is_placeholder), tuple(date.strftime("%Y-%m-%d") for date in column[is_placeholder])
