"""Mean and covariance of data with missing entries."""

import numpy as np

# Steps of the algorithm, and the change of a correlation at which it ends.
_MOST_STEPS, _SMALL_CHANGE = 200, 1e-6


def incomplete_moments(X):
    """Mean (d,) and covariance (d, d) of the normal law that fits data with NaN best, by the EM algorithm.

    Every column must vary.  The covariance is that of samples, with n - 1 in place of n.  Other units of the columns
    leave the result as it is (Little & Rubin 2002, "Statistical analysis with missing data", section 11.2.1).
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
        for gaps, own in zip(patterns, rows, strict=True):
            m, o = np.flatnonzero(gaps), np.flatnonzero(~gaps)
            slopes = np.linalg.pinv(covariance[np.ix_(o, o)], hermitian=True) @ covariance[np.ix_(o, m)]
            filled[np.ix_(own, m)] = mean[m] + (Z[np.ix_(own, o)] - mean[o]) @ slopes
            spread[np.ix_(m, m)] += len(own) * (covariance[np.ix_(m, m)] - covariance[np.ix_(m, o)] @ slopes)
        before, mean = covariance, filled.mean(axis=0)
        residuals = filled - mean
        covariance = (residuals.T @ residuals + spread) / n
        if abs(covariance - before).max() < _SMALL_CHANGE:
            break
    return center + scale * mean, covariance * np.outer(scale, scale) * n / (n - 1)
