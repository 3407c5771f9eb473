"""The parameters of a cluster, which a conjugate family integrates out: their draws, and items given them."""

import math

import numpy as np

from pymc_nrm.families.base import Centred, add_item, statistics_size
from pymc_nrm.families.base import log_marginal as log_marginal
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.special import draw_log_gamma


def parameter_shapes(family):
    """Names and shapes of the parameters of one cluster, in the order in which :func:`draw_parameters` writes them.

    A family declares axes, whose lengths are read from hyperparameters of full shape.
    """
    sizes = {}
    for name, value in family._asdict().items():
        sizes.update(zip(family.hyperparameters[name].core, np.shape(value), strict=True))
    return {name: tuple(sizes[axis] for axis in axes) for name, axes in family.parameters.items()}


def named_parameters(family, rows):
    """Arrays (n, ...) by name of the parameters in rows of :func:`draw_parameters`."""
    shapes = parameter_shapes(family)
    parts = np.split(rows, np.cumsum([int(np.prod(shape)) for shape in shapes.values()])[:-1], axis=1)
    return {name: part.reshape(-1, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


@generic
def parameters_size(family):
    """Length of a row of component parameters."""
    raise NotImplementedError


@generic(agrees_with=[log_marginal, statistics_size, add_item, parameters_size])
def draw_parameters(family, statistics, rng, parameters):
    """Draw the parameters of a cluster given its statistics and write them into a row, in place."""
    raise NotImplementedError


@generic(agrees_with=[log_marginal, statistics_size, add_item, parameters_size, draw_parameters])
def log_parameter_density(family, statistics, parameters):
    """Log density of the parameters of a cluster, a row of :func:`draw_parameters`, given its statistics."""
    raise NotImplementedError


@generic(agrees_with=[log_marginal, parameters_size])
def log_density(family, parameters, data, item):
    """Log density of one item given the parameters of its cluster, a row in the coordinates of the data."""
    raise NotImplementedError


@generic(agrees_with=[log_marginal, parameters_size, log_density])
def draw_item(family, parameters, rng, item, values):
    """Draw the data of one item given the parameters of its cluster and write them into ``values``, shape (d,)."""
    raise NotImplementedError


@generic
def restore_parameters(family, data, parameters):
    """Rows of :func:`draw_parameters` in the coordinates of the user; those for centred data begin with a location."""
    if not isinstance(data, Centred):
        return parameters
    restored = np.array(parameters)
    restored[..., : len(data.center)] += data.center
    return restored


@kernel
def draw_dirichlet(rng, concentration, probabilities):
    """Draw from a Dirichlet distribution and write it into ``probabilities``; entries of concentration 0 get 0."""
    largest = -np.inf
    for i in range(concentration.shape[0]):
        a = concentration[i]
        probabilities[i] = -np.inf
        if a > 0.0:
            probabilities[i] = draw_log_gamma(rng, a)
            largest = max(largest, probabilities[i])
    total = 0.0
    for i in range(concentration.shape[0]):
        probabilities[i] = np.exp(probabilities[i] - largest)
        total += probabilities[i]
    for i in range(concentration.shape[0]):
        probabilities[i] /= total


@kernel
def log_dirichlet_density(alpha, counts, probabilities):
    """Log density of a Dirichlet distribution of parameter alpha + counts; entries of alpha 0 are left out."""
    total = mass = 0.0
    for k in range(alpha.shape[0]):
        if alpha[k] > 0.0:
            a = alpha[k] + counts[k]
            mass += a
            total += (a - 1.0) * math.log(probabilities[k]) - math.lgamma(a)
    return total + math.lgamma(mass)


# Largest number of entries of matrices that are handled at a time.
_BLOCK = 2**22


@generic(agrees_with=[log_marginal, log_density])
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
