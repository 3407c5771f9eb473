"""Values of graphs that do not depend on random variables."""

import pytensor
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable

from pymc_nrm.distributions.observed import sparse_origin


def constant_value(graph):
    """Compute a graph without inputs at the present values of its shared variables.

    Parameters
    ----------
    graph : Variable
        If it is the dense form of a sparse constant, the value is the sparse matrix.

    Returns
    -------
    ndarray, number or sparse matrix

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> int(constant_value(pt.constant(2) + 1))
    3
    """
    data = getattr(sparse_origin(graph), "data", None)
    if data is not None:
        return data
    if isinstance(graph, SharedVariable):
        return graph.get_value()
    # A single evaluation is not worth compiling.
    return pytensor.function([], graph, mode=Mode(linker="py", optimizer="minimum_compile"))()
