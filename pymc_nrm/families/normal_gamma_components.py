"""Parameters of the components of normal-gamma mixtures, and laws of items given them."""

import math

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
from pymc_nrm.families.normal_gamma import NormalGamma, pooling_weights, posterior_location_scale
from pymc_nrm.lanes import LANES

_LOG_2_PI = math.log(2.0 * math.pi)


@restore_parameters.register(NormalGamma)
def _(family, data, parameters):
    return restore_location(data, parameters)


@parameter_shapes.register(NormalGamma)
def _(family):
    d = family.mu.shape[0]
    return {"mean": (d,), "variance": (d,)}


@parameters_size.register(NormalGamma)
def _(family):
    return 2 * family.mu.shape[0]


@draw_parameters.register(NormalGamma)
def _(family, statistics, rng, parameters):
    d = family.mu.shape[0]
    for j in range(d):
        kappa_n, alpha_n = family.kappa[j] + statistics[j], family.alpha[j] + 0.5 * statistics[j]
        inverse_count, shrinkage = pooling_weights(family.kappa[j], statistics[j])
        mean, beta_n = posterior_location_scale(family, statistics, j, inverse_count, shrinkage)
        variance = beta_n / rng.standard_gamma(alpha_n)
        parameters[j] = mean + math.sqrt(variance / kappa_n) * rng.standard_normal()
        parameters[d + j] = variance


@draw_item.register(NormalGamma)
def _(family, parameters, rng, item, values):
    d = values.shape[0]
    for j in range(d):
        values[j] = parameters[j] + math.sqrt(parameters[d + j]) * rng.standard_normal()


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


@component_panel.register(NormalGamma)
def _(family, n_columns):
    return np.empty((3 * family.mu.shape[0], n_columns))


@write_component.register(NormalGamma)
def _(family, parameters, panel, column):
    # Means, factors of squared distances, constants.
    d = family.mu.shape[0]
    for j in range(d):
        variance = parameters[d + j]
        panel[j, column] = parameters[j]
        panel[d + j, column] = -0.5 / variance
        panel[2 * d + j, column] = -0.5 * (_LOG_2_PI + math.log(variance))


@add_component_densities.register(NormalGamma)
def _(family, panel, data, item, width, values):
    d = data.values.shape[1]
    for j in range(d):
        x = data.values[item, j]
        if math.isnan(x):
            continue
        mean, scale, constant = panel[j], panel[d + j], panel[2 * d + j]
        for k in range(width // LANES * LANES):
            distance = x - mean[k]
            values[k] += constant[k] + scale[k] * distance * distance


@component_mean.register(NormalGamma)
def _(family, parameters):
    return parameters["mean"]


@component_cdf.register(NormalGamma)
def _(family, parameters, feature, x):
    mean, variance = parameters["mean"][:, feature], parameters["variance"][:, feature]
    return ndtr((x - mean[:, None]) / np.sqrt(variance)[:, None])
