"""Laws of items given the parameters of their component, for draws of the random measure.

Only the type of a family is used: shapes are those of the parameters.
"""

from pymc_nrm.generic import generic


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
