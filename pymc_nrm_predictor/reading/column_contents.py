"""Values of a column as floats or levels, whatever type pandas stores them in; new rows are read in the same way."""

import collections
import datetime
import decimal
import numbers

import numpy as np
import pandas as pd

from pymc_nrm_predictor.checks import first_few
from pymc_nrm_predictor.reading.content import BOOLEANS, DATES, LEVELS, NUMBERS, OTHER, Content, Rule
from pymc_nrm_predictor.reading.dates_in_text import dates_in_text
from pymc_nrm_predictor.reading.numbers_in_text import numbers_in_text
from pymc_nrm_predictor.reading.times import numbers_of_dates, numbers_of_dates_in_text

_NO_RULE = Rule()


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
        return numbers_of_dates(column, rule)
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
        return numbers_of_dates(pd.Series(np.where(missing, None, values)), rule)
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
        return numbers_of_dates_in_text(dates, missing, rule)
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
