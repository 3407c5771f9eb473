"""Values of graphs that depend on no random variable."""

import pytensor
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable

from pymc_nrm.distributions.observed import sparse_origin


def constant_value(graph):
    """Value of a graph without inputs, with shared variables as they are now.

    Parameters
    ----------
    graph : Variable
        A sparse constant in its dense form gives the sparse matrix.

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
    # One evaluation does not pay for compilation.
    return pytensor.function([], graph, mode=Mode(linker="py", optimizer="minimum_compile"))()
