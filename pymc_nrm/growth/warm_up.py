"""What of growth mixtures is compiled once for all models."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import pymc_nrm as nrm


def parts(table: pd.DataFrame, recipe: Callable[..., Any]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Titles with functions that compile; ``recipe`` makes one of a model and a description."""
    visits = table[["height"]].assign(person=np.repeat(np.arange(6), 4), year=np.tile(np.arange(4), 6))
    columns = {"subject": "person", "time": "year", "target": "height", "degree": 1}
    model = lambda: nrm.growth.growth_mixture(visits, **columns)  # noqa: E731
    yield "growth_mixture", recipe(model, nrm.describe)
