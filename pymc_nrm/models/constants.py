"""Observed data and values of graphs that do not depend on random variables, in the types that kernels expect."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy
from pytensor.compile.builders import infer_shape
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs
from pytensor.scalar import Cast
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.type import RandomType


def as_observed(observed, values):
    """Return observed data in a form that PyMC leaves unchanged."""
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


def constant_value(graph):
    """Compute a graph without inputs at the present values of its shared variables."""
    data = getattr(sparse_origin(graph), "data", None)
    if data is not None:
        return data
    if isinstance(graph, SharedVariable):
        return graph.get_value()
    # A single evaluation is not worth compiling.
    return pytensor.function([], graph, mode=Mode(linker="py", optimizer="minimum_compile"))()


def with_present_shape(value):
    """Return a tensor of the present shape of a value, in its place where checks look at shapes alone. A value is
    returned as it is if it is no tensor, has a fixed shape, or a shape that does not follow from data.
    """
    if not isinstance(value, Variable) or None not in value.type.shape:
        return value
    [lengths] = infer_shape([value], [], [])
    origins = graph_inputs(lengths)
    if not all(isinstance(one, Constant | SharedVariable) and not isinstance(one.type, RandomType) for one in origins):
        return value
    return value.type.clone(shape=[int(constant_value(length)) for length in lengths])(value.name)


def kernel_values(values):
    """Return values in the types that kernels expect: floats, and contiguous arrays of float64 or int64."""
    # Copy, since constants of a graph may be read-only arrays, for which numba would compile kernels again.
    types = ["int64" if np.asarray(value).dtype.kind == "i" else "float64" for value in values]
    arrays = [np.array(value, dtype=dtype, order="C") for value, dtype in zip(values, types, strict=True)]
    return [float(array) if array.ndim == 0 else array for array in arrays]


def kernel_family(family_class, hyperparameters):
    """Return a family with the types of fields that kernels expect."""
    return family_class(*kernel_values([np.asarray(value, dtype="float64") for value in hyperparameters]))
