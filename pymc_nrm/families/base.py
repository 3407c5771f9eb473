"""What makes a conjugate family: its hyperparameters, and the functions that a sampler calls.

A family is a ``NamedTuple`` of hyperparameters, described by :func:`conjugate_family`, and registers an implementation
for each function below.  In kernels every hyperparameter has its full shape (see
:func:`broadcast_hyperparameters`) and float64 values.

Sufficient statistics of a cluster are one row of floats and are additive: the row of a union is the sum of the rows.
They are functions of the data alone, never of hyperparameters.  The cache is one row of floats computed from the
statistics and the hyperparameters, whatever makes the predictive density fast.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.raise_op import Assert
from scipy import sparse

from pymc_nrm.checks import numeric_array
from pymc_nrm.generic import describe_fields, generic, kernel
from pymc_nrm.hyperparameters import broadcast_tensor, check_values, plain_values, static_shape
from pymc_nrm.lanes import LANES
from pymc_nrm.supports import Hyperparameter


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
        Takes the class and gives it back.

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

    Called by :func:`broadcast_hyperparameters`; without an implementation the family is its own canonical form.

    Parameters
    ----------
    family : Family

    Returns
    -------
    Family
        Fields broadcast against their core dimensions; None is left only where nothing but data can tell.
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
        What the data are called in messages.

    Raises
    ------
    ValueError
        If they do not; the message names the item of the largest value and says what to do.
    """


@generic
def localise(family, data):
    """Move hyperparameters that are locations into the coordinates of the prepared data.

    Large coordinates cost digits in second moments, so that location families prepare :class:`Centred` data.  Whoever
    calls kernels applies this once beforehand to the family of full shape: kernels then read ``mu - center`` and write
    component parameters relative to the centre, which :func:`restore_parameters` undoes.

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
def restore_parameters(family, data, parameters):
    """Component parameters in the coordinates of the user, from those that :func:`draw_parameters` wrote.

    Parameters
    ----------
    family : Family
    data : NamedTuple of arrays
        From :func:`prepare_data`.
    parameters : ndarray, shape (..., parameters_size)

    Returns
    -------
    ndarray, shape (..., parameters_size)
    """
    return parameters


@generic
def parameter_shapes(family):
    """Names and shapes of the parameters of one cluster, in the order in which :func:`draw_parameters` writes them."""
    raise NotImplementedError


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
def parameters_size(family):
    """Length of a row of component parameters."""
    raise NotImplementedError


@generic
def add_item(family, statistics, data, item, sign):
    """Add (``sign=1.0``) or subtract (``sign=-1.0``) one item to or from a row of statistics, in place."""
    raise NotImplementedError


@generic
def log_marginal(family, statistics):
    """Log density of the data of a cluster with these statistics, parameters integrated out; 0 for no data."""
    raise NotImplementedError


@generic
def refresh_cache(family, statistics, cache):
    """Compute the cache row of a cluster from its statistics, in place."""
    raise NotImplementedError


@generic
def update_cache(family, statistics, cache, data, item, sign):
    """Add or subtract one item and bring the cache up to date, in place.

    ``statistics`` and ``cache`` must belong together beforehand.  Families override this where the change of a cache
    costs less than a new one.
    """
    add_item(family, statistics, data, item, sign)
    refresh_cache(family, statistics, cache)


@generic
def log_predictive(family, cache, data, item):
    """Log density of one item given the items of a cluster, parameters integrated out."""
    raise NotImplementedError


@generic(inline=True)
def log_predictive_without(family, statistics, cache, data, item):
    """Log density of an item of a cluster of several given the other items, from rows that hold it as well.

    Families override this where it costs less than a removal.  The value is nan where the family has no formula, or
    where the formula would lose digits: whoever calls must then remove the item.
    """
    return math.nan


@generic
def panel_shape(family):
    """Numbers of rows of the two arrays of a panel, from which :func:`log_predictives` weighs all clusters at once.

    A panel has one column per cluster: ``rows``, shape (n_rows, width), and ``lanes``, shape (n_blocks, n_lane_rows,
    LANES), in which ``squared_lengths`` of ``pymc_nrm.lanes`` finds the column of cluster k at ``[k // LANES, :, k %
    LANES]``.  A family without rows has no panel: its clusters are weighed one by one.
    """
    return 0, 0


@generic
def write_panel(family, cache, rows, lanes, column):
    """Write the cache row of a cluster into a column of a panel, in place.

    The rows are the transposed cache unless a family overrides this.
    """
    for i in range(rows.shape[0]):
        rows[i, column] = cache[i]


@generic
def log_predictives(family, rows, lanes, prior, data, item, width, values):
    """Write ``prior`` plus the log predictive density of an item, for the first ``width`` columns, into ``values``.

    Families override this and :func:`panel_shape` where many clusters at once cost less than one by one.

    Parameters
    ----------
    family : Family
    rows, lanes : ndarray
        The panel.
    prior : ndarray, shape (at least width,)
    data : NamedTuple of arrays
    item : int
    width : int
        A multiple of LANES.
    values : ndarray, shape (at least width,)
    """


@kernel
def add_row(row, width, values):
    """Add the first ``width`` entries of a row, a multiple of LANES, to those of the values."""
    for k in range(width // LANES * LANES):
        values[k] += row[k]


@generic
def draw_parameters(family, statistics, rng, parameters):
    """Draw the parameters of a cluster given its statistics and write them into a row, in place."""
    raise NotImplementedError


@generic
def draw_item(family, parameters, rng, item, values):
    """Draw the data of one item given the parameters of its cluster and write them into ``values``, shape (d,)."""
    raise NotImplementedError


def broadcast_hyperparameters(family: Any, n: Any, d: Any) -> Any:
    """Check hyperparameters and give them their full shapes.

    Parameters
    ----------
    family : Family
        Its fields are what a user wrote: numbers, arrays of any library or tensors.
    n, d : int or scalar tensor
        Numbers of items and of features.

    Returns
    -------
    Family
        Fields are tensors if any of them was one, else arrays and floats.

    Raises
    ------
    ValueError
        If a hyperparameter is None, or is no number or array of an allowed shape within its support.
    """
    family = plain_values(family)
    check_values(family, n, d)
    family = canonical(family)
    for name, value in family._asdict().items():
        if value is None:
            raise ValueError(f"{type(family).__name__} needs {name}; got None")
    symbolic = any(isinstance(value, Variable) for value in (*family, n, d))
    fields = []
    for name, value in family._asdict().items():
        core = family.hyperparameters[name].core
        array = value if isinstance(value, Variable) else np.asarray(value, dtype="float64")
        tensor = pt.as_tensor(array) if symbolic else array
        title = f"{name} of {type(family).__name__}"
        fields.append(_broadcast(title, tensor, core, {"n": n, "d": d}, symbolic))
    return type(family)(*fields)


def _broadcast(title, tensor, core, sizes, symbolic):
    # An axis without a given size, as the levels of a category, keeps the size of the hyperparameter itself.
    offset = len(core) - tensor.ndim
    shape = [sizes[axis] if axis in sizes else tensor.shape[i - offset] for i, axis in enumerate(core)]
    if symbolic:
        tensor = tensor.astype("float64")
        for i, length in enumerate(static_shape(tensor)):
            size = sizes.get(core[i + offset])
            if size is not None and (length is None or isinstance(size, Variable)):
                counted = "items" if core[i + offset] == "n" else "features"
                words = f"{title} must have one entry for each of the {counted}"
                tensor = Assert(words)(tensor, pt.eq(tensor.shape[i], size))
        return broadcast_tensor(tensor, shape) if core else tensor
    # A copy: views made by broadcasting are read-only, for which kernels would be compiled again.
    return np.array(np.broadcast_to(tensor, shape), order="C") if core else float(tensor)


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


# Log densities of larger counts are differences of terms whose sixth decimal doubles do not hold.
LARGEST_COUNT = 1e9


def check_matrix(family, X, *, integer=False, lower=None, upper=None):
    """Check the shape and the values of dense data.

    Parameters
    ----------
    family : Family or its class
    X : array_like, shape (n, d)
    integer : bool
        Whether values must be whole numbers.
    lower, upper : float, optional
        Least and largest value allowed.

    Returns
    -------
    ndarray, shape (n, d), float64

    Raises
    ------
    ValueError
        If it is no matrix with columns, or a value is infinite, missing where not allowed, not whole, or out of bounds.
    """
    title = f"data of {(family if isinstance(family, type) else type(family)).__name__}"
    if sparse.issparse(X):
        raise ValueError(f"{title} must be dense; got a sparse {type(X).__name__}")
    values = np.ascontiguousarray(numeric_array(title, X), dtype="float64")
    if values.ndim != 2:
        raise ValueError(f"{title} must have shape (n, d); got shape {values.shape}")
    if values.shape[1] == 0:
        raise ValueError(f"{title} must have at least one column; got shape {values.shape}")
    # One look at finite data, which are the rule.
    missing = ~np.isfinite(values)
    if missing.any():
        _refuse(title, "must be finite, without infinite values", values, np.isinf(values))
        if not family.missing_allowed:
            _refuse(title, "must have no NaN, since this family allows no missing values", values, missing)
    if integer:
        _refuse(title, "must be whole numbers", values, ~missing & (values != np.floor(values)))
    if lower is not None:
        _refuse(title, f"must be at least {lower}", values, values < lower)
    if upper is not None:
        words = f"must be at most {upper:.0e}, whose log densities doubles resolve (NormalGamma takes larger ones)"
        _refuse(title, words, values, values > upper)
    return values


def _refuse(title, words, values, bad):
    """Raise an error that names the first bad value."""
    if bad.any():
        row, column = (int(k) for k in np.argwhere(bad)[0])
        raise ValueError(f"{title} {words}; got {values[row, column]} in row {row}, column {column}")


@kernel
def draw_dirichlet(rng, concentration, probabilities):
    """Draw from a Dirichlet distribution and write it into ``probabilities``; entries of concentration 0 get 0.

    A gamma variate of small shape a underflows; its logarithm is that of a variate of shape a + 1 plus log(U)/a.
    """
    largest = -np.inf
    for i in range(concentration.shape[0]):
        a = concentration[i]
        probabilities[i] = -np.inf
        if a > 0.0:
            probabilities[i] = np.log(rng.standard_gamma(a + 1.0)) + np.log1p(-rng.random()) / a
            largest = max(largest, probabilities[i])
    total = 0.0
    for i in range(concentration.shape[0]):
        probabilities[i] = np.exp(probabilities[i] - largest)
        total += probabilities[i]
    for i in range(concentration.shape[0]):
        probabilities[i] /= total
