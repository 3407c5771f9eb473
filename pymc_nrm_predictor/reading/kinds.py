"""Kinds of columns: which values each allows, and new rows of a column read as its first ones."""

import numpy as np

from pymc_nrm_predictor.checks import numeric_array
from pymc_nrm_predictor.reading.column_contents import (
    BOOLEANS,
    LEVELS,
    OTHER,
    Rule,
    check_alike,
    is_text,
    level_codes,
    read_content,
)

NUMERIC, BINARY, CATEGORICAL, COUNT, SKIP = "numeric", "binary", "categorical", "count", "skip"
POSITIVE, ZERO_OR_POSITIVE = "positive", "zero or positive"

# Kinds of columns of a model; `SKIP` leaves a column out.
KINDS = (NUMERIC, POSITIVE, ZERO_OR_POSITIVE, BINARY, CATEGORICAL, COUNT)


def values_of(reading, column):
    """Values of rows as floats: numbers in the units of the model, or codes of levels; NaN where missing.

    The reading has the attributes ``name``, ``kind``, ``rule``, ``levels`` and ``lost``.
    """
    content = read_content(column, reading.rule)
    check_alike(content, reading.rule, f"column {reading.name!r}")
    if reading.rule.written_unit:
        others = [entry for entry in content.lost if any(sign.isdigit() for sign in str(entry))]
        if others and not {*content.lost} <= {*reading.lost}:
            raise ValueError(
                f"column {reading.name!r} must be in {reading.rule.written_unit}, as in the table of the model; got "
                f"{others[0]!r}"
            )
    if reading.kind == CATEGORICAL:
        return level_codes(content, reading.name, reading.levels)
    return allowed_numbers(content, reading.name, reading.kind)


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
