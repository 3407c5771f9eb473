"""What one example is: a short program, with the words that an error about it may name."""

import functools
import inspect
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from scipy import sparse

import pymc_nrm as nrm
from tests.tools.wings import rows_of_wings

IMPORTS = """\
import numpy as np, pandas as pd, pymc as pm, pytensor.tensor as pt, xarray as xr
from numpy import inf, nan
from scipy import sparse
import pymc_nrm as nrm
"""

NAMES = {"np": np, "pd": pd, "pm": pm, "pt": pt, "xr": xr}
NAMESPACE = NAMES | {"sparse": sparse, "nrm": nrm, "nan": np.nan, "inf": np.inf}


class Case(NamedTuple):
    """An example: what its result must pass, its program, which runs after ``IMPORTS``, and words for its errors.

    An error must name one of ``names``; it is a failure where nothing about the example is wrong, ``is_plain``.
    """

    kind: str
    program: str
    names: frozenset
    is_plain: bool = False

    def __repr__(self):
        return f"# {self.kind}\n{IMPORTS}{self.program}"


# What messages call things that have no single argument.
COMMON = {"observed", "data", "family", "measure", "partition", "Partition", "Mixture", "z", "x", "n", "dims", "coords"}


@functools.cache
def names_of(*functions):
    """Names of the parameters of public functions, and those of all families and measures."""
    names = set(COMMON)
    for function in functions:
        names |= set(inspect.signature(function).parameters) - {"args", "kwargs", "vars"}
    for parameters in (*FAMILIES, *MEASURES):
        names |= {parameters.__name__, *parameters._fields}
    return frozenset(names)


FAMILIES = (
    *(nrm.NormalGamma, nrm.NormalRegression, nrm.NormalWishart),
    nrm.PoissonGamma,
    *(nrm.BernoulliBeta, nrm.CategoricalDirichlet, nrm.MultinomialDirichlet),
    *(nrm.LogNormalWishart, nrm.LogNormalGamma, nrm.HurdleLogNormal, nrm.HurdlePoisson),
    *rows_of_wings("PLAIN"),
)
MEASURES = (
    *(nrm.DirichletProcess, nrm.PitmanYorProcess, nrm.MixtureOfFiniteMixtures),
    *(nrm.NormalizedGeneralizedGamma, nrm.NormalizedInverseGaussian),
)


def pieces(text):
    """Pieces of programs, between bars and ends of lines."""
    return [piece for line in text.split("\n") for piece in line.strip().split(" | ") if piece]


class Text(NamedTuple):
    """A piece of a program, and whether nothing about it is wrong or extreme."""

    source: str
    is_plain: Any = True
