"""Values of graphs that do not depend on random variables."""

import pytensor
from pytensor.compile.builders import infer_shape
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.random.type import RandomType

from pymc_nrm.distributions.observed import sparse_origin


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
