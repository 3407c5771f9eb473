"""Affinities of components, in closed form."""

import numpy as np

from pymc_nrm.kernels.generic import generic

# Largest number of entries of matrices that are handled at a time.
_BLOCK = 2**22


@generic
def log_affinities(family, parameters):
    """Log of the integral of ``sqrt(f g)`` for all pairs of components with parameters (K, ...), shape (K, K)."""
    raise NotImplementedError(f"{type(family).__name__} has no affinity in closed form, which fused_estimate needs")


def gaussian_log_affinities(mean, covariance):
    """Log affinities of Gaussians, given means (K, d) and covariances (K, d, d)."""
    n_components, d = mean.shape
    half = 0.5 * _log_determinants_and_squares(covariance, np.zeros_like(mean))[0]
    result = np.zeros((n_components, n_components))
    first, second = np.triu_indices(n_components, 1)
    step = max(1, _BLOCK // d**2)
    for start in range(0, len(first), step):
        a, b = first[start : start + step], second[start : start + step]
        between = 0.5 * (covariance[a] + covariance[b])
        shift = mean[a] - mean[b]
        log_determinant, squares = _log_determinants_and_squares(between, shift)
        log_values = 0.5 * (half[a] + half[b] - log_determinant) - squares / 8.0
        result[a, b] = result[b, a] = np.minimum(log_values, 0.0)
    return result


def _log_determinants_and_squares(covariance, shift):
    """Log determinants of covariances, shape (m, d, d), and squared Mahalanobis lengths of shifts, shape (m, d).

    Components that have shrunk to items with equal values are singular in doubles.  Eigenvalues of their correlations
    are then raised to what doubles resolve.
    """
    scale = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), np.finfo(float).tiny))
    correlation = covariance / (scale[:, :, None] * scale[:, None, :])
    standard = (shift / scale)[..., None]
    try:
        factor = np.linalg.cholesky(correlation)
        log_determinant = 2.0 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        whitened = np.linalg.solve(factor, standard)[..., 0]
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(correlation)
        values = np.maximum(values, values.shape[1] * np.finfo(float).eps)
        log_determinant = np.log(values).sum(axis=1)
        whitened = (np.swapaxes(vectors, 1, 2) @ standard)[..., 0] / np.sqrt(values)
    return log_determinant + 2.0 * np.log(scale).sum(axis=1), (whitened**2).sum(axis=1)


def diagonal_gaussian_log_affinities(mean, variance):
    """Log affinities of Gaussians with independent features, given means and variances (K, d)."""
    total = np.zeros((len(mean), len(mean)))
    for m, v in zip(mean.T, variance.T, strict=True):
        both = v[:, None] + v
        total += 0.5 * np.log(2.0 * np.sqrt(v[:, None] * v) / both) - 0.25 * (m[:, None] - m) ** 2 / both
    return np.minimum(total, 0.0)


def categorical_log_affinities(probability):
    """Log affinities of independent categorical features, given probabilities (K, d, levels)."""
    roots = np.sqrt(probability)
    total = np.zeros((len(roots), len(roots)))
    with np.errstate(divide="ignore"):
        for j in range(roots.shape[1]):
            total += np.log(np.minimum(roots[:, j] @ roots[:, j].T, 1.0))
    np.fill_diagonal(total, 0.0)
    return total
