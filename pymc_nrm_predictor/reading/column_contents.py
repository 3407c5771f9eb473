"""Values of a column as floats or levels, whatever type pandas stores them in; new rows are read in the same way."""

import collections
import datetime
import decimal
import numbers
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymc_nrm_predictor.checks import first_few
from pymc_nrm_predictor.reading.dates_in_text import dates_in_text
from pymc_nrm_predictor.reading.numbers_in_text import numbers_in_text

NUMBERS, BOOLEANS, DATES, LEVELS, OTHER = "numbers", "booleans", "dates", "levels", "other"

# Dates that cover a shorter span are in seconds.
_LEAST_DAYS = 3


class Rule(NamedTuple):
    """Decisions made when a column was read, to apply to new rows."""

    form: str | None = None
    # Decimal sign and unit of numbers in text, and the format of dates in text.
    decimal: str | None = None
    written_unit: str | None = None
    format: str | None = None
    # Dates are numbers of units since the first date; durations are numbers of units.
    start: Any = None
    unit: str | None = None
    # Whether dates have a time zone; None in files that do not say so, and for values that are not dates.
    has_zone: bool | None = None
    # A sign that stands at some of the numbers only, such as that of a currency.
    sign: str | None = None

    @property
    def shown_unit(self):
        """The unit of numbers in descriptions and pictures, or an empty text."""
        return self.written_unit or {"clock": "min", "duration": "s"}.get(self.format, "")


class Content(NamedTuple):
    """Values of a column: floats, NaN where missing, or objects, None where missing."""

    values: np.ndarray
    rule: Rule
    # Description of how values were read; empty if they were read as they are.
    note: str = ""
    # All levels of a pandas category, in its order.
    order: tuple = ()
    # Texts or numbers that became missing values.
    lost: tuple = ()
    # What a user should have a look at, or an empty text.
    remark: str = ""

    @property
    def form(self):
        return self.rule.form

    @property
    def is_number(self):
        """Whether values are numbers, including dates and truth values."""
        return self.form not in (LEVELS, OTHER)

    @property
    def missing(self):
        return np.isnan(self.values) if self.values.dtype == np.float64 else pd.isna(self.values)

    @property
    def levels(self):
        """Levels that occur, in the order of a pandas category, otherwise sorted."""
        known = self.values[~self.missing]
        if not self.is_number:
            present = set(known.tolist())
            return tuple(level for level in self.order if level in present) or tuple(sorted(present))
        different = np.unique(known)
        if self.form == BOOLEANS:
            return tuple(different.astype(bool).tolist())
        return tuple((different.astype("int64") if (different == np.floor(different)).all() else different).tolist())

    def codes(self, levels):
        """Codes 0, 1, ... of levels; NaN where a value is missing, and -1 where it is not among the levels."""
        numbered = {level: float(k) for k, level in enumerate(levels)}
        pairs = zip(self.values.tolist(), self.missing, strict=True)
        return np.array([np.nan if missing else numbered.get(value, -1.0) for value, missing in pairs])


def described_losses(lost):
    """Entries that became missing, in words."""
    if not lost:
        return ""
    shown = first_few([repr(entry) for entry in dict.fromkeys(lost)], 3)
    return f"{shown} ({len(lost):,} row{'s' * (len(lost) > 1)})"


_NO_RULE = Rule()


def check_alike(content, rule, title):
    """Refuse dates, durations or numbers where a model has another one of these: their values have other units."""
    got, wanted = (_unit_of(each) for each in (content.rule, rule))
    if not content.missing.all() and None not in (got, wanted) and got != wanted:
        raise TypeError(f"{title} must hold {wanted}, as in the table of the model; got {got}")
    got, wanted = content.rule.has_zone, rule.has_zone
    if None not in (got, wanted) and got != wanted:
        words = {True: "dates with a time zone", False: "dates without a time zone"}
        raise TypeError(f"{title} must hold {words[wanted]}, as in the table of the model; got {words[got]}")


def _unit_of(rule):
    """What the numbers of a column are, in words, or None for text."""
    if rule.form == DATES:
        return "durations or times of a day" if rule.start is None else "dates"
    return "numbers" if rule.form in (NUMBERS, BOOLEANS) else None


def level_codes(content, name, levels):
    """Numbers 0, 1, ... of the levels of a column; NaN where it is missing."""
    codes = content.codes(levels)
    unknown = content.values[codes == -1.0].tolist()
    if unknown:
        raise ValueError(
            f"column {name!r} must have levels of the model, {list(levels)}; got {unknown[0]!r}. Make it one of these, "
            "or missing, which leaves the column out of the prediction"
        )
    return codes


def is_text(column):
    """Whether a column of pandas has text, or categories that are not all numbers."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = column.cat.categories.astype(object)
        return any(not isinstance(value, int | float | np.number) for value in values)
    if column.dtype.kind in "biufcmM":
        return False
    return any(isinstance(value, str) for value in column.astype(object))


def read_content(column, rule=_NO_RULE):
    """Read a column, by a rule if there is one."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(column)
    if isinstance(dtype, pd.PeriodDtype):
        column, dtype = column.dt.to_timestamp(), np.dtype("datetime64[ns]")
    if isinstance(dtype, pd.IntervalDtype):
        return _categories(column.astype("category"))
    if dtype.kind in "mM" and rule.form == LEVELS:
        column = column.astype(object).where(column.notna(), None).map(str, na_action="ignore")
        return _objects(column.to_numpy(), column.isna().to_numpy(), rule)
    if dtype.kind in "mM":
        return _dates(column, rule)
    if dtype.kind in "biuf" or (pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"):
        form = BOOLEANS if pd.api.types.is_bool_dtype(dtype) else NUMBERS
        return _numbers(column.to_numpy(dtype="float64", na_value=np.nan), form)
    return _objects(column.astype(object).to_numpy(), column.isna().to_numpy(), rule)


def _numbers(values, form, note="", lost=(), decimal=None, unit=None):
    infinite = np.isinf(values)
    lost = (*lost, *values[infinite].tolist())
    return Content(np.where(infinite, np.nan, values), Rule(form, decimal, unit), note, lost=lost)


def _objects(values, missing, rule):
    present = values[~missing].tolist()
    kinds = {bool if isinstance(value, np.bool_) else type(value) for value in present}

    def all_are(*types):
        return bool(kinds) and all(issubclass(kind, types) and kind is not bool for kind in kinds)

    are_dates = all_are(datetime.date, np.datetime64)
    if are_dates and rule.form == LEVELS:
        return read_content(pd.Series(pd.to_datetime(pd.Series(values).where(~missing, None))), rule)
    if not kinds or kinds == {bool} or all_are(numbers.Real, decimal.Decimal):
        floats = np.full(len(values), np.nan)
        floats[~missing] = np.array([_as_float(value) for value in present])
        return _numbers(floats, BOOLEANS if kinds == {bool} else NUMBERS)
    if are_dates or all_are(datetime.timedelta, np.timedelta64):
        return _dates(pd.Series(np.where(missing, None, values)), rule)
    if all_are(datetime.time):
        seconds = np.full(len(values), np.nan)
        seconds[~missing] = [3600 * t.hour + 60 * t.minute + t.second + 1e-6 * t.microsecond for t in present]
        return Content(seconds, Rule(DATES, unit="seconds"), "seconds since midnight")
    if not all(issubclass(kind, str | bool | numbers.Real | decimal.Decimal) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        texts = np.array([None if gap else str(v) for v, gap in zip(values, missing, strict=True)], dtype=object)
        return Content(texts, Rule(OTHER), f"values of type {names}")
    return _text(values, missing, kinds, rule)


def _as_float(value):
    """A number as a double, infinite if it is beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _text(values, missing, kinds, rule):
    texts = np.full(len(values), None, dtype=object)
    texts[~missing] = [str(value).strip() if isinstance(value, str) else str(value) for value in values[~missing]]
    blank = texts == ""
    texts[blank] = None
    missing = missing | blank
    present = texts[~missing]
    if rule.form in (None, DATES) and (dates := dates_in_text(present, rule.format)) is not None:
        return _dates_in_text(dates, missing, rule)
    if rule.form in (None, NUMBERS, BOOLEANS):
        read = numbers_in_text(present, rule.decimal, rule.written_unit, wanted=rule.form is not None)
        if read is not None:
            floats = np.full(len(texts), np.nan)
            floats[~missing] = read.values
            note = "numbers in text" + (" with decimal commas" if read.decimal == "," else "")
            note += f", in {read.unit}" if read.unit else ""
            lost = tuple(present[np.isnan(read.values)])
            content = _numbers(floats, NUMBERS, note, lost, read.decimal, read.unit)
            remark = "% stands at some numbers only, which are read like the others" if read.sign == "%" else ""
            return content._replace(rule=content.rule._replace(sign=read.sign or None), remark=remark)
    note = "values of several types, as text" if len(kinds) > 1 else ""
    note += f"{'; ' if note else ''}{blank.sum()} blank" if blank.any() else ""
    return Content(texts, Rule(LEVELS), note, remark=_differ_by_case(present))


def _dates_in_text(dates, missing, rule):
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
    content = _dates(column, rule, "dates in text, ")
    return content._replace(
        rule=content.rule._replace(format=dates.format, has_zone=dates.has_zone), remark=dates.remark
    )


def _differ_by_case(texts):
    """Levels that differ by capital letters alone, in words, or an empty text."""
    written = collections.defaultdict(set)
    for text in dict.fromkeys(texts):
        written[text.casefold()].add(text)
    pairs = [" and ".join(map(repr, sorted(texts))) for texts in written.values() if len(texts) > 1]
    return f"levels that differ by capital letters alone: {first_few(pairs, 3)}" if pairs else ""


def _categories(column):
    """Levels of a pandas category, with a note if it is ordered."""
    order = tuple(_plain(level) for level in column.cat.categories.tolist())
    codes = column.cat.codes.to_numpy()
    values = np.array([*order, None], dtype=object)[codes]
    return Content(values, Rule(LEVELS), "in order" if column.cat.ordered else "", order)


def _plain(level):
    return level if isinstance(level, str | bool | int | float) else str(level)


def _dates(column, rule, prefix=""):
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
