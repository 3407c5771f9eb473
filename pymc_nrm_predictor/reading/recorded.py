"""Readings of columns as files of predictions describe them, and values of new rows."""

from typing import Any, NamedTuple

import pandas as pd

from pymc_nrm_predictor.reading.content import Rule
from pymc_nrm_predictor.reading.kinds import numbers_of_levels, values_of


class Recorded(NamedTuple):
    """What :func:`~pymc_nrm_predictor.reading.kinds.values_of` reads of a column."""

    name: Any
    kind: str
    rule: Rule
    levels: tuple
    lost: tuple


def description_of(reading):
    """A reading of a column, or a column of levels that a family has read, in the form of JSON."""
    # A model has names as text.
    about = {"name": str(reading.name), "levels": list(reading.levels)}
    if not hasattr(reading, "kind"):
        return about
    rule = {name: value for name, value in reading.rule._asdict().items() if value is not None}
    if "start" in rule:
        rule["start"] = {"time": rule["start"].isoformat(), "unit": rule["start"].unit}
    # Entries that mean missing values; new rows may have them.
    lost = [entry if isinstance(entry, str) else {"float": repr(float(entry))} for entry in dict.fromkeys(reading.lost)]
    return about | {"kind": reading.kind, "rule": rule, "lost": lost}


def values_of_recorded(about, column):
    """Values of rows of a column, as floats."""
    if "kind" not in about:
        return numbers_of_levels(about["name"], tuple(about["levels"]), column)
    rule = dict(about["rule"])
    if "start" in rule:
        rule["start"] = pd.Timestamp(rule["start"]["time"]).as_unit(rule["start"]["unit"])
    lost = tuple(entry if isinstance(entry, str) else float(entry["float"]) for entry in about["lost"])
    reading = Recorded(about["name"], about["kind"], Rule(**rule), tuple(about["levels"]), lost)
    return values_of(reading, column)
