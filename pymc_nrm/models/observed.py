"""Observed data of a mixture, in forms that PyMC leaves unchanged."""

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.scalar import Cast
from pytensor.sparse import DenseFromSparse, as_sparse_variable, dense_from_sparse
from pytensor.tensor.elemwise import Elemwise
from scipy import sparse


def as_observed(observed, values):
    """Return observed data in the form to register with PyMC.

    PyMC would mask missing values and impute them; a constant tensor keeps them as NaN, and the family leaves them out.
    A sparse matrix becomes the dense form of a sparse constant: log-probabilities and samplers read the constant, and
    PyMC computes the dense form only to store observed data.  Whole numbers become floats, which PyMC casts to the type
    of the variable, because it would cut off integers at 32 bits.
    """
    if isinstance(observed, SharedVariable):
        return observed
    if sparse.issparse(values):
        return dense_from_sparse(as_sparse_variable(values.astype("float64")))
    return pt.constant(np.asarray(values).astype("float64"))


def sparse_origin(value):
    """Return the sparse constant behind an observed value, or the value itself if there is none."""
    origin = value
    while origin.owner is not None and _is_cast(origin.owner.op):
        [origin] = origin.owner.inputs
    if origin.owner is not None and isinstance(origin.owner.op, DenseFromSparse):
        [origin] = origin.owner.inputs
        return origin
    return value


def _is_cast(op):
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, Cast)
