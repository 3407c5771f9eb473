"""Priors on hyperparameters, centred at the data: what ``learned`` of a family adds to the model at hand.

PyMC is imported when a prior is made, so that everything else about families works without it.
"""

import inspect

import numpy as np

from pymc_nrm.checks import check_name, naming
from pymc_nrm.families.arguments import numeric_data
from pymc_nrm.families.base import prepare_data
from pymc_nrm.families.random_covariance import random_covariance

_SECTIONS = """Parameters
----------
name : str
    Names of the new variables begin with it; usually the name of the Mixture.
X : array_like or DataFrame, shape (n, d)
    The data. Columns of a DataFrame name the features.
{depth}
Returns
-------
{family}
    Its fields are tensors.

Raises
------
TypeError
    If there is no model at hand, or the data are not numbers.
ValueError
    If the family does not allow these values{refused}.

"""
_DEPTH = """depth : int
    Number of levels below the root.
"""


def learned_text(refused=""):
    """Decorator of ``learned`` that inserts what its docstring says in every family before the examples."""

    def insert(function):
        signature = inspect.signature(function)
        depth = _DEPTH if "depth" in signature.parameters else ""
        text = _SECTIONS.format(depth=depth, family=signature.return_annotation, refused=refused)
        head, title, examples = inspect.cleandoc(function.__doc__).partition("Examples\n")
        function.__doc__ = head + text + title + examples
        return function

    return insert


class Hyperpriors:
    """Adds variables to the model at hand, whose names begin with that of the prior; ``values`` is the data matrix."""

    def __init__(self, name, X):
        from pymc import modelcontext

        check_name("name", name, "the prior, for example that of the Mixture")
        self.name, self.model = name, modelcontext(None)
        self.columns = getattr(X, "columns", None)
        values = numeric_data("X", X)
        self.values = values[:, None] if values.ndim == 1 else values
        if self.values.ndim == 2 and self.values.shape[0] < 2:
            raise ValueError(f"X must have at least two items to learn a prior from; got {self.values.shape[0]}")

    def prepared(self, family):
        """The data as kernels of a family get them, checked."""
        with naming("X"):
            return prepare_data(family, self.values)

    def dimension(self, label, coordinate):
        """Add a dimension with a coordinate to the model; return its name."""
        self.model.add_coord(f"{self.name}_{label}", coordinate)
        return f"{self.name}_{label}"

    def features(self):
        """Add the dimension of the features."""
        labels = range(self.values.shape[1]) if self.columns is None else [str(column) for column in self.columns]
        return self.dimension("feature", labels)

    def variable(self, label, distribution, *parameters, dims=None):
        """Add a variable with a distribution of PyMC."""
        import pymc

        return getattr(pymc, distribution)(f"{self.name}_{label}", *parameters, dims=dims)

    def log_normal(self, label, mu, sigma, dims=None):
        return self.variable(label, "LogNormal", mu, sigma, dims=dims)

    def concentrations(self):
        """Add prior numbers of observations behind the common frequencies: below 1 most clusters have one value nearly
        always, far above 1 all clusters are alike.
        """
        return self.log_normal("concentration", 0.0, 1.0, dims=self.features())

    def covariance_shape(self, features, covariance):
        """Add ``L W L'`` with ``L L'`` a sample covariance and ``W ~ Wishart(d + 2, I) / (d + 2)``, which has mean I.

        Let T T' ~ Wishart(m, I): T is lower triangular, T_ii^2 ~ chi-squared(m - i), and T_ij ~ N(0, 1) below the
        diagonal (Bartlett).  If the data become A x, then L becomes A L Q with Q orthogonal, and Q T T' Q' has the same
        law as T T'.
        """
        d = len(covariance)
        m = d + 2
        squares = self.variable("squared_pivot", "ChiSquared", m - np.arange(d), dims=features)
        below = np.empty(0)
        if d > 1:
            pairs = self.dimension("pair", [f"{i}, {j}" for i in range(d) for j in range(i)])
            below = self.variable("below_pivot", "Normal", 0.0, 1.0, dims=pairs)
        return random_covariance(np.linalg.cholesky(covariance) / np.sqrt(m), squares, below)
