"""Kinds of columns: which values each allows, and new rows of a column read as its first ones."""

import math
import os
import warnings

import numpy as np
import pandas as pd

from pymc_nrm_predictor.checks import numeric_array
from pymc_nrm_predictor.reading.column_contents import is_text, read_content
from pymc_nrm_predictor.reading.content import (
    BOOLEANS,
    DATES,
    LEVELS,
    NUMBERS,
    OTHER,
    Content,
    Rule,
    check_alike,
    described_losses,
    level_codes,
)
from pymc_nrm_predictor.reading.numbers_in_text import unit_of_number

NUMERIC, BINARY, CATEGORICAL, COUNT, SKIP = "numeric", "binary", "categorical", "count", "skip"
POSITIVE, ZERO_OR_POSITIVE = "positive", "zero or positive"

# Kinds of columns of a model; `SKIP` leaves a column out.
KINDS = (NUMERIC, POSITIVE, ZERO_OR_POSITIVE, BINARY, CATEGORICAL, COUNT)

# Warnings are at the line of the user that calls one of the packages.
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_PACKAGES = tuple(os.path.join(_ROOT, name, "") for name in ("pymc_nrm", "pymc_nrm_predictor"))


def values_of(reading, column):
    """Values of rows as floats: numbers in the units of the model, or codes of levels; NaN where missing.

    The reading has the attributes ``name``, ``kind``, ``rule``, ``levels`` and ``lost``.
    """
    content, rule, title = read_content(column, reading.rule), reading.rule, f"column {reading.name!r}"
    missing_in_table = {*reading.lost}
    if content.form == LEVELS and rule.form != LEVELS and missing_in_table.issuperset(content.values[~content.missing]):
        # Nothing but texts that mean missing values.
        content = Content(np.full(len(content.values), np.nan), rule)
    check_alike(content, rule, title)
    if content.remark and (content.form == DATES or content.decimals):
        warnings.warn(f"{title} of new rows: {content.remark}", skip_file_prefixes=_PACKAGES)
    lost = [entry for entry in content.lost if entry not in missing_in_table]
    if rule.form in (NUMBERS, BOOLEANS) and (content.form == LEVELS or content.rule.decimal):
        texts = dict.fromkeys(entry.strip() for entry in column if isinstance(entry, str))
        _check_units(title, rule, lost, [text for text in texts if text not in missing_in_table])
    _check_finite(title, lost)
    if lost:
        warnings.warn(
            f"Entries of new rows that are not numbers or dates became missing, in {title}: {described_losses(lost)}",
            skip_file_prefixes=_PACKAGES,
        )
    if reading.kind == CATEGORICAL:
        return level_codes(content, reading.name, reading.levels)
    return allowed_numbers(content, reading.name, reading.kind)


def _check_units(title, rule, lost, texts):
    """Refuse numbers with another unit than the numbers of the model, and unreadable ones if these have a unit."""
    unit = rule.written_unit
    # A sign may stand at some of the numbers in text.
    allowed = ("", unit or rule.sign or "")
    others = [text for text in texts if unit_of_number(text) not in allowed]
    if unit:
        others += [entry for entry in lost if any(sign.isdigit() for sign in str(entry))]
    if others:
        wanted = f"in {unit}" if unit else "numbers without a unit"
        raise ValueError(f"{title} must be {wanted}, as in the table of the model; got {others[0]!r}")


def _check_finite(title, lost):
    """Refuse infinite numbers, as in arrays, and texts of these."""
    infinite = [entry for entry in lost if math.isinf(pd.to_numeric(entry, errors="coerce"))]
    if infinite:
        raise ValueError(f"{title} must be finite or missing; got {infinite[0]!r}")


def numbers_of_levels(name, levels, column):
    """Numbers of the levels of a column that a family has read, NaN where missing; numbers are taken as they are."""
    if not is_text(column):
        return numeric_array(f"column {name!r}", column).astype("float64")
    if not levels:
        raise TypeError(f"column {name!r} must hold numbers of levels, as in the data of the model; got text")
    return level_codes(read_content(column, Rule(LEVELS)), name, levels)


def allowed_numbers(content, name, kind):
    """Numbers of a column, checked for a kind."""
    if content.form in (LEVELS, OTHER) or (content.form == BOOLEANS and kind != BINARY):
        got, fitting = {
            LEVELS: ("text", CATEGORICAL),
            BOOLEANS: ("booleans", BINARY),
        }.get(content.form, (content.note, SKIP))
        raise TypeError(
            f"column {name!r} must hold numbers to be {kind}; got {got}, which mixture_model takes as {fitting}"
        )
    values = content.values
    check = _CHECKS.get(kind)
    if check is not None:
        check(name, values[~np.isnan(values)])
    return values


def _check_binary(name, known):
    if not np.isin(known, (0.0, 1.0)).all():
        wrong = known[~np.isin(known, (0.0, 1.0))][0]
        raise ValueError(f"column {name!r} must be 0, 1, booleans or missing to be binary; got {wrong:g}")


def _check_count(name, known):
    if not ((known >= 0) & (known == np.floor(known))).all():
        wrong = known[(known < 0) | (known != np.floor(known))][0]
        raise ValueError(f"column {name!r} must be whole numbers of at least 0 to be a count; got {wrong:g}")


def _check_positive(name, known):
    if not (known > 0.0).all():
        instead = f" {ZERO_OR_POSITIVE!r} takes zeros" if (known >= 0.0).all() else ""
        raise ValueError(
            f"column {name!r} must be above 0 to be positive, since its logarithm is modelled; got "
            f"{known[known <= 0.0][0]:g}.{instead}".rstrip(".")
        )


def _check_zero_or_positive(name, known):
    if not (known >= 0.0).all():
        raise ValueError(f"column {name!r} must be at least 0 to be zero or positive; got {known[known < 0.0][0]:g}")


# Of each kind of numbers that does not allow them all: a function of the name and of the values that are known.
_CHECKS = {
    BINARY: _check_binary,
    COUNT: _check_count,
    POSITIVE: _check_positive,
    ZERO_OR_POSITIVE: _check_zero_or_positive,
}
