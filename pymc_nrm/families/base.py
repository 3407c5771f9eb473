"""What every family must define, and the rows that hold the data of a cluster.

A family is a ``NamedTuple`` of hyperparameters, described by :func:`conjugate_family`, whose methods have the names of
functions of these files:

- ``base.py``: data, statistics, the log marginal of a cluster, and the symbolic log-likelihood: five functions that
  every family must define, ``prepare_data``, ``statistics_size``, ``add_item``, ``log_marginal``, ``log_likelihood``;
- ``conjugate.py``: the parameters of a cluster, ``parameters_size``, ``draw_parameters``, ``log_density`` and
  ``draw_item``, which some samplers and most predictions need;
- ``components.py``: many components side by side, which follow from ``log_density``, and their means and distribution
  functions;
- ``shared/two_components.py``: two components in the place of one, for splits and merges of clusters of many items;
- ``fast.py``: what makes sampling faster and has a default.

``needs.py`` checks that a family has what a move or a function needs.  In kernels every hyperparameter has its full
shape (see :func:`~pymc_nrm.families.arguments.broadcast_hyperparameters`) and float64 values.

Sufficient statistics of a cluster are one row of floats and are additive: the row of a union is the sum of the rows.
They are functions of the data alone, never of hyperparameters.  The cache is one row of floats computed from the
statistics and the hyperparameters; it holds whatever makes the predictive density fast.  A family without a closed form
of its log marginal defines ``cache_size``, ``refresh_cache`` and ``log_predictive`` instead.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.kernels.generic import check_signals, describe_fields, generic


class Family(Protocol):
    """Class attributes of every family."""

    hyperparameters: ClassVar[dict[str, Hyperparameter]]
    parameters: ClassVar[dict[str, tuple[str, ...]]]
    continuous: ClassVar[bool]
    missing_allowed: ClassVar[bool]


def conjugate_family[T](
    *,
    hyperparameters: dict[str, Hyperparameter],
    parameters: dict[str, tuple[str, ...]] | None = None,
    continuous: bool,
    missing_allowed: bool,
    has_atoms: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Decorator that gives the ``NamedTuple`` of a family the class attributes of :class:`Family`.

    ``hyperparameters`` describes every field, ``parameters`` has the axes of the parameters of a cluster by name, in
    the order in which ``draw_parameters`` writes them: "d" for features, and axes of hyperparameters.  Data are real
    numbers if ``continuous``, otherwise whole numbers; NaN means missing if ``missing_allowed``.  ``has_atoms`` says
    that some real numbers have positive probability.
    """
    return describe_fields(
        hyperparameters,
        parameters=parameters or {},
        continuous=continuous,
        missing_allowed=missing_allowed,
        has_atoms=has_atoms,
    )


class Dense(NamedTuple):
    """Data of a kernel: values, shape (n, d), float64."""

    values: Any


class Centred(NamedTuple):
    """Data of a kernel: values minus the centre (n, d), the centre (d,), and the grid (``shared/moments.py``)."""

    values: Any
    center: Any
    grid: Any = None


@generic
def complete(family, X):
    """Fill hyperparameters that were left out from the data (n, d), for example the number of levels."""
    return family


@generic
def canonical(family):
    """Broadcast hyperparameters whose shape depends on more than n and d; what only data determine stays None."""
    return family


@generic
def prepare_data(family, X):
    """Check data, an array or sparse matrix (n, d), and put them into a NamedTuple that kernels read.

    The result depends on the data, hyperparameters that are constant or have values per item, and shapes of others.
    """
    raise NotImplementedError


@generic
def prepare_alike(family, X, data):
    """Check further data (m, d), and put them into the coordinates of prepared data, whose caches they then fit."""
    prepared = prepare_data(family, X)
    if isinstance(prepared, Centred):
        return data._replace(values=np.ascontiguousarray(X, dtype="float64") - data.center)
    return prepared


@generic
def check_resolution(family, data, title):
    """Raise a ValueError that names the data by ``title`` if doubles do not resolve a cluster among them."""


@generic
def localise(family, data):
    """Move the hyperparameter mu into the coordinates of :class:`Centred` data, once before any kernel runs."""
    return family._replace(mu=family.mu - data.center) if isinstance(data, Centred) else family


@generic
def log_likelihood(family, X, labels):
    """Symbolic log density of the data (n, d) given labels (n,) without gaps: the sum of the marginals of clusters.

    It is differentiable in hyperparameters, which have full shape, and in continuous data.
    """
    raise NotImplementedError


@generic
def statistics_size(family):
    """Length of a row of sufficient statistics."""
    raise NotImplementedError


@generic
def add_item(family, statistics, data, item, sign):
    """Add (``sign=1.0``) or subtract (``sign=-1.0``) one item to or from a row of statistics, in place."""
    raise NotImplementedError


@generic(agrees_with=[add_item])
def add_all(family, statistics, data, labels):
    """Add every item to the row of its label, in place. Shapes: ``statistics`` (n_rows, ...), ``labels`` (n,)."""
    for i in range(labels.shape[0]):
        if i % 64 == 0:
            check_signals()
        add_item(family, statistics[labels[i]], data, i, 1.0)


@generic
def log_marginal(family, statistics):
    """Log density of the data of a cluster with these statistics, parameters integrated out; 0 for no data."""
    raise NotImplementedError


_ROWS = (statistics_size, add_item)


# By default the cache is the row of statistics, then its log marginal, and the predictive density of x is
# p(x, data) / p(data).
@generic(derived_from=log_marginal, agrees_with=_ROWS)
def cache_size(family):
    """Length of a row of the cache."""
    return statistics_size(family) + 1


@generic(derived_from=log_marginal, reads=[cache_size], agrees_with=_ROWS)
def refresh_cache(family, statistics, cache):
    """Compute the cache row of a cluster from its statistics, in place."""
    size = statistics.shape[0]
    for k in range(size):
        cache[k] = statistics[k]
    cache[size] = log_marginal(family, statistics)


@generic(derived_from=log_marginal, reads=[cache_size, refresh_cache], agrees_with=_ROWS)
def log_predictive(family, cache, data, item):
    """Log density of one item given the items of a cluster, parameters integrated out."""
    size = cache.shape[0] - 1
    together = cache[:size].copy()
    add_item(family, together, data, item, 1.0)
    return log_marginal(family, together) - cache[size]


# What functions that work on rows of statistics or of the cache must agree with.
CACHED = (log_marginal, *_ROWS, cache_size, refresh_cache)


def segment_sum(x, labels, n_clusters):
    """Symbolic sums of the rows of ``x`` (n, ...) with equal labels (n,), shape (n_clusters, ...)."""
    zeros = pt.zeros((n_clusters, *[x.shape[axis] for axis in range(1, x.ndim)]), dtype=x.dtype)
    return zeros[labels].inc(x)


def whole_numbers(X, least=0, largest=np.inf):
    """Symbolic data (n, d) with ``least`` in place of what is no whole number from ``least`` to ``largest`` and no gap,
    so that gradients are finite, and whether there is nothing else.
    """
    is_inside = pt.ge(X, least) & (pt.lt(X, np.inf) if largest == np.inf else pt.le(X, largest))
    if X.dtype.startswith("float"):
        is_inside = (is_inside & pt.eq(X, pt.floor(X))) | pt.isnan(X)
    return pt.switch(is_inside, X, least), is_inside.all()


@generic
def take_items(data: Any, items: Any) -> Any:
    """The data of some items (m,), in the form of the prepared data of all."""
    return data._replace(values=data.values[items])
