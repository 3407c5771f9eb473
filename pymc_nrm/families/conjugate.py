"""What a conjugate family has besides its predictive density: the marginal of a cluster and draws of its parameters."""

import numpy as np

from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.special import draw_log_gamma


@generic
def log_marginal(family, statistics):
    """Log density of the data of a cluster with these statistics, parameters integrated out; 0 for no data."""
    raise NotImplementedError


@generic
def parameter_shapes(family):
    """Names and shapes of the parameters of one cluster, in the order in which :func:`draw_parameters` writes them."""
    raise NotImplementedError


@generic
def parameters_size(family):
    """Length of a row of component parameters."""
    raise NotImplementedError


@generic
def draw_parameters(family, statistics, rng, parameters):
    """Draw the parameters of a cluster given its statistics and write them into a row, in place."""
    raise NotImplementedError


@generic
def draw_item(family, parameters, rng, item, values):
    """Draw the data of one item given the parameters of its cluster and write them into ``values``, shape (d,)."""
    raise NotImplementedError


@generic
def restore_parameters(family, data, parameters):
    """Component parameters in the coordinates of the user, from those that :func:`draw_parameters` wrote.

    Parameters
    ----------
    family : Family
    data : NamedTuple of arrays
        From :func:`~pymc_nrm.families.base.prepare_data`.
    parameters : ndarray, shape (..., parameters_size)

    Returns
    -------
    ndarray, shape (..., parameters_size)
    """
    return parameters


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
