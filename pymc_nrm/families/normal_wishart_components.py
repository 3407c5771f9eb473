"""Parameters of the components of normal-Wishart mixtures, and laws of items given them."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from pymc_nrm.families.components import (
    add_component_densities,
    component_cdf,
    component_mean,
    component_panel,
    log_component_density,
    write_component,
)
from pymc_nrm.families.conjugate import (
    draw_item,
    draw_parameters,
    parameter_shapes,
    parameters_size,
    restore_parameters,
)
from pymc_nrm.families.moments import restore_location
from pymc_nrm.families.normal_wishart import NormalWishart
from pymc_nrm.families.wishart_rows import new_workspace, posterior_factor
from pymc_nrm.lanes import LANES, squared_lengths
from pymc_nrm.special import cholesky_update

_LOG_2_PI = math.log(2.0 * math.pi)


@restore_parameters.register(NormalWishart)
def _(family, data, parameters):
    return restore_location(data, parameters)


@parameter_shapes.register(NormalWishart)
def _(family):
    d = len(family.mu)
    return {"mean": (d,), "covariance": (d, d)}


@parameters_size.register(NormalWishart)
def _(family):
    d = family.mu.shape[0]
    return d + d * d


@draw_parameters.register(NormalWishart)
def _(family, statistics, rng, parameters):
    # Bartlett decomposition: Lambda = inverse(F)' A A' inverse(F), with F the factor of Psi_n, so that F inverse(A)' is
    # a square root of the covariance.
    d = family.mu.shape[0]
    factor, bartlett, root = new_workspace(d), np.zeros((d, d)), np.zeros((d, d))
    weight = posterior_factor(family, statistics, parameters[:d], factor)
    cholesky_update(factor, math.sqrt(weight) * factor[d + 3])
    nu_n, kappa_n = family.nu + statistics[0], family.kappa + statistics[0]
    for i in range(d):
        bartlett[i, i] = math.sqrt(rng.chisquare(nu_n - i))
        for j in range(i):
            bartlett[i, j] = rng.standard_normal()
    # Solve root A' = F row by row; A' is upper triangular.
    for i in range(d):
        for j in range(d):
            total = factor[i, j] if j <= i else 0.0
            for m in range(j):
                total -= root[i, m] * bartlett[j, m]
            root[i, j] = total / bartlett[j, j]
    for i in range(d):
        for j in range(d):
            total = 0.0
            for m in range(d):
                total += root[i, m] * root[j, m]
            parameters[d + i * d + j] = total
    for j in range(d):
        noise = rng.standard_normal() / math.sqrt(kappa_n)
        for i in range(d):
            parameters[i] += root[i, j] * noise


@draw_item.register(NormalWishart)
def _(family, parameters, rng, item, values):
    d = values.shape[0]
    factor = np.linalg.cholesky(parameters[d:].copy().reshape((d, d)))
    for i in range(d):
        values[i] = parameters[i]
    for j in range(d):
        noise = rng.standard_normal()
        for i in range(j, d):
            values[i] += factor[i, j] * noise


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


class NormalPanel(NamedTuple):
    """Components as :func:`~pymc_nrm.lanes.squared_lengths` reads them, their constants, and memory for its result.

    With F the Cholesky factor of the covariance, W is the inverse of F, and b is minus W times the mean.
    """

    lanes: Any
    constants: Any
    distances: Any


@component_panel.register(NormalWishart)
def _(family, n_columns):
    d = family.mu.shape[0]
    lanes = np.zeros((n_columns // LANES, d + d * (d + 1) // 2, LANES))
    return NormalPanel(lanes, np.empty(n_columns), np.empty(n_columns))


@write_component.register(NormalWishart)
def _(family, parameters, panel, column):
    d = family.mu.shape[0]
    factor = np.linalg.cholesky(parameters[d:].copy().reshape((d, d)))
    inverse = np.empty(d)
    block, lane = column // LANES, column % LANES
    constant = -0.5 * d * _LOG_2_PI
    row = 0
    for i in range(d):
        constant -= math.log(factor[i, i])
        # Row i of W solves W F = I from the last entry to the first.
        total = 0.0
        for j in range(i, -1, -1):
            value = 1.0 if j == i else 0.0
            for k in range(j + 1, i + 1):
                value -= inverse[k] * factor[k, j]
            inverse[j] = value / factor[j, j]
            total -= inverse[j] * parameters[j]
            panel.lanes[block, row + 1 + j, lane] = inverse[j]
        panel.lanes[block, row, lane] = total
        row += i + 2
    panel.constants[column] = constant


@add_component_densities.register(NormalWishart)
def _(family, panel, data, item, width, values):
    squared_lengths(panel.lanes, data.values[item], width // LANES, panel.distances)
    for k in range(width // LANES * LANES):
        values[k] += panel.constants[k] - 0.5 * panel.distances[k]


@component_mean.register(NormalWishart)
def _(family, parameters):
    return parameters["mean"]


@component_cdf.register(NormalWishart)
def _(family, parameters, feature, x):
    mean, variance = parameters["mean"][:, feature], parameters["covariance"][:, feature, feature]
    return ndtr((x - mean[:, None]) / np.sqrt(variance)[:, None])
