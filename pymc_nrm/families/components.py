"""Laws of items given the parameters of their component, for draws of the random measure and conditional samplers.

A *panel* holds many components side by side, so that an item is weighed under all of them at once.  Elsewhere only the
type of a family is used: shapes are those of the parameters.
"""

import math

from pymc_nrm.generic import generic, kernel


@generic
def log_component_density(family, parameters, points, log_values):
    """Write the log density of items given the parameters of a component into ``log_values``."""
    raise NotImplementedError


@generic
def component_panel(family, n_columns):
    """Memory for a number of components, each of which :func:`write_component` writes into a column. Only the family
    itself reads its form; values are arbitrary.
    """
    raise NotImplementedError


@generic
def write_component(family, parameters, panel, column):
    """Write what the density of an item needs of the parameters of a component into a column of a panel."""
    raise NotImplementedError


@generic
def add_component_densities(family, panel, data, item, width, values):
    """Add the log densities of one item given the parameters of many components to ``values``."""
    raise NotImplementedError


@kernel
def write_logarithms(parameters, panel, column):
    """Write the logarithms of numbers that are at least 0 into the first rows of a column of a panel."""
    for j in range(parameters.shape[0]):
        panel[j, column] = math.log(parameters[j]) if parameters[j] > 0.0 else -math.inf


@generic
def component_mean(family, parameters):
    """Means of items given the parameters of components. Shapes: ``parameters`` (n, ...); returns (n, d)."""
    raise NotImplementedError


@generic
def component_cdf(family, parameters, feature, x):
    """Marginal distribution function of one feature given the parameters of components. Shapes: ``parameters`` (n,
    ...), ``x`` (m,); returns (n, m).
    """
    raise NotImplementedError
