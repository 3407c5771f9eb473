"""Whether the start of a chain was chosen by the user or is the default of a partition.

Points are plain arrays, so that a start with one cluster looks the same whoever chose it.  The default start is marked
by metadata of its dtype, which NumPy keeps in copies of an array and of its dtype, and PyMC hands over to the processes
of chains; to everything else the array is one of 64-bit integers.
"""

import numpy as np
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

_DEFAULT = np.dtype("int64", metadata={"pymc_nrm": "default start"})


class DefaultStart(Op):
    """Copy of labels that are known, afterwards, to be those of a default start."""

    __props__ = ()

    def make_node(self, labels):
        return Apply(self, [labels], [labels.type()])

    def perform(self, node, inputs, output_storage):
        marked = np.empty(inputs[0].shape, dtype=_DEFAULT)
        marked[...] = inputs[0]
        output_storage[0][0] = marked

    def do_constant_folding(self, fgraph, node):
        # Equal constants are merged, and labels of the user may be equal to these.
        return False


def is_default_start(labels):
    """Whether labels are the default start of a partition.

    Parameters
    ----------
    labels : ndarray of int64
        Labels of a point.

    Returns
    -------
    bool

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    >>> is_default_start(model.initial_point()["z"]), is_default_start(np.zeros(3, dtype=np.int64))
    (True, False)
    """
    metadata = getattr(getattr(labels, "dtype", None), "metadata", None)
    return metadata is not None and metadata == _DEFAULT.metadata
