"""A mark on the default start of a partition, which tells it from a start that the user chose.

The values of a point are plain arrays, so a start with one cluster looks the same whoever chose it.  Metadata of the
dtype therefore mark the default start.  NumPy keeps them when it copies the array or its dtype, and PyMC passes them on
to the processes of chains.  Everything else sees an array of 64-bit integers.
"""

import numpy as np
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

_DEFAULT = np.dtype("int64", metadata={"pymc_nrm": "default start"})


class DefaultStart(Op):
    """Copy labels, and mark the copy as a default start."""

    __props__ = ()

    def make_node(self, labels):
        return Apply(self, [labels], [labels.type()])

    def perform(self, node, inputs, output_storage):
        marked = np.empty(inputs[0].shape, dtype=_DEFAULT)
        marked[...] = inputs[0]
        output_storage[0][0] = marked

    def do_constant_folding(self, fgraph, node):
        # PyTensor merges equal constants, and the user may give the same labels.
        return False


def is_default_start(labels):
    """Return whether labels are the default start of a partition."""
    metadata = getattr(getattr(labels, "dtype", None), "metadata", None)
    return metadata is not None and metadata == _DEFAULT.metadata
