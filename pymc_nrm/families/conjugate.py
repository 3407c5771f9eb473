"""What a conjugate family has besides its predictive density: the marginal of a cluster and draws of its parameters."""

import math

import numpy as np

from pymc_nrm.families.base import Centred
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.special import draw_log_gamma


@generic
def log_marginal(family, statistics):
    """Log density of the data of a cluster with these statistics, parameters integrated out; 0 for no data."""
    raise NotImplementedError


def parameter_shapes(family):
    """Names and shapes of the parameters of one cluster, in the order in which :func:`draw_parameters` writes them.

    Lengths of the axes that a family declares are those of hyperparameters of full shape.
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


@generic
def draw_parameters(family, statistics, rng, parameters):
    """Draw the parameters of a cluster given its statistics and write them into a row, in place."""
    raise NotImplementedError


@generic
def log_parameter_density(family, statistics, parameters):
    """Log density of the parameters of a cluster, a row of :func:`draw_parameters`, given its statistics."""
    raise NotImplementedError


@generic
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
