"""Values of a column as floats or levels, and the rule by which new rows are read."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymc_nrm_predictor.checks import first_few

NUMBERS, BOOLEANS, DATES, LEVELS, OTHER = "numbers", "booleans", "dates", "levels", "other"


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
        if self.form != DATES:
            return self.written_unit or ""
        unit = {"days": "days", "minutes": "min", "seconds": "s"}.get(self.unit, "")
        return unit if self.start is None else f"{unit} since {self.start:%Y-%m-%d}"


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
    # Decimal signs that numbers in text may have; two if nothing in the column decides between them.
    decimals: tuple = ()

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
        if (different == np.floor(different)).all():
            # Beyond the integers of 64 bits, names of levels are shorter as floats.
            return tuple(int(level) if abs(level) < 2.0**63 else level for level in different.tolist())
        return tuple(different.tolist())

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
