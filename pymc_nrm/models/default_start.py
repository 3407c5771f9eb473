"""The mark of a default initial point, in the metadata of the dtype of labels."""

import numpy as np

from pymc_nrm.partitions.kind import MarkedStart

_DEFAULT = np.dtype("int64", metadata={"pymc_nrm": "default start"})


class DefaultStart(MarkedStart):
    """Copy labels, and mark the copy as a default initial point."""

    __props__ = ()
    marked = _DEFAULT


def is_default_start(labels):
    """Return whether labels are the default initial point of a partition."""
    metadata = getattr(getattr(labels, "dtype", None), "metadata", None)
    return metadata is not None and metadata == _DEFAULT.metadata
