"""Kinds of columns, and a column of a table as it was read."""

import dataclasses
from typing import Any

from pymc_nrm_predictor.reading.content import LEVELS, NUMBERS, Rule
from pymc_nrm_predictor.reading.kinds import BINARY as BINARY
from pymc_nrm_predictor.reading.kinds import CATEGORICAL, KINDS, NUMERIC, values_of
from pymc_nrm_predictor.reading.kinds import COUNT as COUNT
from pymc_nrm_predictor.reading.kinds import POSITIVE as POSITIVE
from pymc_nrm_predictor.reading.kinds import SKIP as SKIP
from pymc_nrm_predictor.reading.kinds import ZERO_OR_POSITIVE as ZERO_OR_POSITIVE
from pymc_nrm_predictor.reading.kinds import allowed_numbers as allowed_numbers


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
        return values_of(self, column)


def reading_of_feature(model, mixture, name):
    """Reading of a column of a model that was not made by a recipe, by the names of its mixtures and coordinates."""
    kind = mixture if mixture in KINDS else NUMERIC
    levels = tuple(model.coords.get(f"{name}_level") or ()) if kind == CATEGORICAL else ()
    return ColumnReading(name, kind, "", Rule(LEVELS if kind == CATEGORICAL else NUMBERS), 0, 0, "", levels=levels)
