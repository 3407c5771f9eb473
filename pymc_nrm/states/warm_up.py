"""What of hidden states is compiled once for all models."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

import pymc_nrm as nrm


def parts(table: pd.DataFrame, recipe: Callable[..., Any]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Titles with functions that compile; ``recipe`` makes one of a model and a description."""
    yield "regime_model", recipe(lambda: nrm.states.regime_model(table[["height"]]), nrm.describe)
