"""Coordinates of items that are dates."""

import numpy as np
import pandas as pd


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
    """Texts of the coordinate of items: dates as short as they can be, anything else as it is printed."""
    dates = dates_of(values)
    if dates is None:
        return [str(value) for value in np.asarray(values)]
    is_day = bool((dates == dates.normalize()).all())
    is_first = is_day and bool((dates.day == 1).all())
    text = "%Y-%m-%d %H:%M" if not is_day else "%Y-%m-%d" if not is_first else "%Y-%m"
    if is_first and len(dates) > 1 and bool((dates.month == dates.month[0]).all()):
        text = "%Y"
    return dates.strftime(text).tolist()
