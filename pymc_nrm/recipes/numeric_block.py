"""Gaussian clusters for columns of numbers: which family, and the data of the items."""

import numpy as np

from pymc_nrm.distributions.mixture import Mixture
from pymc_nrm.families import NormalGamma, NormalWishart
from pymc_nrm.families.sample_covariance import check_full_rank

__all__ = ["COVARIANCES", "add_numeric_block", "check_covariance"]

COVARIANCES = ("full", "diagonal")

# A learned full covariance of d features has d (d + 1) / 2 variables, which NUTS draws with every partition.
_MOST_FULL_FEATURES = 30


def check_covariance(covariance):
    """Check the argument ``covariance`` of a recipe.

    Parameters
    ----------
    covariance : object

    Raises
    ------
    ValueError
        If it is neither None nor one of :data:`COVARIANCES`.
    """
    if covariance is not None and covariance not in COVARIANCES:
        raise ValueError(f"covariance must be None, 'full' or 'diagonal'; got {covariance!r}")


def add_numeric_block(name, z, X, covariance=None):
    """Add Gaussian data of the items of a partition to the model at hand, with learned hyperparameters.

    Parameters
    ----------
    name : str
    z : Partition
    X : DataFrame of float, shape (n, d), or ndarray, shape (n,) or (n, d)
        NaN means missing.
    covariance : {None, "full", "diagonal"}
        None chooses the first of them that the data allow, see :func:`~pymc_nrm.recipes.gaussian_mixture`.

    Returns
    -------
    Mixture

    Raises
    ------
    ValueError
        If the data do not allow the family.
    """
    check_covariance(covariance)
    values = np.asarray(X, dtype="float64")
    if covariance is None:
        covariance = "full" if _allows_full(values) else "diagonal"
    if covariance == "full":
        _check_complete(X, values)
    family_class = NormalWishart if covariance == "full" else NormalGamma
    family = family_class.learned(name, X)
    dims = ("item",) if values.ndim == 1 else ("item", f"{name}_feature")
    return Mixture(name, z, family, observed=values, dims=dims)


def _allows_full(values):
    if values.ndim == 1 or not 1 < values.shape[1] <= _MOST_FULL_FEATURES or not np.isfinite(values).all():
        return False
    try:
        check_full_rank(values)
    except ValueError:
        return False
    return True


def _check_complete(X, values):
    gaps = np.flatnonzero(np.isnan(values.reshape(len(values), -1)).any(axis=0))
    if len(gaps):
        columns = getattr(X, "columns", None)
        names = gaps.tolist() if columns is None else [str(columns[k]) for k in gaps]
        raise ValueError(
            f"covariance='full' needs complete data; columns {names} have missing values. Leave out these rows or "
            "columns, or take covariance='diagonal', which leaves missing values out of the likelihood"
        )
