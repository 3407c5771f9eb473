"""Dates, times of the day and durations written as text, in one format that fits all entries."""

import datetime
import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

_ISO = re.compile(r"\d{4}([-/])\d{2}\1\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$")
_CLOCK, _HOURS = re.compile(r"(\d{1,2}):([0-5]\d)(:[0-5]\d)?$"), re.compile(r"(\d+):([0-5]\d):([0-5]\d)(\.\d+)?$")
# Formats of dates in offices.  Of two that fit, the first is taken, and the other is named.
_FORMATS = (
    *("%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%d. %B %Y", "%Y%m%d"),
    *("%b %Y", "%B %Y", "%b-%Y", "%m/%Y", "%m.%Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S")
_ANY_DIGIT = re.compile(r"\d")
# Years of dates that mean no date, such as the end of a contract that has none.
_PLACEHOLDERS = (1, 2999, 3000, 9999)


class DatesInText(NamedTuple):
    """Dates, or spans of time, that texts hold, and the format in which they were written."""

    values: Any
    # A format of strptime, "ISO8601", "clock" or "duration".
    format: str
    # What a user should know, or an empty text.
    remark: str = ""
    # Whether some have a time zone.
    has_zone: bool = False


def are_iso_dates(texts):
    """Whether all texts are ISO 8601 dates, or such dates with slashes instead of dashes."""
    return len(texts) > 0 and all(_ISO.match(text.strip()) for text in texts)


def dates_in_text(texts, format=None):
    """Return :class:`DatesInText` if all texts have one format, which is given for new rows; otherwise None."""
    if not len(texts) or not all(map(_ANY_DIGIT.search, texts)):
        return None
    if format in (None, "ISO8601") and are_iso_dates(texts):
        dashed = pd.Series([text.strip().replace("/", "-") for text in texts], dtype=object)
        dates = pd.to_datetime(dashed, format="ISO8601", utc=True)
        return DatesInText(dates, "ISO8601", has_zone=any(_ISO.match(text.strip()).group(5) for text in texts))
    for name, read in (("clock", _clock), ("duration", _duration)):
        if format in (None, name) and (spans := read(texts)) is not None:
            return DatesInText(pd.Series(pd.to_timedelta(spans, unit="s")), name)
    texts = pd.Series([" ".join(text.split()) for text in texts], dtype=object)
    candidates = [date + time for date in _FORMATS for time in _TIMES] if format is None else [format]
    parsed = {form: dates for form in candidates if (dates := _parsed(texts, form)) is not None}
    if not parsed:
        return None
    chosen, *others = parsed
    remark = ""
    if (
        format is None
        and others
        and _is_other_order(chosen, others[0])
        and not parsed[chosen].equals(parsed[others[0]])
    ):
        remark = f"{_words(chosen)}, as {_words(others[0])} fits too: parse it by pd.to_datetime to be sure"
    return DatesInText(parsed[chosen], chosen, remark)


def _parsed(texts, form):
    """Dates of texts that all have a format, of plausible years, or None."""
    # One text is parsed by Python, since pandas takes some ten times as long to refuse it.
    try:
        datetime.datetime.strptime(texts.iloc[0], form)
    except ValueError:
        return None
    dates = pd.to_datetime(texts, format=form, errors="coerce")
    if dates.isna().any():
        return None
    years = dates.dt.year[~dates.dt.year.isin(_PLACEHOLDERS)]
    return dates if len(years) and years.between(1800, 2200).all() else None


def _is_other_order(first, second):
    return {first[:2], second[:2]} == {"%d", "%m"} and first[2:] != second[2:]


def _words(form):
    return "day first" if form.startswith("%d") else "month first"


def _clock(texts):
    """Seconds since midnight of times of a day, or None."""
    matches = [_CLOCK.match(text.strip()) for text in texts]
    if not all(matches) or any(int(match.group(1)) > 23 for match in matches):
        return None
    # Hours of durations are rarely written with two digits.
    if any(match.group(3) for match in matches) and any(len(match.group(1)) < 2 for match in matches):
        return None
    return np.array([_seconds(match) for match in matches])


def _seconds(match):
    return 3600.0 * int(match.group(1)) + 60.0 * int(match.group(2)) + float((match.group(3) or ":0")[1:])


def _duration(texts):
    """Seconds of durations such as 1:02:03, or None."""
    matches = [_HOURS.match(text.strip()) for text in texts]
    if not all(matches):
        return None
    return np.array(
        [3600.0 * int(m.group(1)) + 60.0 * int(m.group(2)) + int(m.group(3)) + float(m.group(4) or 0) for m in matches]
    )
