"""The mark of a default start, in the metadata of the dtype of labels."""

import numpy as np

from pymc_nrm.partitions.kind import MarkedStart

_DEFAULT = np.dtype("int64", metadata={"pymc_nrm": "default start"})


class DefaultStart(MarkedStart):
    """Copy labels, and mark the copy as a default start."""

    __props__ = ()
    marked = _DEFAULT


def is_default_start(labels):
    """Return whether labels are the default start of a partition."""
    metadata = getattr(getattr(labels, "dtype", None), "metadata", None)
    return metadata is not None and metadata == _DEFAULT.metadata
