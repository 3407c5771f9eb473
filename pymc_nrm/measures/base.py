"""What makes a measure: its hyperparameters, and the functions that models and samplers call.

A measure is a homogeneous completely random measure, normalised.  It is a ``NamedTuple`` of scalar
hyperparameters, described by :func:`random_measure`, and registers an implementation for each function below.  Fields
are numbers, tensors or random variables in a model, and floats in kernels.

With Levy intensity rho, the Laplace exponent is ``psi(u) = int (1 - exp(-u w)) rho(dw)``, the tilted moments are
``kappa(m, u) = int w^m exp(-u w) rho(dw)``, and the joint density of a partition of n items and of the auxiliary
variable u is ``u^(n-1) exp(-psi(u)) / Gamma(n) prod_c kappa(n_c, u)`` (James, Lijoi & Prünster 2009, eq. 7 and 8).
Everything that depends on u takes or gives its logarithm, since u itself overflows for small ``alpha``.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.generic import describe_fields, generic
from pymc_nrm.hyperparameters import check_values, plain_values
from pymc_nrm.supports import Hyperparameter


class Measure(Protocol):
    """Class attribute of every measure."""

    hyperparameters: ClassVar[dict[str, Hyperparameter]]


def random_measure[T](*, hyperparameters: dict[str, Hyperparameter]) -> Callable[[type[T]], type[T]]:
    """Give the ``NamedTuple`` of a measure the class attribute of :class:`Measure`: a decorator.

    Parameters
    ----------
    hyperparameters : dict of str to Hyperparameter
        One for each field.

    Returns
    -------
    callable
        Takes the class and gives it back.

    Raises
    ------
    ValueError
        If the names of the hyperparameters are not those of the fields.

    Examples
    --------
    >>> @random_measure(hyperparameters={"mass": Hyperparameter((), "positive")})
    ... class Gamma(NamedTuple):
    ...     mass: Any = 1.0
    >>> Gamma.hyperparameters["mass"].support.name
    'positive'
    """
    return describe_fields(hyperparameters)


class Weights(NamedTuple):
    """Logarithms of the weights of clusters given u, the two tables that kernels read.

    Jumps are measured in units of ``1 / (1 + u)``: the moments are those of ``w (1 + u)``.  All partitions of n items
    have the factor ``(1 + u)^n`` in common, and without it nothing cancels where u is huge.

    Parameters
    ----------
    join : ndarray, shape (n + 1,)
        With ``kappa'(m, u) = (1 + u)^m kappa(m, u)``, ``join[0] = log kappa'(1, u)`` for a new cluster and ``join[m] =
        log kappa'(m + 1, u) - log kappa'(m, u)`` for joining a cluster of m items.
    moment : ndarray, shape (n + 1,)
        ``moment[m] = log kappa'(m, u)`` and ``moment[0] = 0``: the sums of the first entries of ``join``.
    """

    join: Any
    moment: Any


@generic
def log_levy_intensity(measure, w):
    """Log density of the Levy intensity rho at w > 0."""
    raise NotImplementedError


@generic
def laplace_exponent(measure, u):
    """Laplace exponent psi(u) for u >= 0."""
    raise NotImplementedError


@generic
def log_tilted_moment(measure, m, u):
    """Log of ``kappa(m, u)``, for m = 1, 2, ... and u >= 0."""
    raise NotImplementedError


@generic
def log_u_prior_term(measure, n, log_u):
    """What is to be added to the sum of ``moment`` over clusters for the log joint density of partition and u.

    Parameters
    ----------
    measure : Measure
    n : int
        Number of items, at least 1.
    log_u : float

    Returns
    -------
    float
        ``(n - 1) log u - n log(1 + u) - psi(u) - log Gamma(n)``, for the density in u, not in log u; the second term
        belongs to the units of :class:`Weights`.
    """
    raise NotImplementedError


@generic
def draw_log_u(measure, n, n_clusters, rng):
    """Draw log u exactly, given a partition of n items into ``n_clusters`` clusters.

    Parameters
    ----------
    measure : Measure
    n, n_clusters : int
        At least 1.
    rng : numpy.random.Generator

    Returns
    -------
    float
    """
    raise NotImplementedError


@generic
def weights(measure, n, log_u):
    """Tables of the log weights of clusters given u.

    Parameters
    ----------
    measure : Measure
    n : int
        Largest size of a cluster.
    log_u : float

    Returns
    -------
    Weights
    """
    raise NotImplementedError


@generic
def log_eppf(measure, counts):
    """Log probability of a partition, u integrated out (the exchangeable partition probability function).

    Parameters
    ----------
    measure : Measure
        With fields that are numbers.
    counts : ndarray of int, shape (n_clusters,)
        Sizes of the clusters, all positive.

    Returns
    -------
    float
    """
    raise NotImplementedError


@generic
def symbolic_log_eppf(measure, counts):
    """Symbolic log probability of a partition, u integrated out.

    Parameters
    ----------
    measure : Measure
        With fields that are numbers, scalar tensors or random variables.
    counts : integer tensor, shape (n_clusters,)
        Sizes of the clusters, all positive.

    Returns
    -------
    scalar tensor
        Differentiable in the fields of the measure.
    """
    raise NotImplementedError


@generic
def n_clusters_log_pmf(measure, n):
    """Log probabilities of the number of clusters among n items; callable from Python.

    Parameters
    ----------
    measure : Measure
        With fields that are numbers.
    n : int
        Number of items, at least 1.

    Returns
    -------
    ndarray, shape (n,)
        ``log P(k clusters)`` at index k - 1.

    Notes
    -----
    Time O(n^2), memory O(n).
    """
    raise NotImplementedError


@generic
def n_clusters_mean(measure, n):
    """Prior mean of the number of clusters among n items; callable from Python.

    Parameters
    ----------
    measure : Measure
        With fields that are numbers.
    n : int
        Number of items, at least 1.

    Returns
    -------
    float

    Notes
    -----
    Time O(n^2) unless the measure knows better.
    """
    return float(np.exp(n_clusters_log_pmf(measure, n)) @ np.arange(1, n + 1))


@generic
def draw_partition(measure, n, rng):
    """Draw a partition from the prior.

    Parameters
    ----------
    measure : Measure
        With float fields.
    n : int
        Number of items.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n,), int64
        Labels in order of appearance, starting at 0.
    """
    raise NotImplementedError


def as_float64_scalar(value):
    """Symbolic double-precision scalar for a number, tensor or random variable, whatever the default precision is."""
    return value.astype("float64") if isinstance(value, Variable) else pt.constant(value, dtype="float64")


def check_measure(measure):
    """Check the hyperparameters of a measure as far as they are known before sampling.

    Parameters
    ----------
    measure : Measure

    Returns
    -------
    Measure
        The same measure; its fields are floats and tensors.

    Raises
    ------
    ValueError
        If a hyperparameter is not a scalar, or is a number outside its support.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> check_measure(DirichletProcess(1))
    DirichletProcess(alpha=1.0)
    >>> check_measure(DirichletProcess(-1.0))
    Traceback (most recent call last):
        ...
    ValueError: alpha of DirichletProcess must be finite and above 0; got -1.0
    """
    plain = plain_values(measure)
    check_values(plain)
    return plain
