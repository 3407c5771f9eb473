"""Values of a column as floats or levels, whatever type pandas stores them in; new rows are read in the same way."""

import collections
import datetime
import decimal
import numbers
import re

import numpy as np
import pandas as pd

from pymc_nrm_predictor.checks import first_few
from pymc_nrm_predictor.reading.content import BOOLEANS, DATES, LEVELS, NUMBERS, OTHER, Content, Rule
from pymc_nrm_predictor.reading.dates_in_text import dates_in_text
from pymc_nrm_predictor.reading.numbers_in_text import ERRORS_OF_SHEETS, numbers_in_text
from pymc_nrm_predictor.reading.times import numbers_of_dates, numbers_of_dates_in_text, numbers_of_times

_NO_RULE = Rule()
_ANY_DIGIT = re.compile(r"\d")
# Whole numbers up to this one are doubles; larger ones are names if there are at most so many.
_WHOLE, _FEW_NAMES = 2**53, 20


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
        if pd.api.types.is_integer_dtype(dtype) and max(map(abs, column.dropna().tolist()), default=0) > _WHOLE:
            return _objects(column.astype(object).to_numpy(), column.isna().to_numpy(), rule)
        return _numbers(column.to_numpy(dtype="float64", na_value=np.nan), form)
    return _objects(column.astype(object).to_numpy(), column.isna().to_numpy(), rule)


def read_contents(df):
    """Contents of all columns; the decimal sign of numbers such as 1.234 is that of other columns, if they agree."""
    columns = [df.iloc[:, k] for k in range(df.shape[1])]
    contents = [read_content(column) for column in columns]
    signs = {content.decimals[0] for content in contents if len(content.decimals) == 1}
    if len(signs) == 1:
        rule = Rule(decimal=signs.pop())
        for k, content in enumerate(contents):
            if len(content.decimals) > 1:
                contents[k] = read_content(columns[k], rule)
    return contents


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
        if rule.form != NUMBERS and _are_names(present):
            texts = np.array([None if gap else str(v) for v, gap in zip(values, missing, strict=True)], dtype=object)
            return Content(texts, Rule(LEVELS), "whole numbers of more than 15 digits, as text")
        floats = np.full(len(values), np.nan)
        floats[~missing] = np.array([_as_float(value) for value in present])
        return _numbers(floats, BOOLEANS if kinds == {bool} else NUMBERS)
    if are_dates or all_are(datetime.timedelta, np.timedelta64):
        return numbers_of_dates(pd.Series(np.where(missing, None, values)), rule)
    if all_are(datetime.time):
        seconds = np.full(len(values), np.nan)
        seconds[~missing] = [3600 * t.hour + 60 * t.minute + t.second + 1e-6 * t.microsecond for t in present]
        return numbers_of_times(seconds, rule, "seconds", "seconds since midnight")
    if all(issubclass(kind, str | bool | numbers.Real | decimal.Decimal) for kind in kinds):
        return _text(values, missing, kinds, rule)
    return _several_types(values, missing, kinds, rule)


def _several_types(values, missing, kinds, rule):
    """Values of which some are dates or times: those of the most frequent type, if more than half are of it."""
    types = np.full(len(values), None, dtype=object)
    types[~missing] = [
        next((name for kind, name in _TYPES_OF_VALUES.items() if isinstance(value, kind)), "")
        for value in values[~missing]
    ]
    counts = collections.Counter(types[~missing])
    [(most, n_most)] = counts.most_common(1)
    if counts.keys() == {"date", "text"} and rule.form != NUMBERS:
        content = _text(values, missing, kinds, rule)
        if content.form == DATES or most == "text":
            remark = "dates among text, as spreadsheets make of entries such as 3-4" if content.form == LEVELS else ""
            return content._replace(remark="; ".join(part for part in (content.remark, remark) if part))
    if "" in counts or 2 * n_most <= np.count_nonzero(~missing):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        texts = np.array([None if gap else str(v) for v, gap in zip(values, missing, strict=True)], dtype=object)
        return Content(texts, Rule(OTHER), f"values of type {names}")
    others = ~missing & (types != most)
    kept = values.copy()
    kept[others] = None
    content = _objects(kept, missing | others, rule)
    return content._replace(lost=(*content.lost, *map(str, values[others])))


# Datetimes are dates, and truth values are numbers; the first class that fits says what a value is.
_TYPES_OF_VALUES = {
    str: "text",
    datetime.date: "date",
    np.datetime64: "date",
    datetime.timedelta: "span",
    np.timedelta64: "span",
    datetime.time: "time",
    numbers.Real: "number",
    decimal.Decimal: "number",
}


def _are_names(present):
    """Whether some whole numbers have no double, and are names: doubles make some equal, or there are few."""
    if not _WHOLE < max((abs(_as_float(value)) for value in present), default=0.0) < np.inf:
        return False
    different = set(present)
    doubles = {_as_float(value) for value in different}
    return doubles != different and (len(doubles) < len(different) or len(different) <= _FEW_NAMES)


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
    errors = np.array([text in ERRORS_OF_SHEETS for text in texts], dtype=bool) & ~missing
    lost = tuple(texts[errors])
    texts[errors] = None
    missing = missing | errors
    content = _known_text(values, texts, missing, kinds, rule, f"{blank.sum()} blank" if blank.any() else "")
    return content._replace(lost=(*content.lost, *lost))


def _known_text(values, texts, missing, kinds, rule, blank):
    """Dates, numbers or levels, of texts that are None where missing; ``blank`` says in words how many are blank."""
    present = texts[~missing]
    if rule.form in (None, DATES):
        has_digit = np.array([_ANY_DIGIT.search(text) is not None for text in present], dtype=bool)
        # Texts without digits are not dates.
        enough = has_digit.any() if rule.form == DATES else 2 * has_digit.sum() > len(present)
        dates = dates_in_text(present[has_digit], rule.format) if enough else None
        if dates is not None:
            without = missing.copy()
            without[np.flatnonzero(~missing)[~has_digit]] = True
            content = numbers_of_dates_in_text(dates, without, rule)
            return content._replace(lost=(*content.lost, *present[~has_digit]))
    if rule.form in (None, NUMBERS, BOOLEANS):
        stored = np.array([_as_float(v) if _is_number(v) else np.nan for v in values[~missing]])
        read = numbers_in_text(present, rule.decimal, rule.written_unit, rule.form is not None, stored)
        if read is not None:
            return _numbers_in_text(read, present, missing)
    note = "values of several types, as text" if len(kinds) > 1 else ""
    note = "; ".join(part for part in (note, blank) if part)
    return Content(texts, Rule(LEVELS), note, remark=_differ_by_case(present))


def _is_number(value):
    return isinstance(value, numbers.Real | decimal.Decimal) and not isinstance(value, bool)


def _numbers_in_text(read, present, missing):
    floats = np.full(len(missing), np.nan)
    floats[~missing] = read.values
    if read.decision and not read.is_guess:
        note = f"numbers in text, {read.decision}"
    else:
        note = "numbers in text" + (" with decimal commas" if read.decimal == "," else "")
    note += f", in {read.unit}" if read.unit else ""
    content = _numbers(floats, NUMBERS, note, tuple(present[np.isnan(read.values)]), read.decimal, read.unit)
    remark = "% stands at some numbers only, which are read like the others" if read.sign == "%" else ""
    remark = "; ".join(part for part in (remark, read.decision if read.is_guess else "") if part)
    rule = content.rule._replace(sign=read.sign or None)
    return content._replace(rule=rule, remark=remark, decimals=read.decimals)


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
