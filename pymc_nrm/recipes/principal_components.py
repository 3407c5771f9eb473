"""How many principal directions of the columns of a recipe tell clusters apart."""

import logging

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.families.principal_normal_wishart import principal_directions
from pymc_nrm.families.sample_covariance import dependent_columns

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_recipes")

# Share of the variance that "auto" keeps.
_SHARE = 0.95


def check_n_components(n_components, covariance):
    """Check the argument ``n_components`` of a recipe, before there are data."""
    if n_components is None:
        return
    if covariance == "diagonal":
        raise ValueError("n_components needs full covariances; got covariance='diagonal'")
    whole = isinstance(n_components, int | np.integer) and not isinstance(n_components, bool)
    if not whole and not (isinstance(n_components, str) and n_components == "auto"):
        raise ValueError(f"n_components must be None, 'auto' or a whole number of at least 1; got {n_components!r}")
    if whole:
        check_count("n_components", n_components, 1)


def chosen_n_components(X, n_components, names):
    """The number of directions, given data (n, d) and a function that names columns by their places."""
    n, d = X.shape
    gaps = np.flatnonzero(np.isnan(X).any(axis=0))
    if len(gaps):
        raise ValueError(
            f"n_components needs complete data; columns [{names(gaps)}] have missing values. Leave out these rows or "
            "columns"
        )
    if n <= d:
        raise ValueError(
            f"n_components needs more rows than columns, for the variance in every direction; got {n} rows and {d} "
            "columns. Take fewer columns"
        )
    if np.isfinite(X).all() and (X.min(axis=0) < X.max(axis=0)).all():
        dependent = dependent_columns(X)
        if len(dependent):
            raise ValueError(
                f"n_components needs variance in every direction; columns [{names(dependent)}] are linear combinations "
                "of others. Leave them out"
            )
    if n_components == "auto":
        variances = principal_directions(X)[3]
        n_components = min(d, 1 + int(np.searchsorted(np.cumsum(variances), _SHARE * variances.sum())))
        _log.info(
            f"n_components='auto' takes {n_components} of {d} principal directions, with {_SHARE:.0%} of the variance "
            "of the scaled columns"
        )
    check_count("n_components", n_components, 1, d)
    return int(n_components)
