"""Gaussian clusters for columns of numbers: which family, and the data of the items."""

import warnings

import numpy as np

from pymc_nrm.distributions.mixture import Mixture
from pymc_nrm.families import NormalGamma, NormalWishart
from pymc_nrm.families.sample_covariance import check_full_rank

__all__ = ["COVARIANCES", "add_numeric_block", "check_covariance"]

COVARIANCES = ("full", "diagonal")

# A column warns if one value has more than this share of at least so many items.
_LARGEST_SHARE, _ENOUGH_ITEMS = 1 / 4, 20

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

    Warns
    -----
    UserWarning
        If one value has more than a quarter of the items of a column.
    """
    check_covariance(covariance)
    values = np.asarray(X, dtype="float64")
    _warn_of_repeated_values(X, values)
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
        names = [_name_of_column(X, k) for k in gaps]
        raise ValueError(
            f"covariance='full' needs complete data; columns {names} have missing values. Leave out these rows or "
            "columns, or take covariance='diagonal', which leaves missing values out of the likelihood"
        )


def _warn_of_repeated_values(X, values):
    """Components of items with the same value have a density without bounds, and such a column makes many of them."""
    for k, column in enumerate(values.reshape(len(values), -1).T):
        known, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        if counts.sum() >= _ENOUGH_ITEMS and counts.max() > _LARGEST_SHARE * counts.sum():
            warnings.warn(
                f"column {_name_of_column(X, k)!r} has the value {known[counts.argmax()]:g} in "
                f"{counts.max() / counts.sum():.0%} of its items: Gaussian components shrink to such values, and there "
                "may be many. Add noise of the width of the rounding to the column, or leave it out",
                stacklevel=4,
            )


def _name_of_column(X, k):
    columns = getattr(X, "columns", None)
    return int(k) if columns is None else str(columns[k])
