"""Times that follow the times of a series: dates by their frequency, numbers by their step."""

import numpy as np
import pandas as pd

from pymc_nrm.common.dates import dates_of

# Frequencies of dates with gaps, from which the one with the fewest gaps is chosen.
_FREQUENCIES = ("YS", "YE", "QS", "QE", "MS", "ME", "W", "B", "D", "h", "min", "s")
# A frequency, or a step, must account for at least this share of the times.
_LEAST_SHARE = 0.5
# Numbers are on a line if they are this near to it, as a share of the step.
_SHARE_OF_STEP = 0.1


def next_times(times, n):
    """The n times that follow and how they were found, in words; 1, 2, ..., n if times have no frequency or step."""
    dates = dates_of(times)
    found = _next_numbers(np.asarray(times), n) if dates is None else _next_dates(dates, n)
    return (np.arange(1, n + 1), "by counting steps, since no frequency fits") if found is None else found


def _next_dates(dates, n):
    exact = pd.DatetimeIndex(dates.to_numpy(), freq="infer").freq if len(dates) > 2 else None
    frequency = None if exact is None else exact.freqstr
    if frequency is None:
        shares = {name: _share(dates, name) for name in _candidates(dates)}
        best = max(shares, key=shares.get, default=None)
        frequency = None if best is None or shares[best] < _LEAST_SHARE else best
    if frequency is None:
        return None
    later = pd.date_range(dates[-1], periods=n + 1, freq=frequency)[-n:] if n else dates[:0]
    return later.to_numpy(), f"by the frequency {frequency!r}"


def _candidates(dates):
    """Frequencies that dates may have: those of the calendar, then the most frequent step."""
    if len(dates) < 2 or not dates.is_monotonic_increasing or not dates.is_unique:
        return
    for name in _FREQUENCIES:
        yield f"W-{dates[0].day_name()[:3].upper()}" if name == "W" else name
    step = pd.Series(np.diff(dates)).mode()[0]
    whole_days = step == step.floor("D")
    yield f"{step.days}D" if whole_days else pd.tseries.frequencies.to_offset(step).freqstr


def _share(dates, frequency):
    """Share of the dates among all of a frequency from the first to the last; 0 if others are among them."""
    offset = pd.tseries.frequencies.to_offset(frequency)
    if not all(offset.is_on_offset(date) for date in dates[[0, -1]]):
        return 0.0
    most = len(dates) / _LEAST_SHARE
    later = dates[0] + (int(most) + 1) * offset
    every = pd.date_range(dates[0], min(dates[-1], later), freq=offset)
    return len(dates) / len(every) if dates.isin(every).all() else 0.0


def _next_numbers(times, n):
    kind = times.dtype.kind
    if kind not in "iufm" or len(times) < 2:
        return None
    steps = np.diff(times)
    if kind == "f":
        step = (times[-1] - times[0]) / len(steps)
        fits = abs(times - times[0] - step * np.arange(len(times))).max() <= _SHARE_OF_STEP * step
    else:
        step = pd.Series(steps).mode()[0]
        fits = np.mean(steps == step) >= _LEAST_SHARE
    if not fits or not steps.min() > steps[0] * 0:
        return None
    words = str(pd.Timedelta(step)) if kind == "m" else f"{step:g}"
    return times[-1] + step * np.arange(1, n + 1), f"by steps of {words}"
