"""Observed data of a mixture, in forms that PyMC leaves unchanged."""

import numpy as np
import pytensor.tensor as pt
import scipy
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.scalar import Cast
from pytensor.tensor.elemwise import Elemwise


def as_observed(observed, values):
    """Return observed data in the form to register with PyMC."""
    if isinstance(observed, SharedVariable):
        return observed
    if scipy.sparse.issparse(values):
        from pytensor.sparse import as_sparse_variable, dense_from_sparse  # imports scipy.sparse

        # Log-probabilities and samplers read the sparse constant; PyMC computes its dense form only to store it.
        return dense_from_sparse(as_sparse_variable(values.astype("float64")))
    # PyMC would mask missing values and impute them, and cut off whole numbers at 32 bits.
    return pt.constant(np.asarray(values).astype("float64"))


def sparse_origin(value):
    """Return the sparse constant behind an observed value, or the value itself if there is none."""
    from pytensor.sparse import DenseFromSparse

    origin = value
    while origin.owner is not None and _is_cast(origin.owner.op):
        [origin] = origin.owner.inputs
    if origin.owner is not None and isinstance(origin.owner.op, DenseFromSparse):
        [origin] = origin.owner.inputs
        return origin
    return value


def _is_cast(op):
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, Cast)
