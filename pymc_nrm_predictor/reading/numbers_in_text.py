"""Numbers written as text: with one constant unit, groups of digits, decimal commas, minus signs of typesetting."""

import collections
import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

_DIGIT = re.compile(r"\d")
# A number that begins with zero, such as 00501, is a code.
_CODE = re.compile(r"[+-]?0\d")
# What spreadsheets and typesetting write for a hyphen before a number, and for spaces between groups of digits.
_MINUS = re.compile(r"^[\u2212\u2010-\u2013]\s*")
_SPACES = re.compile(r"(?<=\d)[ \u00a0\u2007\u2009\u202f'\u2019](?=\d{3}(?!\d))")
_BRACKETS = re.compile(r"^\(([^()]*\d[^()]*)\)$")
_CURRENCY = r"[$\u20ac\u00a3\u00a5\u20b9]|(?:EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN)\b"
_PREFIX = re.compile(rf"^([+-]?)({_CURRENCY})\s*(?=[\d.,(+-])")
_SUFFIX = re.compile(r"(?<=[\d.,)])\s*([^\d\s.,()+-][^\d]{0,11})$")
# A unit is on at least this share of the numbers.
_LEAST_SHARE = 0.9

# Digits in groups of three, and the decimal sign, as (group, decimals).
_STYLES = {".": (",", "."), ",": (".", ",")}


# What spreadsheets write where a formula has no value, in English and German.
ERRORS_OF_SHEETS = frozenset(
    ("#N/A", "#NV", "#DIV/0!", "#VALUE!", "#WERT!", "#REF!", "#BEZUG!", "#NAME?", "#NUM!", "#ZAHL!", "#NULL!")
)


class NumbersInText(NamedTuple):
    """Numbers that texts hold, NaN for other texts, and how they were written."""

    values: Any
    decimal: str
    # The unit that all numbers have, or an empty text.
    unit: str
    # A sign that stands at some of the numbers only, or an empty text.
    sign: str = ""
    # Decimal signs that fit, if it matters: two if nothing in the texts decides between them.
    decimals: tuple = ()
    # What was decided between these two, or an empty text, and whether nothing speaks for it.
    decision: str = ""
    is_guess: bool = False


def numbers_in_text(texts, decimal=None, unit=None, wanted=False, stored=None):
    """Return :class:`NumbersInText`; None if most texts are not numbers, or some are codes, unless numbers are wanted.

    The decimal sign and the unit of new rows are those of the rows that were read first. ``stored`` has the numbers
    that are texts here only, NaN for true texts.
    """
    stored = np.full(len(texts), np.nan) if stored is None else stored
    if not wanted and any(_CODE.match(text.strip()) for text in texts):
        return None
    with_digits = [_DIGIT.search(text) is not None for text in texts]
    # Texts without digits are not numbers.
    if sum(with_digits) <= (0.0 if wanted else 0.5) * len(texts):
        return None
    cleaned, units = zip(*map(_without_unit, texts), strict=True)
    common_unit = _common_unit(units, with_digits) if unit is None else unit
    if common_unit is None:
        return None
    signs = set() if common_unit else {its_unit for its_unit in units if its_unit in SIGNS_ALONE}
    if len(signs) > 1:
        # Several currencies, or shares beside amounts.
        return None
    sign = next(iter(signs), "")
    # A number with another unit is not one of these.
    allowed = ("", common_unit or sign)
    cleaned = [text if its_unit in allowed else "" for text, its_unit in zip(cleaned, units, strict=True)]
    styles = [decimal] if decimal else list(_STYLES)
    read = {style: np.where(np.isnan(stored), _numbers(cleaned, *_STYLES[style]), stored) for style in styles}
    n_read = {style: np.count_nonzero(~np.isnan(values)) for style, values in read.items()}
    best = max(styles, key=n_read.get)
    if n_read[best] <= (0.0 if wanted else 0.5) * len(texts):
        return None
    decimals, decision, is_guess = (), "", False
    if decimal is None and not np.array_equal(*read.values(), equal_nan=True):
        same = np.array_equal(*map(np.isnan, read.values()))
        decimals = tuple(styles) if same else (best,) if n_read["."] != n_read[","] else ()
        if same:
            best, decision, is_guess = _decimal_of_groups(cleaned, read, stored)
    return NumbersInText(read[best], best, common_unit, sign, decimals, decision, is_guess)


def _decimal_of_groups(texts, read, stored):
    """The decimal sign of texts that two fit, such as 1.234, what was decided, and whether it is a mere guess.

    Three digits after each sign are decimals that someone rounded, or groups. Numbers without a sign decide: those
    with four digits and more are not written in groups, and few that are rounded to three digits have none. Numbers
    that are stored as such are of the same size.
    """
    fits = ~np.isnan(read["."]) & ~np.isnan(read[","]) & np.isnan(stored)
    signs = [next((sign for sign in _STYLES if sign in text), "") for text in texts]
    place = next(k for k in np.flatnonzero(fits) if signs[k])
    sign = signs[place]
    whole = np.abs([value for value, fit, its_sign in zip(read["."], fits, signs, strict=True) if fit and not its_sign])
    as_decimal, as_groups = sign, _STYLES[sign][0]
    chosen, is_guess = ".", True
    if (stored != 0.0).any() and not np.isnan(stored).all():
        size = np.log(np.median(np.abs(stored[np.abs(stored) > 0.0])))
        chosen = min(_STYLES, key=lambda style: abs(np.log(abs(read[style][place]) or 1.0) - size))
    elif (whole >= 1000).any():
        chosen, is_guess = as_decimal, False
    elif (whole > 0).any():
        chosen, is_guess = as_groups, False
    decision = f"{texts[place]!r} is read as {read[chosen][place]:g}"
    if is_guess:
        decision += f", although {read[_STYLES[chosen][0]][place]:g} fits too: give numbers to be sure"
    return chosen, decision, is_guess


# Signs that may stand at some numbers only, where numbers have no unit.
SIGNS_ALONE = ("$", "\u20ac", "\u00a3", "\u00a5", "%")


def unit_of_number(text):
    """The unit of a number in text; an empty text if there is none, or no digit."""
    return _without_unit(text)[1] if _DIGIT.search(text) else ""


def _without_unit(text):
    """A number as Python would write it, but for its decimal sign and groups of digits, and its unit."""
    text, unit = _with_sign(text), ""
    if match := _PREFIX.match(text):
        text, unit = match.group(1) + text[match.end() :], match.group(2)
    elif match := _SUFFIX.search(text):
        text, unit = text[: match.start()], match.group(1).strip()
    return _SPACES.sub("", _with_sign(text)), unit


def _with_sign(text):
    """A hyphen in the place of a typeset minus sign, or of brackets, around a number alone or with its unit."""
    return _MINUS.sub("-", _BRACKETS.sub(r"-\1", text.strip()))


def _common_unit(units, with_digits):
    """The unit of almost all texts with digits, an empty text if they have none, and None if they have several."""
    counts = collections.Counter(unit for unit, is_number in zip(units, with_digits, strict=True) if is_number)
    counts = {unit: n for unit, n in counts.items() if unit not in ("", *SIGNS_ALONE)} or counts
    if not counts:
        return ""
    unit, n = max(counts.items(), key=lambda pair: pair[1])
    if unit in ("", *SIGNS_ALONE):
        return unit if n == sum(with_digits) else ""
    return unit if n >= _LEAST_SHARE * sum(with_digits) else None


def _numbers(texts, group, decimal):
    grouped = re.compile(rf"[+-]?[1-9]\d{{0,2}}(\{group}\d{{3}})+(\{decimal}\d*)?$")
    plain = [text.replace(group, "") if grouped.match(text) else text for text in texts]
    if decimal == ",":
        # A point that does not separate groups of three digits is invalid in this style.
        plain = ["" if "." in text else text.replace(",", ".") for text in plain]
    values = np.array(pd.to_numeric(pd.Series(plain, dtype=object), errors="coerce"), dtype="float64")
    return np.where(np.isinf(values), np.nan, values)
