"""What all learned priors share: the data as a matrix, the dimension of the features, concentrations."""

import pymc as pm

from pymc_nrm.common.checks import check_name, naming
from pymc_nrm.distributions.observed import numeric_data
from pymc_nrm.families.base import prepare_data

__all__ = ["concentrations", "data_matrix", "feature_dimension", "prior_data"]


def data_matrix(name, X):
    """Return the data of a learned prior as a matrix. Shapes: ``X`` (n, d); returns (n, d)."""
    check_name("name", name, "the prior, for example that of the Mixture")
    pm.modelcontext(None)
    values = numeric_data("X", X)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim == 2 and values.shape[0] < 2:
        raise ValueError(f"X must have at least two items to learn a prior from; got {values.shape[0]}")
    return values


def prior_data(family, name, X):
    """Return the data of a learned prior as a kernel of the family gets them, checked."""
    values = data_matrix(name, X)
    with naming("X"):
        return prepare_data(family, values)


def feature_dimension(name, X, n_features):
    """Add a dimension for the features to the model at hand."""
    columns = getattr(X, "columns", None)
    dimension = f"{name}_feature"
    coordinate = range(n_features) if columns is None else [str(column) for column in columns]
    pm.modelcontext(None).add_coord(dimension, coordinate)
    return dimension


def concentrations(name, dimension):
    """Add how alike clusters are in each feature: prior numbers of observations behind their common frequencies.

    Below 1 most clusters have one value nearly always; far above 1 all clusters have the same frequencies. They are
    independent ``LogNormal(0, 1)``, called ``name_concentration``.
    """
    return pm.LogNormal(f"{name}_concentration", 0.0, 1.0, dims=dimension)
