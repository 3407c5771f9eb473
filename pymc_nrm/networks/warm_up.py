"""What of networks and tables is compiled once for all models."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import pymc_nrm as nrm


def parts(table: pd.DataFrame, recipe: Callable[..., Any]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Titles with functions that compile; ``recipe`` makes one of a model and a description."""
    groups = np.arange(len(table)) % 2
    ties = (groups[:, None] == groups).astype(float)
    yield "network_model", recipe(lambda: nrm.networks.network_model(ties), nrm.describe)
    yield "network_model of counts", recipe(lambda: nrm.networks.network_model(3 * ties), nrm.describe)
    yield "two_way_model", recipe(lambda: nrm.networks.two_way_model(ties[:, :8]))
