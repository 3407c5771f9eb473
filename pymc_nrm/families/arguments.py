"""Checks of what users write: hyperparameters, which get their full shapes, and dense data."""

import math
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.random.type import RandomType

from pymc_nrm.common.checks import check_values, numeric_array, plain_values, static_shape
from pymc_nrm.common.named_dims import variable_behind
from pymc_nrm.families.base import canonical
from pymc_nrm_predictor.checks import refuse


def broadcast_hyperparameters(family: Any, n: Any, d: Any) -> Any:
    """Check hyperparameters and give them their full shapes.

    Parameters
    ----------
    family : Family
        Its fields are as a user wrote them: numbers, arrays of any library or tensors.
    n, d : int or scalar tensor
        Numbers of items and of features.

    Returns
    -------
    Family
        Fields are tensors if any of them was one, otherwise arrays and floats.

    Raises
    ------
    ValueError
        If a hyperparameter is None, or is not a number or an array of an allowed shape within its support.
    """
    family = plain_values(family)
    check_values(family, n, d)
    passed, family = family, canonical(family)
    # Tensors that must be constant have their values now.
    settled = {name: value for name, value in family._asdict().items() if not isinstance(value, Variable)}
    settled = {name: value for name, value in settled.items() if isinstance(getattr(passed, name), Variable)}
    if settled:
        check_values(passed._replace(**settled), n, d)
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
    lengths = [tensor.shape[i] if length is None else length for i, length in enumerate(static_shape(tensor))]
    shape = [sizes[axis] if axis in sizes else lengths[i - offset] for i, axis in enumerate(core)]
    if symbolic:
        tensor = tensor.astype("float64")
        for i, length in enumerate(static_shape(tensor)):
            size = sizes.get(core[i + offset])
            if size is not None and (length is None or isinstance(size, Variable)):
                counted = "items" if core[i + offset] == "n" else "features"
                number = "" if isinstance(size, Variable) else f"{size} "
                words = f"{title} must have one entry for each of the {number}{counted}; {tensor} has another length"
                tensor = CheckAndRaise(ValueError, words)(tensor, pt.eq(tensor.shape[i], size))
        return _broadcast_tensor(tensor, shape) if core else tensor
    # A copy: views made by broadcasting are read-only, for which kernels would be compiled again.
    return np.array(np.broadcast_to(tensor, shape), order="C") if core else float(tensor)


def _broadcast_tensor(tensor, shape):
    """A tensor of full shape: a constant or the tensor itself if possible, since PyMC prints these."""
    lengths = [int(length.data) if isinstance(length, Constant) else length for length in shape]
    if not any(isinstance(length, Variable) for length in lengths):
        if isinstance(tensor, Constant):
            return pt.constant(np.broadcast_to(tensor.data, lengths))
        if static_shape(tensor) == tuple(lengths):
            return tensor
        if set(lengths) == {1}:
            return tensor.dimshuffle(*["x"] * (len(lengths) - tensor.ndim), *range(tensor.ndim))
    return pt.broadcast_to(tensor, shape)


def sampled(X):
    """Data from which a prior is made: rows in chunks are represented by those that are sampled."""
    return getattr(X, "sampled_values", X)


def with_extremes(X, values):
    """Values of data, from which numbers of levels are read: of rows in chunks, also the least and the largest."""
    extremes = getattr(X, "least_and_largest", None)
    return values if extremes is None else np.vstack([values, extremes])


def numeric_data(name, observed):
    """Return the values of observed data: a CSR matrix if they are sparse, else an array in which NaN means missing."""
    if isinstance(observed, Variable):
        if isinstance(observed, Constant):
            observed = observed.data
        elif isinstance(observed, SharedVariable):
            observed = observed.get_value()
        elif variable_behind(observed) is not observed and all(map(is_data, graph_inputs([observed]))):
            observed = pytensor.function([], observed, mode=Mode(linker="py", optimizer="minimum_compile"))()
        else:
            raise TypeError(
                f"{name} must be data, pm.Data or a constant; got the symbolic tensor {variable_behind(observed)}"
            )
    if scipy.sparse.issparse(observed):
        numeric_array(name, observed.data)
        return scipy.sparse.csr_matrix(observed)
    return numeric_array(name, observed)


def is_data(variable):
    """Whether an input of a graph is a constant or data, which has a value at once."""
    return isinstance(variable, Constant | SharedVariable) and not isinstance(variable.type, RandomType)


# Log densities of larger counts are differences of terms whose fifth decimal doubles do not hold.
LARGEST_COUNT = 1e9
# The log marginal of a cluster is a difference of terms near s log s, for a sum s of counts.
_LARGEST_TOTAL = 1e12
# Sums below this lose less than 1e-9 nats.
_SMALL_SUM = 1e6


def check_total(family, totals):
    """Check the sums of counts that a cluster may have, such as sums of columns (d,)."""
    if np.max(totals, initial=0.0) > _LARGEST_TOTAL:
        raise ValueError(
            f"data of {type(family).__name__} must have a sum of at most {_LARGEST_TOTAL:.0e}, at which log densities "
            f"of clusters are right within 0.01 nats; got {np.max(totals):.3g}. Give the counts in larger units, as "
            "whole thousands, or use NormalGamma"
        )


def on_grid(terms):
    """Terms (n,) of log densities, one for each item, rounded so that doubles hold all of their sums.

    Rounding adds a constant to the log density of all partitions; rounded sums would differ between partitions.
    """
    total = np.abs(terms).sum()
    if total <= _SMALL_SUM:
        return terms
    unit = 2.0 ** (math.frexp(total)[1] - 52)
    return np.round(terms / unit) * unit


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
        If it is not a matrix with columns, or a value is infinite, missing where not allowed, not whole, or out of
        bounds.
    """
    title = f"data of {(family if isinstance(family, type) else type(family)).__name__}"
    if scipy.sparse.issparse(X):
        raise ValueError(f"{title} must be dense; got a sparse {type(X).__name__}")
    values = np.ascontiguousarray(numeric_array(title, X), dtype="float64")
    if values.ndim != 2:
        raise ValueError(f"{title} must have shape (n, d); got shape {values.shape}")
    if values.shape[1] == 0:
        raise ValueError(f"{title} must have at least one column; got shape {values.shape}")
    # Data are usually finite, so one pass is enough.
    missing = ~np.isfinite(values)
    if missing.any():
        refuse(title, "must be finite, without infinite values", values, np.isinf(values))
        if not family.missing_allowed:
            refuse(title, "must have no NaN, since this family allows no missing values", values, missing)
    if integer:
        refuse(title, "must be whole numbers", values, ~missing & (values != np.floor(values)))
    if lower is not None:
        refuse(title, f"must be at least {lower}", values, values < lower)
    if upper is not None:
        words = f"must be at most {upper:.0e}, whose log densities doubles resolve (NormalGamma takes larger ones)"
        refuse(title, words, values, values > upper)
    return values
