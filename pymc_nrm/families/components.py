"""Laws of items given the parameters of their component, for draws of the random measure and conditional samplers.

A *panel* holds many components side by side, so that an item is weighed under all of them at once.  Elsewhere only the
type of a family is used: shapes are those of the parameters.
"""

import math

from pymc_nrm.kernels.generic import generic, kernel


@generic
def log_component_density(family, parameters, points, log_values):
    """Write the log density of items given the parameters of a component into ``log_values``.

    Parameters
    ----------
    family : Family
    parameters : ndarray, shape (parameters_size,)
        A row written by :func:`~pymc_nrm.families.conjugate.draw_parameters`, in the coordinates of ``points``.
    points : NamedTuple of arrays
        Prepared data of the items.
    log_values : ndarray, shape (n_points,)
    """
    raise NotImplementedError


@generic
def component_panel(family, n_columns):
    """Memory for a number of components, each of which :func:`write_component` writes into a column.

    Parameters
    ----------
    family : Family
    n_columns : int
        A multiple of LANES.

    Returns
    -------
    array, or NamedTuple of arrays
        In a form that only the family itself reads; values are arbitrary.
    """
    raise NotImplementedError


@generic
def write_component(family, parameters, panel, column):
    """Write what the density of an item needs of the parameters of a component into a column of a panel.

    Parameters
    ----------
    family : Family
    parameters : ndarray, shape (parameters_size,)
        A row written by :func:`~pymc_nrm.families.conjugate.draw_parameters`.
    panel : array, or NamedTuple of arrays
        From :func:`component_panel`.
    column : int
    """
    raise NotImplementedError


@generic
def add_component_densities(family, panel, data, item, width, values):
    """Add the log densities of one item given the parameters of many components to ``values``.

    Parameters
    ----------
    family : Family
    panel : array, or NamedTuple of arrays
        From :func:`component_panel`.
    data : NamedTuple of arrays
        In the coordinates of the parameters.
    item : int
    width : int
        Number of columns to look at, a multiple of LANES; some of them may never have been written.
    values : ndarray, shape (at least width,)
    """
    raise NotImplementedError


@kernel
def write_logarithms(parameters, panel, column):
    """Write the logarithms of numbers that are at least 0 into the first rows of a column of a panel."""
    for j in range(parameters.shape[0]):
        panel[j, column] = math.log(parameters[j]) if parameters[j] > 0.0 else -math.inf


@generic
def component_mean(family, parameters):
    """Means of items given the parameters of components.

    Parameters
    ----------
    family : Family
    parameters : dict of {str : ndarray, shape (n, ...)}
        Parameters by their names in :func:`~pymc_nrm.families.conjugate.parameter_shapes`.

    Returns
    -------
    ndarray, shape (n, d)
    """
    raise NotImplementedError


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
    raise NotImplementedError
