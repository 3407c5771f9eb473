"""Values of graphs that do not depend on random variables, and values in the types that kernels expect."""

import numpy as np
import pytensor
from pytensor.compile.builders import infer_shape
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.random.type import RandomType

from pymc_nrm.models.observed import sparse_origin


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
