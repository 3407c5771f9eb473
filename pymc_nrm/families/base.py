"""What every family must define, and the rows that hold the data of a cluster.

A family is a ``NamedTuple`` of hyperparameters, described by :func:`conjugate_family`, and registers an implementation
for the functions of these files:

- ``base.py``: data, rows, the predictive density and the symbolic log-likelihood, which every family must define;
- ``conjugate.py``: the log marginal of a cluster and draws of its parameters, which most moves and predictions need;
- ``components.py``: laws of items given the parameters of their component, for draws of the random measure;
- ``fast.py``: what makes sampling faster and has a default.

``needs.py`` checks that a family has what a move or a function needs.  In kernels every hyperparameter has its full
shape (see :func:`~pymc_nrm.families.arguments.broadcast_hyperparameters`) and float64 values.

Sufficient statistics of a cluster are one row of floats and are additive: the row of a union is the sum of the rows.
They are functions of the data alone, never of hyperparameters.  The cache is one row of floats computed from the
statistics and the hyperparameters; it holds whatever makes the predictive density fast.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import pytensor.tensor as pt

from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.kernels.generic import describe_fields, generic


class Family(Protocol):
    """Class attributes of every family."""

    hyperparameters: ClassVar[dict[str, Hyperparameter]]
    continuous: ClassVar[bool]
    missing_allowed: ClassVar[bool]


def conjugate_family[T](
    *, hyperparameters: dict[str, Hyperparameter], continuous: bool, missing_allowed: bool
) -> Callable[[type[T]], type[T]]:
    """Give the ``NamedTuple`` of a family the class attributes of :class:`Family`: a decorator.

    Parameters
    ----------
    hyperparameters : dict of str to Hyperparameter
        One for each field.
    continuous : bool
        Whether data are real numbers; otherwise they are whole numbers.
    missing_allowed : bool
        Whether NaN in the data means missing.

    Returns
    -------
    callable
        Takes the class and returns it.

    Raises
    ------
    ValueError
        If the names of the hyperparameters are not those of the fields.

    Examples
    --------
    >>> @conjugate_family(
    ...     hyperparameters={"rate": Hyperparameter(("d",), "positive")}, continuous=True, missing_allowed=False
    ... )
    ... class Waiting(NamedTuple):
    ...     rate: Any = 1.0
    >>> Waiting.continuous, Waiting.missing_allowed
    (True, False)
    """
    return describe_fields(hyperparameters, continuous=continuous, missing_allowed=missing_allowed)


class Dense(NamedTuple):
    """Data of a kernel: values, shape (n, d), float64."""

    values: Any


class Centred(NamedTuple):
    """Data of a kernel: values minus the centre, shape (n, d), and the centre, shape (d,); float64.

    ``grid``, for families that need it, says how sums are split into exact parts (``families/moments.py``).
    """

    values: Any
    center: Any
    grid: Any = None


@generic
def complete(family, X):
    """Fill hyperparameters that were left out from the data, for example the number of levels.

    Parameters
    ----------
    family : Family
    X : array or sparse matrix, shape (n, d)

    Returns
    -------
    Family
    """
    return family


@generic
def canonical(family):
    """Replace shorthand for hyperparameters whose shape depends on more than n and d.

    Called by :func:`~pymc_nrm.families.arguments.broadcast_hyperparameters`; without an implementation the family is
    its own canonical form.

    Parameters
    ----------
    family : Family

    Returns
    -------
    Family
        Fields broadcast against their core dimensions; only what the data alone determine is still None.
    """
    return family


@generic
def prepare_data(family, X):
    """Check data and put them into the form that the kernels of the family read.

    Parameters
    ----------
    family : Family
    X : array or sparse matrix, shape (n, d)

    Returns
    -------
    NamedTuple of arrays

    Raises
    ------
    ValueError
        If a value is outside the support of the family.
    """
    raise NotImplementedError


@generic
def check_resolution(family, data, title):
    """Check that doubles resolve a cluster among these data, under these hyperparameters.

    Parameters
    ----------
    family : Family
        From :func:`localise`.
    data : NamedTuple of arrays
        From :func:`prepare_data`.
    title : str
        Name of the data in messages.

    Raises
    ------
    ValueError
        If they do not; the message names the item with the largest value and says what to do.
    """


@generic
def localise(family, data):
    """Move hyperparameters that are locations into the coordinates of the prepared data.

    Second moments of large coordinates lose digits, so location families prepare :class:`Centred` data.  Callers of
    kernels apply this once to the family of full shape: kernels then read ``mu - center`` and write
    component parameters relative to the centre, which
    :func:`~pymc_nrm.families.conjugate.restore_parameters` undoes.

    Parameters
    ----------
    family : Family
        Numbers and arrays of full shape.
    data : NamedTuple of arrays
        From :func:`prepare_data`.

    Returns
    -------
    Family
    """
    return family


@generic
def log_likelihood(family, X, labels):
    """Symbolic log density of the data given the partition, component parameters integrated out.

    Parameters
    ----------
    family : Family
        Its fields are tensors of full shape.
    X : tensor, shape (n, d)
    labels : integer tensor, shape (n,)
        0-based labels without gaps.

    Returns
    -------
    scalar tensor
        The sum of the log marginals of the clusters, differentiable in hyperparameters and continuous data.
    """
    raise NotImplementedError


@generic
def statistics_size(family):
    """Length of a row of sufficient statistics."""
    raise NotImplementedError


@generic
def cache_size(family):
    """Length of a row of the cache."""
    raise NotImplementedError


@generic
def add_item(family, statistics, data, item, sign):
    """Add (``sign=1.0``) or subtract (``sign=-1.0``) one item to or from a row of statistics, in place."""
    raise NotImplementedError


@generic
def refresh_cache(family, statistics, cache):
    """Compute the cache row of a cluster from its statistics, in place."""
    raise NotImplementedError


@generic
def log_predictive(family, cache, data, item):
    """Log density of one item given the items of a cluster, parameters integrated out."""
    raise NotImplementedError


def segment_sum(x, labels, n_clusters):
    """Symbolic sums of the rows of ``x`` with equal labels.

    Parameters
    ----------
    x : tensor, shape (n, ...)
    labels : integer tensor, shape (n,)
    n_clusters : scalar tensor

    Returns
    -------
    tensor, shape (n_clusters, ...)
    """
    zeros = pt.zeros((n_clusters, *[x.shape[axis] for axis in range(1, x.ndim)]), dtype=x.dtype)
    return zeros[labels].inc(x)
