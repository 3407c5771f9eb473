"""How a recipe read the table behind a mixture, kept at its operation, which all copies of a model share."""

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Origin:
    """How the table behind a mixture was read; all is empty for a mixture written by hand."""

    # How each column was read, in the order of the features.
    readings: tuple[Any, ...] = ()
    # Values as they were recorded, if the model has others because repeated values were spread.
    recorded: np.ndarray | None = None
    # Name of the time series, and name of the data of the model that hold the values before each time.
    series: str | None = None
    lags: str | None = None
    # What else a recipe knows of the rows, so that results are in the units of the table.
    rows: Any = None
    # What makes the model again with further rows, see ``recipes/longer_tables.py``.
    recipe: Any = None

    def __post_init__(self):
        if self.recorded is not None:
            # The array may be the user's.
            recorded = np.array(self.recorded, dtype="float64")
            recorded.setflags(write=False)
            object.__setattr__(self, "recorded", recorded)

    @property
    def readings_by_name(self):
        return {str(reading.name): reading for reading in self.readings}


UNKNOWN = Origin()


def origin_of(mixture):
    """The :class:`Origin` of a mixture."""
    return mixture.owner.op.origin
