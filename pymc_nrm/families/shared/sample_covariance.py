"""Sample moments of data, with or without missing entries, from which hyperparameters are taken, with checks."""

import numpy as np
import scipy

from pymc_nrm.common.checks import naming
from pymc_nrm.common.supports import LEAST_NORMAL
from pymc_nrm.common.wrapping import warn
from pymc_nrm.families.arguments import check_matrix, sampled
from pymc_nrm.families.gaps import draws_gaps

# Steps of the algorithm, and the change of a correlation at which it ends.
_MOST_STEPS, _SMALL_CHANGE = 200, 1e-6
# Least pivot of a correlation matrix that was found by it: its steps approach a singular matrix, and never reach it.
_LEAST_PIVOT = 1e-8


def incomplete_moments(X):
    """Mean (d,) and covariance (d, d) of the normal distribution that fits data with NaN best, by the EM algorithm.

    Every column must vary.  This is the sample covariance, with n - 1 in place of n, and is equivariant under other
    units of the columns (Little & Rubin 2002, "Statistical analysis with missing data", section 11.2.1).
    Shapes: ``X`` (n, d).
    """
    X = X[~np.isnan(X).all(axis=1)]
    n, d = X.shape
    center = np.nanmean(X, axis=0)
    scale = np.sqrt(np.nanvar(X, axis=0))
    Z = (X - center) / scale
    patterns, of_row = np.unique(np.isnan(Z), axis=0, return_inverse=True)
    rows = [np.flatnonzero(of_row.ravel() == k) for k in range(len(patterns))]
    mean, covariance = np.zeros(d), np.eye(d)
    for _ in range(_MOST_STEPS):
        filled, spread = Z.copy(), np.zeros((d, d))
        for gaps, members in zip(patterns, rows, strict=True):
            m, o = np.flatnonzero(gaps), np.flatnonzero(~gaps)
            slopes = np.linalg.pinv(covariance[np.ix_(o, o)], hermitian=True) @ covariance[np.ix_(o, m)]
            filled[np.ix_(members, m)] = mean[m] + (Z[np.ix_(members, o)] - mean[o]) @ slopes
            spread[np.ix_(m, m)] += len(members) * (covariance[np.ix_(m, m)] - covariance[np.ix_(m, o)] @ slopes)
        before, mean = covariance, filled.mean(axis=0)
        residuals = filled - mean
        covariance = (residuals.T @ residuals + spread) / n
        if abs(covariance - before).max() < _SMALL_CHANGE:
            break
    else:
        warn(
            f"The covariance of data with missing values has not converged in {_MOST_STEPS} steps: too few rows have "
            "values of the same columns. What is learned is centred at a rough value. Leave out columns with many "
            "gaps, or use NormalGamma, which needs no covariances."
        )
    return center + scale * mean, covariance * np.outer(scale, scale) * n / (n - 1)


# What to do where there are too few items, and about constant columns, by the argument that holds them.
_REMEDIES = {
    "X": "Give Psi yourself, as in NormalWishart(mu=X.mean(axis=0), kappa=0.1, Psi=np.diag(X.var(axis=0)), nu=d + 6), "
    "or use NormalGamma.from_data, which needs no covariances",
    "covariates": "Leave some out",
}
_REASONS = {"X": "a constant column says nothing about clusters", "covariates": "there is an intercept already"}


def sample_moments(family_class, X, argument="X"):
    """Mean and covariance of data. Shapes: ``X`` (n, d); returns ``mean`` (d,), ``covariance`` (d, d)."""
    with naming(argument):
        values = check_matrix(family_class, sampled(X))
    has_gaps = draws_gaps(family_class) and np.isnan(values).any()
    if has_gaps:
        check_two_values(values)
    check_full_rank(values, argument)
    with np.errstate(over="ignore", invalid="ignore"):
        if has_gaps:
            mean, covariance = incomplete_moments(values)
            if (~np.isnan(values).any(axis=1)).sum() <= values.shape[1]:
                _refuse_dependent(_nearly_singular(covariance), argument)
        else:
            mean, covariance = values.mean(axis=0), np.cov(values, rowvar=False).reshape(values.shape[1], -1)
    check_variances(np.diag(covariance), argument)
    return mean, covariance


def feature_moments(family_class, X):
    """Mean and variance of each feature, missing values left out. Shapes: ``X`` (n, d); returns (d,) each."""
    with naming("X"):
        values = check_matrix(family_class, sampled(X))
    check_two_values(values)
    check_columns_vary(values)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = np.nanvar(values, axis=0, ddof=1)
    check_variances(variance)
    return np.nanmean(values, axis=0), variance


def check_two_values(values):
    """Refuse columns that are empty, or nearly so. Shapes: ``values`` (n, d)."""
    few = np.flatnonzero((~np.isnan(values)).sum(axis=0) < 2)
    if len(few):
        raise ValueError(f"X must have at least two values in every column; got fewer in columns {few.tolist()}")


def check_columns_vary(values, argument="X"):
    """Refuse constant columns, which say nothing about clusters. Shapes: ``values`` (n, d)."""
    still = np.flatnonzero(np.nanmin(values, axis=0) == np.nanmax(values, axis=0))
    if len(still):
        raise ValueError(
            f"{argument} must have columns that vary; columns {still.tolist()} are constant. Leave them out: "
            f"{_REASONS[argument]}"
        )


def check_full_rank(X, argument="X"):
    """Check that a covariance can be estimated from data. Shapes: ``X`` (n, d)."""
    n, d = (~np.isnan(X).all(axis=1)).sum(), X.shape[1]
    if n <= d:
        raise ValueError(f"{argument} must have more items than features; got n = {n}, d = {d}. {_REMEDIES[argument]}")
    check_columns_vary(X, argument)
    _refuse_dependent(dependent_columns(X), argument)


def _refuse_dependent(columns, argument):
    if len(columns):
        raise ValueError(
            f"{argument} must have columns that are not linear combinations of others; got such columns "
            f"{columns.tolist()}. Leave them out"
        )


def _nearly_singular(covariance):
    """Places of columns that are, up to what the EM algorithm resolves, linear combinations of others."""
    scale = np.sqrt(np.diag(covariance))
    _, R, order = scipy.linalg.qr(covariance / np.outer(scale, scale), pivoting=True)
    pivots = abs(np.diag(R))
    return np.sort(order[pivots <= _LEAST_PIVOT * pivots[0]])


def dependent_columns(X):
    """Places of columns that are, up to rounding, linear combinations of others in complete rows.

    There are none if complete rows are at most as many as columns, where :func:`sample_moments` looks at the
    covariance, or a column does not vary in them.
    """
    X = X[~np.isnan(X).any(axis=1)]
    if len(X) <= X.shape[1] or (X.min(axis=0) == X.max(axis=0)).any():
        return np.empty(0, dtype=np.int64)
    n, low, high = len(X), X.min(axis=0), X.max(axis=0)
    # Take halves, since the difference of the largest doubles overflows.
    width = high / 2 - low / 2
    scaled = (X - X.mean(axis=0)) / width
    _, R, order = scipy.linalg.qr(scaled, mode="economic", pivoting=True)
    pivots = abs(np.diag(R))
    # Values are rounded relative to themselves, not to the width of their column.
    rounding = np.finfo("float64").eps * np.maximum(1.0, np.maximum(abs(low), abs(high)) / width).max()
    # A covariance holds squares: of pivots below the root of their rounding error it has no digits.
    least = max(4.0 * n * rounding, 8.0 * np.sqrt(np.finfo("float64").eps))
    return np.sort(order[pivots <= least * pivots[0]])


def check_variances(variances, argument="X"):
    """Check that the sample variances of columns are neither too large nor too small for doubles."""
    bad = np.flatnonzero(~((variances >= LEAST_NORMAL) & (variances < np.inf)))
    if len(bad):
        raise ValueError(
            f"{argument} must have variances from {LEAST_NORMAL:.1e} to 1.8e308; got {variances[bad[0]]} in column "
            f"{bad[0]}. Give the data in other units"
        )
