"""Densities, distribution functions and means of items given the parameters of their component, for every family.

Only the type of a family is used: shapes are those of the parameters.
"""

import math

import numpy as np
from scipy.special import ndtr, pdtr

from pymc_nrm.families import (
    BernoulliBeta,
    CategoricalDirichlet,
    MultinomialDirichlet,
    NormalGamma,
    NormalWishart,
    PoissonGamma,
)
from pymc_nrm.generic import generic, kernel
from pymc_nrm.interrupts import check_signals

_LOG_2_PI = math.log(2.0 * math.pi)


@generic
def log_component_density(family, parameters, points, log_values):
    """Write the log density of items given the parameters of a component into ``log_values``.

    Parameters
    ----------
    family : Family
    parameters : ndarray, shape (parameters_size,)
        A row written by :func:`~pymc_nrm.families.base.draw_parameters`, in the coordinates of ``points``.
    points : NamedTuple of arrays
        Prepared data of the items.
    log_values : ndarray, shape (n_points,)
    """
    raise NotImplementedError


@generic
def component_mean(family, parameters):
    """Means of items given the parameters of components.

    Parameters
    ----------
    family : Family
    parameters : dict of {str : ndarray, shape (n, ...)}
        Parameters by their names in :func:`~pymc_nrm.families.base.parameter_shapes`.

    Returns
    -------
    ndarray, shape (n, d)
    """
    raise NotImplementedError(f"items of {type(family).__name__} have no mean that depends on their component alone")


@generic
def component_cdf(family, parameters, feature, x):
    """Marginal distribution function of one feature given the parameters of components.

    Parameters
    ----------
    family : Family
    parameters : dict of {str : ndarray, shape (n, ...)}
    feature : int
    x : ndarray, shape (m,)

    Returns
    -------
    ndarray, shape (n, m)
    """
    raise NotImplementedError(f"distribution functions of {type(family).__name__} are not implemented")


@kernel
def mixture_density(family, weights, rows, points, n_points):
    """Density of items under a discrete measure, shape (n_points,): ``sum_h weights[h] p(x | rows[h])``."""
    total, log_values = np.zeros(n_points), np.empty(n_points)
    for h in range(weights.shape[0]):
        check_signals()
        log_component_density(family, rows[h], points, log_values)
        for i in range(n_points):
            total[i] += weights[h] * math.exp(log_values[i])
    return total


@log_component_density.register(NormalGamma)
def _(family, parameters, points, log_values):
    n, d = points.values.shape
    for i in range(n):
        log_values[i] = 0.0
    for j in range(d):
        mean, variance = parameters[j], parameters[d + j]
        constant, scale = -0.5 * (_LOG_2_PI + math.log(variance)), -0.5 / variance
        for i in range(n):
            x = points.values[i, j]
            if not math.isnan(x):
                log_values[i] += constant + scale * (x - mean) ** 2


@log_component_density.register(NormalWishart)
def _(family, parameters, points, log_values):
    n, d = points.values.shape
    factor = np.linalg.cholesky(parameters[d:].copy().reshape((d, d)))
    constant = -0.5 * d * _LOG_2_PI
    for j in range(d):
        constant -= math.log(factor[j, j])
    y = np.empty(d)
    for i in range(n):
        distance = 0.0
        for j in range(d):
            total = points.values[i, j] - parameters[j]
            for k in range(j):
                total -= factor[j, k] * y[k]
            y[j] = total / factor[j, j]
            distance += y[j] * y[j]
        log_values[i] = constant - 0.5 * distance


@log_component_density.register(PoissonGamma)
def _(family, parameters, points, log_values):
    n, d = points.values.shape
    for i in range(n):
        log_values[i] = -points.log_factorials[i]
    for j in range(d):
        # A gamma variable of small shape may underflow, which gives a rate of 0.
        log_rate = math.log(parameters[j]) if parameters[j] > 0.0 else -math.inf
        for i in range(n):
            x = points.values[i, j]
            log_values[i] += (x * log_rate if x > 0.0 else 0.0) - parameters[j]


@log_component_density.register(BernoulliBeta)
def _(family, parameters, points, log_values):
    n, d = points.values.shape
    for i in range(n):
        log_values[i] = 0.0
    for j in range(d):
        p = parameters[j]
        log_one = math.log(p) if p > 0.0 else -math.inf
        log_zero = math.log1p(-p) if p < 1.0 else -math.inf
        for i in range(n):
            x = points.values[i, j]
            if x == 1.0:
                log_values[i] += log_one
            elif x == 0.0:
                log_values[i] += log_zero


@log_component_density.register(CategoricalDirichlet)
def _(family, parameters, points, log_values):
    n, d = points.values.shape
    width = parameters.shape[0] // d
    for i in range(n):
        total = 0.0
        for j in range(d):
            x = points.values[i, j]
            if x >= 0:
                p = parameters[j * width + x]
                total += math.log(p) if p > 0.0 else -math.inf
        log_values[i] = total


@log_component_density.register(MultinomialDirichlet)
def _(family, parameters, points, log_values):
    for i in range(points.totals.shape[0]):
        total = points.log_coefficients[i]
        for k in range(points.indptr[i], points.indptr[i + 1]):
            p = parameters[points.indices[k]]
            total += points.values[k] * math.log(p) if p > 0.0 else -math.inf
        log_values[i] = total


@component_mean.register(NormalGamma)
@component_mean.register(NormalWishart)
def _(family, parameters):
    return parameters["mean"]


@component_mean.register(PoissonGamma)
def _(family, parameters):
    return parameters["rate"]


@component_mean.register(BernoulliBeta)
def _(family, parameters):
    return parameters["probability"]


@component_cdf.register(NormalGamma)
def _(family, parameters, feature, x):
    mean, variance = parameters["mean"][:, feature], parameters["variance"][:, feature]
    return ndtr((x - mean[:, None]) / np.sqrt(variance)[:, None])


@component_cdf.register(NormalWishart)
def _(family, parameters, feature, x):
    mean, variance = parameters["mean"][:, feature], parameters["covariance"][:, feature, feature]
    return ndtr((x - mean[:, None]) / np.sqrt(variance)[:, None])


@component_cdf.register(PoissonGamma)
def _(family, parameters, feature, x):
    below = pdtr(np.floor(np.maximum(x, 0.0)), parameters["rate"][:, feature, None])
    return np.where(x < 0.0, 0.0, below)


@component_cdf.register(BernoulliBeta)
def _(family, parameters, feature, x):
    p = parameters["probability"][:, feature, None]
    return np.where(x < 0.0, 0.0, np.where(x < 1.0, 1.0 - p, 1.0))
