"""How times are spaced, dates by a frequency and numbers by a step, and the times that follow."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset

from pymc_nrm.common.dates import dates_of

# Frequencies of dates with gaps, from which the one with the fewest gaps is chosen.
_FREQUENCIES = ("YS", "YE", "QS", "QE", "MS", "ME", "W", "B", "D", "h", "min", "s")
# A frequency, or a step, must account for at least this share of the times.
_LEAST_SHARE = 0.5
# Fewer times do not say how they are spaced if some are missing.
_FEWEST = 3
# Numbers are on a line if they are this near to it, as a share of the step.
_SHARE_OF_STEP = 0.1


class Spacing(NamedTuple):
    """Spacing of increasing times."""

    # An offset of pandas, or a number.
    step: Any
    # How many times there are from the first to the last, including those that are missing.
    n: int
    words: str


def spacing_of(times):
    """Return the :class:`Spacing` of times, None if neither a frequency nor a step fits."""
    dates, times = dates_of(times), np.asarray(times)
    if len(times) < 2:
        return None
    if dates is not None:
        return _of_dates(dates) if dates.is_monotonic_increasing and dates.is_unique else None
    return _of_numbers(times) if times.dtype.kind in "iufm" and (times[1:] > times[:-1]).all() else None


def next_times(times, n, others=()):
    """The n times that follow and how they were found, in words; 1, 2, ..., n if times have no frequency or step.

    One or two times have the spacing of others, if there are any that they fit.
    """
    spacing = spacing_of(others) if len(times) < _FEWEST else None
    if spacing is None or not _fits(spacing, times):
        spacing = spacing_of(times)
    if spacing is None:
        return np.arange(1, n + 1), "by counting steps, since no frequency fits"
    dates = dates_of(times)
    if dates is None:
        later = np.asarray(times)[-1] + spacing.step * np.arange(1, n + 1)
    else:
        later = pd.date_range(dates[-1], periods=n + 1, freq=spacing.step)[1:].to_numpy()
    return later, f"by {spacing.words}"


def _fits(spacing, times):
    """Whether times may have a spacing that was found for others."""
    dates = dates_of(times)
    if hasattr(spacing.step, "is_on_offset"):
        return dates is not None and bool(spacing.step.is_on_offset(dates[-1]))
    return dates is None and np.asarray(times).dtype.kind in "iuf"


def _of_dates(dates):
    exact = pd.DatetimeIndex(dates.to_numpy(), freq="infer").freq if len(dates) > 2 else None
    if exact is not None:
        return Spacing(exact, len(dates), f"the frequency {exact.freqstr!r}")
    numbers = {frequency: _number(dates, to_offset(frequency)) for frequency in _candidates(dates)}
    numbers = {frequency: n for frequency, n in numbers.items() if n is not None}
    best = min(numbers, key=numbers.get, default=None)
    return None if best is None else Spacing(to_offset(best), numbers[best], f"the frequency {best!r}")


def _candidates(dates):
    """Frequencies that dates may have: those of the calendar, then the most frequent step."""
    for name in _FREQUENCIES:
        yield f"W-{dates[0].day_name()[:3].upper()}" if name == "W" else name
    step = pd.Series(np.diff(dates)).mode()[0]
    yield f"{step.days}D" if step == step.floor("D") else to_offset(step).freqstr


def _number(dates, offset):
    """Number of times of a frequency from the first date to the last, None if dates are not, or too few, of these."""
    if not all(offset.is_on_offset(date) for date in dates[[0, -1]]):
        return None
    most = int(len(dates) / _LEAST_SHARE)
    every = pd.date_range(dates[0], min(dates[-1], dates[0] + (most + 1) * offset), freq=offset)
    return len(every) if len(every) <= most and dates.isin(every).all() else None


def _of_numbers(times):
    steps = np.diff(times)
    if times.dtype.kind == "f":
        step = (times[-1] - times[0]) / len(steps)
        if abs(times - times[0] - step * np.arange(len(times))).max() <= _SHARE_OF_STEP * step:
            return Spacing(step, len(times), f"steps of {step:g}")
        # Whole numbers with gaps, such as years of a column that also had missing entries.
        is_whole = (times == np.floor(times)).all() and abs(times).max() < 2**53
        return _of_numbers(times.astype(np.int64)) if is_whole else None
    step = pd.Series(steps).mode()[0]
    if np.mean(steps == step) < _LEAST_SHARE:
        return None
    words = str(pd.Timedelta(step)) if times.dtype.kind == "m" else f"{step:g}"
    return Spacing(step, 1 + round((times[-1] - times[0]) / step), f"steps of {words}")
