"""The interface of measures: hyperparameters, and the functions that models and samplers call.

A measure is a prior over partitions.  It is a ``NamedTuple`` of scalar hyperparameters, described by
:func:`random_measure`, and registers an implementation for each function below.  Fields are numbers, tensors or random
variables in a model, and floats in kernels.

Samplers need a distribution that is a product over clusters.  A measure therefore has an auxiliary variable u, given
which the joint density of a partition of n items and of u is ``exp(t(n, u)) prod_c exp(moment[n_c])``.
:func:`weights` returns the table ``moment``, :func:`log_joint_term` returns t, and :func:`draw_log_auxiliary` draws u
given the partition.  The distribution of u may depend on n and on the number of clusters, but not on cluster sizes.
The prior is therefore of Gibbs type (Gnedin & Pitman 2006; De Blasi et al. 2015).  Each measure defines its own u: for
normalized random measures it is the variable of James, Lijoi & Prünster (2009).  Others need no Levy intensity.  All
functions take or return the logarithm of u, since u itself may overflow.

A normalized random measure is a homogeneous completely random measure divided by its total mass.  If rho is its Levy
intensity, the Laplace exponent is ``psi(u) = int (1 - exp(-u w)) rho(dw)``, the tilted moments are ``kappa(m, u) = int
w^m exp(-u w) rho(dw)``, and the joint density of a partition of n items and of u is ``u^(n-1) exp(-psi(u)) / Gamma(n)
prod_c kappa(n_c, u)`` (ibid., eq. 7 and 8).  If rho has finite activity, there may be no atom; the prior is conditional
on at least one atom, and the density is divided by ``1 - exp(-psi(inf))``, where psi(inf) is the mass of rho.

Tables of weights are in units of ``1 / (1 + u)``: ``moment[m] = log kappa'(m, u)`` with ``kappa'(m, u) = (1 + u)^m
kappa(m, u)``, and ``log_joint_term`` is ``(n - 1) log u - n log(1 + u) - psi(u) - log Gamma(n)``.  This moves the
factor ``(1 + u)^-n``, common to all partitions of n items, out of the tables; nothing then cancels if u is huge.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import check_values, plain_values
from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.kernels.generic import describe_fields, generic


class Measure(Protocol):
    """Class attribute of every measure."""

    hyperparameters: ClassVar[dict[str, Hyperparameter]]


def random_measure[T](*, hyperparameters: dict[str, Hyperparameter]) -> Callable[[type[T]], type[T]]:
    """Decorate the ``NamedTuple`` of a measure with the class attribute of :class:`Measure`.

    Parameters
    ----------
    hyperparameters : dict of str to Hyperparameter
        One for each field.

    Returns
    -------
    callable
        A decorator that returns the class it is given.

    Raises
    ------
    ValueError
        If the names of the hyperparameters are not the names of the fields.

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
    """Log weights of clusters given the auxiliary variable, in the two tables that kernels read.

    Factors common to all partitions of n items belong to :func:`log_joint_term`.

    Parameters
    ----------
    join : ndarray, shape (n + 1,)
        ``join[0]`` for a new cluster, ``join[m]`` for joining a cluster of m items.
    moment : ndarray, shape (n + 1,)
        ``moment[m]`` for a cluster of m items: the sum of the first m entries of ``join``, so ``moment[0] = 0``.
    """

    join: Any
    moment: Any


@generic
def symbolic_log_eppf(measure, counts):
    """:func:`log_eppf` as a scalar tensor, differentiable in the fields of the measure; ``counts`` is a tensor.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> symbolic_log_eppf(DirichletProcess(1.0), pt.as_tensor([2, 1])).type
    TensorType(float64, shape=())
    """
    raise NotImplementedError


@generic(agrees_with=[symbolic_log_eppf])
def log_eppf(measure, counts):
    """Log probability of a partition with these cluster sizes, int64 (n_clusters,), with u integrated out.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> round(float(np.exp(log_eppf(DirichletProcess(1.0), np.array([2, 1])))), 6)
    0.166667
    """
    raise NotImplementedError


# What the tables of samplers, and draws from the prior, must agree with.
_PRIOR = (symbolic_log_eppf, log_eppf)


@generic(agrees_with=_PRIOR)
def log_joint_term(measure, n, log_u):
    """Log joint density of a partition of n items and of u (not log u), minus the sum of ``moment`` over clusters.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> round(float(log_joint_term(DirichletProcess(1.0), 3, 0.0)), 4)
    -3.4657
    """
    raise NotImplementedError


@generic(agrees_with=[*_PRIOR, log_joint_term])
def log_joint_increment(measure, n, log_u):
    """Change of :func:`log_joint_term` from n to n + 1 items; a measure may register a form without cancellation.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> round(float(log_joint_increment(DirichletProcess(1.0), 3, 0.0)), 4)
    -1.7918
    """
    return log_joint_term(measure, n + 1, log_u) - log_joint_term(measure, n, log_u)


@generic(agrees_with=_PRIOR)
def draw_log_auxiliary(measure, n, n_clusters, rng):
    """Draw log u exactly, given a partition of n >= 1 items into ``n_clusters`` clusters.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> rng = np.random.default_rng(1)
    >>> bool(np.isfinite(draw_log_auxiliary(DirichletProcess(1.0), 3, 2, rng)))
    True
    """
    raise NotImplementedError


@generic(agrees_with=[*_PRIOR, log_joint_term, draw_log_auxiliary])
def weights(measure, n, log_u):
    """Tables of the log weights of clusters of up to n items given the auxiliary variable, as :class:`Weights`.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> weights(DirichletProcess(1.0), 3, 0.0).moment.round(4).tolist()
    [0.0, 0.0, 0.0, 0.6931]
    """
    raise NotImplementedError


@generic(agrees_with=_PRIOR)
def n_clusters_log_pmf(measure, n):
    """Log probabilities of 1 to n clusters among n items, shape (n,), in O(n^2) time; for Python, not for kernels.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> np.exp(n_clusters_log_pmf(DirichletProcess(1.0), 3)).round(4).tolist()
    [0.3333, 0.5, 0.1667]
    """
    raise NotImplementedError


@generic(agrees_with=[*_PRIOR, n_clusters_log_pmf])
def n_clusters_mean(measure, n):
    """Prior mean of the number of clusters among n items; for Python, not for kernels.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> round(n_clusters_mean(DirichletProcess(1.0), 3), 4)
    1.8333
    """
    return float(np.exp(n_clusters_log_pmf(measure, n)) @ np.arange(1, n + 1))


@generic(agrees_with=_PRIOR)
def draw_partition(measure, n, rng):
    """Draw labels of n items from the prior: int64 (n,), in order of appearance, from 0.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> draw_partition(DirichletProcess(1.0), 6, np.random.default_rng(1)).shape
    (6,)
    """
    raise NotImplementedError


@generic(agrees_with=_PRIOR)
def gibbs_type_rule(measure, n, n_clusters):
    """Sigma and ``log_new`` if the prediction rule has a closed form, else None; for Python, not for kernels.

    The probability of a partition is ``V(n, k) prod_c (1 - sigma)_(n_c - 1)`` (Gnedin & Pitman 2006).  ``log_new`` is
    the log of ``V(n+1, k+1) / V(n+1, k)``, the weight of a new cluster if a cluster of m items has weight
    ``m - sigma``.  With None, the rule is a ratio of two :func:`log_eppf`.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> gibbs_type_rule(DirichletProcess(1.0), 3, 2)
    (0.0, 0.0)
    """
    return None


def as_float64_scalar(value):
    """Symbolic float64 scalar of a number, tensor or random variable, whatever ``floatX`` is."""
    return value.astype("float64") if isinstance(value, Variable) else pt.constant(value, dtype="float64")


def check_measure_hyperparameters(measure):
    """Check the hyperparameters known before sampling; return the measure with fields that are floats and tensors."""
    plain = plain_values(measure)
    check_values(plain)
    return plain


# Samplers call none of the following functions.  They define a normalized random measure, and its tables must agree
# with them.


@generic(agrees_with=_PRIOR)
def log_levy_intensity(measure, w):
    """Log density of the Levy intensity rho at w > 0.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> float(log_levy_intensity(DirichletProcess(1.0), 1.0))
    -1.0
    """
    raise NotImplementedError


@generic(agrees_with=_PRIOR)
def laplace_exponent(measure, u):
    """Laplace exponent psi(u) for u >= 0.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> round(float(laplace_exponent(DirichletProcess(1.0), 1.0)), 4)
    0.6931
    """
    raise NotImplementedError


@generic(agrees_with=_PRIOR)
def log_tilted_moment(measure, m, u):
    """Log of ``kappa(m, u)``, for m = 1, 2, ... and u >= 0.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> round(float(np.exp(log_tilted_moment(DirichletProcess(1.0), 2, 1.0))), 4)
    0.25
    """
    raise NotImplementedError
