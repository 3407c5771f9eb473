"""Kinds of columns: which values each allows, and a column of a table as it was read."""

import dataclasses
from typing import Any

import numpy as np

from pymc_nrm.common.column_contents import (
    BOOLEANS,
    LEVELS,
    NUMBERS,
    OTHER,
    Rule,
    check_alike,
    level_codes,
    read_content,
)

NUMERIC, BINARY, CATEGORICAL, COUNT, SKIP = "numeric", "binary", "categorical", "count", "skip"
POSITIVE, ZERO_OR_POSITIVE = "positive", "zero or positive"

# Kinds of columns of a model; `SKIP` leaves a column out.
KINDS = (NUMERIC, POSITIVE, ZERO_OR_POSITIVE, BINARY, CATEGORICAL, COUNT)


@dataclasses.dataclass(frozen=True, eq=False)
class ColumnReading:
    """A column of a table as it was read: its kind and why, and what reads new rows alike."""

    name: Any
    kind: str
    # In words, for the table of kinds.
    why: str
    rule: Rule
    different: int
    missing: int
    example: str
    # Entries that became missing, and whether rules have chosen a kind that may be wrong.
    lost: tuple = ()
    doubtful: bool = False
    levels: tuple = ()
    # What a user should have a look at, or an empty text.
    remark: str = ""

    def values(self, column):
        """Values of rows as floats: numbers in the units of the model, or codes of levels; NaN where missing.

        Raises ``TypeError`` or ``ValueError`` for values that are not of the kind, and for new levels.
        """
        content = read_content(column, self.rule)
        check_alike(content, self.rule, f"column {self.name!r}")
        if self.rule.written_unit:
            others = [entry for entry in content.lost if any(sign.isdigit() for sign in str(entry))]
            if others and not {*content.lost} <= {*self.lost}:
                raise ValueError(
                    f"column {self.name!r} must be in {self.rule.written_unit}, as in the table of the model; got "
                    f"{others[0]!r}"
                )
        if self.kind == CATEGORICAL:
            return level_codes(content, self.name, self.levels)
        return allowed_numbers(content, self.name, self.kind)


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


def _check_binary(name, values):
    if not np.isin(values, (0.0, 1.0)).all():
        wrong = values[~np.isin(values, (0.0, 1.0))][0]
        raise ValueError(f"column {name!r} must be 0, 1, booleans or missing to be binary; got {wrong:g}")


def _check_count(name, values):
    if not ((values >= 0) & (values == np.floor(values))).all():
        wrong = values[(values < 0) | (values != np.floor(values))][0]
        raise ValueError(f"column {name!r} must be whole numbers of at least 0 to be a count; got {wrong:g}")


def _check_positive(name, values):
    if not (values > 0.0).all():
        instead = f" {ZERO_OR_POSITIVE!r} takes zeros" if (values >= 0.0).all() else ""
        raise ValueError(
            f"column {name!r} must be above 0 to be positive, since its logarithm is modelled; got "
            f"{values[values <= 0.0][0]:g}.{instead}".rstrip(".")
        )


def _check_zero_or_positive(name, values):
    if not (values >= 0.0).all():
        raise ValueError(f"column {name!r} must be at least 0 to be zero or positive; got {values[values < 0.0][0]:g}")


# Of each kind of numbers that does not allow them all: a function of the name and of the values that are known.
_CHECKS = {
    BINARY: _check_binary,
    COUNT: _check_count,
    POSITIVE: _check_positive,
    ZERO_OR_POSITIVE: _check_zero_or_positive,
}


def reading_of_feature(model, mixture, name):
    """Reading of a column of a model that was not made by a recipe, by the names of its mixtures and coordinates."""
    kind = mixture if mixture in KINDS else NUMERIC
    levels = tuple(model.coords[f"{name}_level"]) if kind == CATEGORICAL else ()
    return ColumnReading(name, kind, "", Rule(LEVELS if kind == CATEGORICAL else NUMBERS), 0, 0, "", levels=levels)
