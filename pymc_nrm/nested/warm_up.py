"""What of nested partitions is compiled once for all models."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pandas as pd
import pymc as pm

import pymc_nrm as nrm


def parts(table: pd.DataFrame, recipe: Callable[..., Any]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Titles with functions that compile; ``recipe`` makes one of a model and a description."""
    numbers = table[["height", "width"]].to_numpy()
    nested = nrm.nested

    def model(family, **weights):
        with pm.Model() as model:
            t = nested.NestedPartition("t", nrm.DirichletProcess(1.0), depth=2, n=len(numbers), **weights)
            nrm.Mixture("x", t, family, observed=numbers)
        return model

    for diffusion in (nested.NormalDiffusion, nested.IndependentNormalDiffusion):
        yield diffusion.__name__, recipe(partial(model, diffusion.from_data(numbers, depth=2)), nrm.describe)
    weights = nested.HierarchicalDirichletProcess(1.0, 1.0)
    family = nrm.NormalWishart.from_data(numbers)
    yield "NestedPartition with weights", recipe(partial(model, family, weights=weights))
