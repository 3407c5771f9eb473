"""Times of items on an axis of numbers, and ticks with dates where times are dates."""

import numpy as np
import pandas as pd

from pymc_nrm.common.dates import dates_of

# Lengths of time between ticks, as a number of units, and how a date is written.
_SPACINGS = (
    *((k, "YS", "%Y") for k in (100, 50, 20, 10, 5, 2, 1)),
    *((k, "MS", "%Y-%m") for k in (6, 3, 2, 1)),
    *((k, "D", "%Y-%m-%d") for k in (14, 7, 2, 1)),
    *((k, "h", "%m-%d %H:%M") for k in (12, 6, 3, 1)),
    *((k, "min", "%H:%M") for k in (30, 10, 5, 1)),
)
_FEWEST_TICKS = 4
# Years and months are multiples of the spacing.
_ALIGNED = {"YS": lambda ticks: ticks.year, "MS": lambda ticks: ticks.month - 1}


def time_axis(values, n_sequences):
    """Positions (n,) of items on an axis, and positions and texts of its ticks, or None for those of the backend.

    Items of one sequence are at their times, if these are dates or numbers that increase; all others are numbered.
    """
    dates = dates_of(values)
    if n_sequences == 1 and dates is not None and dates.is_monotonic_increasing:
        return _days(dates), _date_ticks(dates)
    array = np.asarray(values)
    if n_sequences == 1 and array.dtype.kind in "iuf" and (np.diff(array) > 0).all():
        return array.astype("float64"), None
    return np.arange(len(array), dtype="float64"), None


def edges_of(positions):
    """Ends of the stretches of an axis that belong to items, halfway between them; shape (n + 1,)."""
    if len(positions) == 1:
        return positions[0] + np.array([-0.5, 0.5])
    middle = (positions[1:] + positions[:-1]) / 2
    return np.concatenate(
        [[1.5 * positions[0] - 0.5 * positions[1]], middle, [1.5 * positions[-1] - 0.5 * positions[-2]]]
    )


def _days(dates):
    return (dates - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D") + 0.0


def _date_ticks(dates):
    for k, unit, text in _SPACINGS:
        ticks = pd.date_range(dates[0].normalize(), dates[-1], freq=unit if unit in _ALIGNED else f"{k}{unit}")
        ticks = ticks[(ticks >= dates[0]) & (_ALIGNED[unit](ticks) % k == 0 if unit in _ALIGNED else True)]
        if len(ticks) >= _FEWEST_TICKS:
            # A finer spacing than the last one that was too wide may have many ticks.
            return _labelled(ticks[:: max(1, len(ticks) // 8)], text)
    return _labelled(dates[:: max(1, len(dates) // 4)], "%Y-%m-%d %H:%M")


def _labelled(ticks, text):
    return np.asarray(_days(ticks)), [tick.strftime(text) for tick in ticks]
