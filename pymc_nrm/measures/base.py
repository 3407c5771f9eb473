"""What a measure must define: its hyperparameters, and the functions that models and samplers call.

A measure is a prior over partitions.  It is a ``NamedTuple`` of scalar hyperparameters, described by
:func:`random_measure`, and registers an implementation for each function below.  Fields are numbers, tensors or random
variables in a model, and floats in kernels.

Samplers need a law that is a product over clusters.  A measure therefore has an auxiliary variable u, given which the
joint density of a partition of n items and of u is ``exp(t(n, u)) prod_c exp(moment[n_c])``.  :func:`weights` returns
the table ``moment``, :func:`log_joint_term` returns t, and :func:`draw_log_auxiliary` draws u given the partition.  The
law of u may depend on n and on the number of clusters, but not on their sizes.  The prior is therefore of Gibbs type
(Gnedin & Pitman 2006; De Blasi et al. 2015).  Each measure decides what u stands for: for normalized random measures it
is the variable of James, Lijoi & Prünster (2009), see ``levy.py``.  Others need no Levy intensity.  All functions take
or return its logarithm, since u itself may overflow.
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
    """Decorate the ``NamedTuple`` of a measure with the class attribute of :class:`Measure`."""
    return describe_fields(hyperparameters)


class Weights(NamedTuple):
    """Log weights of clusters given the auxiliary variable, in the two tables that kernels read.

    Factors that all partitions of n items share belong to :func:`log_joint_term`.
    """

    # `join[0]` for a new cluster, `join[m]` for joining a cluster of m items; shape (n + 1,).
    join: Any
    # `moment[m]` for a cluster of m items: the sum of the first m entries of `join`, so `moment[0] = 0`; shape (n +
    # 1,).
    moment: Any


@generic
def log_joint_term(measure, n, log_u):
    """Log joint density of the partition and u, minus the sum of ``moment`` over clusters. The density is with respect
    to u, not log u.
    """
    raise NotImplementedError


@generic
def log_joint_increment(measure, n, log_u):
    """Change of :func:`log_joint_term` from n to n + 1 items; a measure may register a form that does not cancel."""
    return log_joint_term(measure, n + 1, log_u) - log_joint_term(measure, n, log_u)


@generic
def draw_log_auxiliary(measure, n, n_clusters, rng):
    """Draw the logarithm of the auxiliary variable exactly, given a partition of n items into ``n_clusters``
    clusters.
    """
    raise NotImplementedError


@generic
def weights(measure, n, log_u):
    """Tables of the log weights of clusters given the auxiliary variable."""
    raise NotImplementedError


@generic
def log_eppf(measure, counts):
    """Log of the exchangeable partition probability function, with the auxiliary variable integrated out."""
    raise NotImplementedError


@generic
def symbolic_log_eppf(measure, counts):
    """Symbolic log probability of a partition, with the auxiliary variable integrated out. It is differentiable in the
    fields of the measure.
    """
    raise NotImplementedError


@generic
def n_clusters_log_pmf(measure, n):
    """Log probabilities of the number of clusters among n items; called from Python, not from kernels. Entry k - 1 is
    that of k clusters.
    """
    # Time O(n^2), memory O(n).
    raise NotImplementedError


@generic
def n_clusters_mean(measure, n):
    """Prior mean of the number of clusters among n items; called from Python, not from kernels."""
    # Time O(n^2), unless the measure registers a faster way.
    return float(np.exp(n_clusters_log_pmf(measure, n)) @ np.arange(1, n + 1))


@generic
def draw_partition(measure, n, rng):
    """Draw a partition from the prior. Labels are canonical."""
    raise NotImplementedError


def as_float64_scalar(value):
    """Symbolic float64 scalar of a number, tensor or random variable, whatever ``floatX`` is."""
    return value.astype("float64") if isinstance(value, Variable) else pt.constant(value, dtype="float64")


def check_measure_hyperparameters(measure):
    """Check those hyperparameters of a measure that are known before sampling."""
    plain = plain_values(measure)
    check_values(plain)
    return plain
