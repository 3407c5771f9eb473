"""Priors on hyperparameters, centred at the data: what ``learned`` of a family adds to the model at hand.

PyMC is imported when a prior is made, so that everything else about families works without it.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs

from pymc_nrm.common.checks import check_name, naming, static_shape
from pymc_nrm.common.named_dims import without_dims
from pymc_nrm.families.arguments import numeric_data, sampled
from pymc_nrm.families.base import prepare_data
from pymc_nrm.families.shared.scatter import random_covariance

_ARGUMENTS = {
    "name": """name : str
    Names of the new variables begin with it; usually the name of the Mixture.""",
    "X": """X : array_like, DataFrame or Chunks, shape (n, d)
    The data, of chunks the sampled rows; missing values are NaN, where the family allows them.""",
    "covariates": """covariates : array_like, pm.Data, Mixture or function of these, shape (n, p) or (n,)
    Covariates of the items, without an intercept.""",
    "ratio": """ratio : non-negative float, tensor or random variable, optional
    Variance of the intercepts of items relative to the noise, if it is not learned.""",
    "depth": """depth : int
    Number of levels below the root.""",
    "log_columns": """log_columns : array_like of 0 and 1, shape (d,)
    1 for the columns that are positive and modelled on the logarithmic scale.""",
    "n_directions": """n_directions : int
    Number of leading directions, from 1 to the smaller of d - 1 and n - 2.""",
}
_SECTIONS = """Parameters
----------
{arguments}

Returns
-------
{family}{fields}

Raises
------{type_error}
ValueError
    If the family does not allow these values{refused}.

"""
_FIELDS = """
    Its fields are tensors; columns of a DataFrame are coordinates of the features."""
_TYPE_ERROR = """
TypeError
    If no model is in the context, or the data are not numbers."""


def shared_text[F: Callable[..., Any]](refused: str = "") -> Callable[[F], F]:
    """Decorator of ``from_data`` and ``learned`` that inserts what all families say before the examples."""

    def insert(function: F) -> F:
        signature, is_learned = inspect.signature(function), function.__name__ == "learned"
        text = _SECTIONS.format(
            arguments="\n".join(_ARGUMENTS[name] for name in signature.parameters if name != "cls"),
            family=signature.return_annotation,
            fields=_FIELDS if is_learned else "",
            type_error=_TYPE_ERROR if is_learned else "",
            refused=refused,
        )
        head, title, examples = inspect.cleandoc(function.__doc__).partition("Examples\n")
        function.__doc__ = head + text + title + examples
        return function

    return insert


class Hyperpriors:
    """Adds variables to the current model, named after the prior; ``values`` is the data matrix."""

    def __init__(self, name, X):
        from pymc import modelcontext

        check_name("name", name, "the prior, such as the Mixture's")
        self.name, self.model = name, modelcontext(None)
        self.columns = getattr(X, "columns", None)
        values = numeric_data("X", sampled(X))
        self.values = values[:, None] if values.ndim == 1 else values
        if self.values.ndim == 2 and self.values.shape[0] < 2:
            raise ValueError(f"X must have at least two items to learn a prior from; got {self.values.shape[0]}")

    def prepared(self, family):
        """The data as kernels of a family get them, checked."""
        with naming("X"):
            return prepare_data(family, self.values)

    def covariates(self, given, *axes):
        """Covariates (n, p), an array or a tensor, and their present values; covariates of a Mixture are its data.

        With ``axes``, names of further axes of the data, items have a row of covariates for each of their values.
        """
        if not isinstance(given, Variable) or isinstance(given, Constant):
            given = values = numeric_data("covariates", given)
        else:
            given = without_dims(given)
            [graph] = self.model.replace_rvs_by_values([given])
            if not all(isinstance(leaf, Constant | SharedVariable) for leaf in graph_inputs([graph])):
                raise ValueError("covariates must be data, to learn a prior from; got a function of sampled variables")
            values = pytensor.function([], graph, mode=Mode(linker="py", optimizer="minimum_compile"))()
        shape = self.values.shape[: 1 + len(axes)]
        if values.ndim == len(shape):
            given, values = given[..., None], values[..., None]
        if values.shape[:-1] != shape:
            names, comma = ", ".join(["n", *axes]), "," * (not axes)
            lengths = " and ".join(f"{name} = {length}" for name, length in zip(["n", *axes], shape, strict=True))
            raise ValueError(
                f"covariates must have shape ({names}, p) or ({names}{comma}) with {lengths}; got shape {values.shape}"
            )
        if not np.isfinite(values).all():
            row, *places, column = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
            where = f"row {row}, {''.join(f'{a} {k}, ' for a, k in zip(axes, places, strict=True))}column {column}"
            raise ValueError(f"covariates must be finite; got {values[(row, *places, column)]} in {where}")
        return given, values

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
        # Below 1 most clusters have one value nearly always, far above 1 all clusters are alike.
        return self.log_normal("concentration", 0.0, 1.0, dims=self.features())

    def concentrations_of_levels(self, label="concentration", dims=None):
        # A feature that says nothing about clusters needs a concentration above the number of items.  Where it is
        # improbable, items of their own explain noise better: they have the frequencies at any concentration.
        return self.log_normal(label, 2.0, 2.0, dims=dims or self.features())

    def kappa(self):
        # One cluster of n items pays d / 2 log(1 + n / kappa) nats for its mean, clusters of one item nearly nothing:
        # where a large kappa is improbable, noise in many dimensions has many clusters.
        return self.log_normal("kappa", -2.0, 1.5)

    def normal_gamma(self, family_class, variances):
        """Add what ``NormalGamma.learned`` learns; return kappa, alpha and beta by name."""
        share = self.log_normal("share", -1.0, 1.0, dims=self.features())
        kappa = self.kappa()
        excess = self.log_normal("excess", 1.0, 1.0)
        return family_class.learned_fields(share, kappa, excess, variances=variances)

    def normal_wishart(self, family_class, features, covariance):
        """Add what ``NormalWishart.learned`` learns; return kappa, Psi and nu by name."""
        share = self.log_normal("share", -1.0, 1.0)
        kappa = self.kappa()
        excess = self.log_normal("excess", 1.5, 1.0)
        squares, below, scale = self.pivots(features, covariance)
        return family_class.learned_fields(share, kappa, excess, squares, below, scale=scale)

    def pivots(self, features, covariance):
        """Add T for ``W = T T' ~ Wishart(d + 2, I) / (d + 2)``, which has mean I; return T_ii^2, what is below, and L.

        ``L L'`` is the sample covariance, divided by d + 2.  Let T T' ~ Wishart(m, I): T is lower triangular, T_ii^2 ~
        chi-squared(m - i), and T_ij ~ N(0, 1) below the diagonal (Bartlett).  If the data become A x, then L becomes
        A L Q with Q orthogonal, and Q T T' Q' has the same distribution as T T'.
        """
        d = len(covariance)
        m = d + 2
        squares = self.variable("squared_pivot", "ChiSquared", m - np.arange(d), dims=features)
        below = np.empty(0)
        if d > 1:
            pairs = self.dimension("pair", [f"{i}, {j}" for i in range(d) for j in range(i)])
            below = self.variable("below_pivot", "Normal", 0.0, 1.0, dims=pairs)
        return squares, below, np.linalg.cholesky(covariance) / np.sqrt(m)


def gamma_fields(share, kappa, excess, *, variances):
    """Hyperparameters of normal-gamma families, given what they learn and the variances of the features."""
    # Tensors of full shape, which a Mixture takes as they are.
    ones = np.ones(static_shape(variances))
    # The prior mean of the variance of a cluster is beta / (alpha - 1).
    return {"kappa": kappa * ones, "alpha": 1.0 + excess * ones, "beta": share * variances * excess}


def wishart_fields(share, kappa, excess, squared_pivot, below_pivot, *, scale):
    """Hyperparameters of normal-Wishart families, given what they learn and ``L / sqrt(d + 2)``, shape (d, d)."""
    # The covariance expected within clusters is share times the random covariance.
    Psi = share * excess * random_covariance(scale, squared_pivot, below_pivot)
    return {"kappa": kappa, "Psi": Psi, "nu": static_shape(scale)[0] + 1.0 + excess}
