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

IMPORTS = """\
import numpy as np, pandas as pd, pymc as pm, pytensor.tensor as pt, xarray as xr
from numpy import inf, nan
from scipy import sparse
import pymc_nrm as nrm
"""

NAMESPACE = {
    **{"np": np, "pd": pd, "pm": pm, "pt": pt, "xr": xr, "sparse": sparse, "nrm": nrm, "nan": np.nan, "inf": np.inf}
}


class Case(NamedTuple):
    """One example.

    Parameters
    ----------
    kind : str
        Which check its result gets.
    program : str
        Python text; it runs after ``IMPORTS``.
    names : frozenset of str
        Arguments, variables and hyperparameters: an error must name one of them.
    is_plain : bool
        Whether nothing about it is wrong, so that an error is a failure.
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
    nrm.NormalGamma,
    nrm.NormalRegression,
    nrm.NormalWishart,
    nrm.PoissonGamma,
    nrm.BernoulliBeta,
    nrm.CategoricalDirichlet,
    nrm.MultinomialDirichlet,
)
MEASURES = (
    nrm.DirichletProcess,
    nrm.MixtureOfFiniteMixtures,
    nrm.NormalizedGeneralizedGamma,
    nrm.NormalizedInverseGaussian,
    nrm.PitmanYorProcess,
)


def pieces(text):
    """Pieces of programs, between bars and ends of lines."""
    return [piece for line in text.split("\n") for piece in line.strip().split(" | ") if piece]


class Text(NamedTuple):
    """A piece of a program, and whether anything about it is wrong or extreme.

    Parameters
    ----------
    source : str
    is_plain : bool
    """

    source: str
    is_plain: Any = True
