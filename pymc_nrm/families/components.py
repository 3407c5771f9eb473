"""Densities of items given the parameters of their component, for draws of the random measure and conditional samplers.

A *panel* holds many components side by side, so that an item is weighed under all of them at once.  Elsewhere only the
type of a family is used: its parameters have the shapes.
"""

import math

import numpy as np

from pymc_nrm.families.conjugate import log_density, log_marginal, parameters_size
from pymc_nrm.kernels.generic import check_signals, generic, kernel
from pymc_nrm.kernels.lanes import LANES, whole_lanes


# By default a panel has the parameters of each component in a row.
@generic(derived_from=log_density, agrees_with=[log_marginal])
def component_panel(family, n_columns):
    """Memory for ``n_columns`` components, a multiple of LANES, in a form that only the family itself reads.

    It is an array, or a tuple of arrays, that are contiguous and share no memory.
    """
    return np.full((n_columns, parameters_size(family)), math.nan)


@generic(derived_from=log_density, reads=[component_panel], agrees_with=[log_marginal])
def write_component(family, parameters, panel, column):
    """Write what densities need of the parameters of a component, from ``draw_parameters``, into a column."""
    for i in range(parameters.shape[0]):
        panel[column, i] = parameters[i]


@generic(derived_from=log_density, reads=[component_panel, write_component], agrees_with=[log_marginal])
def add_component_densities(family, panel, data, item, width, values):
    """Add the log densities of one item under the first ``width`` components, a multiple of LANES, to ``values``.

    Data are in the coordinates of the parameters; some columns may never have been written.
    """
    for k in range(width):
        values[k] += log_density(family, panel[k], data, item)


@generic(agrees_with=[log_marginal, log_density, component_panel, write_component, add_component_densities])
def add_densities_of_items(family, panel, data, items, n_components, values):
    """Add the log densities of LANES items under the first components to ``values`` (at least n_components, LANES).

    Those of an item do not depend on the others, bit for bit.
    """
    width = whole_lanes(n_components)
    lane_values = np.zeros(width)
    for lane in range(LANES):
        for k in range(n_components):
            lane_values[k] = values[k, lane]
        add_component_densities(family, panel, data, items[lane], width, lane_values)
        for k in range(n_components):
            values[k, lane] = lane_values[k]


@kernel
def fill_component_densities(family, data, parameters, table):
    """Log densities of all items under components with these parameters. Shapes: ``table`` (n, n_components)."""
    n_components = parameters.shape[0]
    width = whole_lanes(n_components)
    panel, values = component_panel(family, width), np.empty(width)
    for k in range(n_components):
        write_component(family, parameters[k], panel, k)
    for i in range(table.shape[0]):
        if i % 64 == 0:
            check_signals()
        values[:] = 0.0
        add_component_densities(family, panel, data, i, width, values)
        for k in range(n_components):
            table[i, k] = values[k]


@kernel
def write_logarithms(parameters, panel, column):
    """Write the logarithms of numbers that are at least 0 into the first rows of a column of a panel."""
    for j in range(parameters.shape[0]):
        panel[j, column] = math.log(parameters[j]) if parameters[j] > 0.0 else -math.inf


@generic(agrees_with=[log_marginal, log_density])
def component_mean(family, parameters):
    """Means (n, d) of items given parameters of components, arrays (n, ...) by name."""
    raise NotImplementedError


@generic(agrees_with=[log_marginal, log_density])
def component_cdf(family, parameters, feature, x):
    """Distribution functions of a feature at x (m,) given parameters of components by name, shape (n, m)."""
    raise NotImplementedError
