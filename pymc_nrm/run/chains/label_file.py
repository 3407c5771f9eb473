"""Labels of all rows in chunks in every draw, on disk."""

import os

import numpy as np

from pymc_nrm.common.checks import new_folder
from pymc_nrm.models.rvs import partitions_of
from pymc_nrm.partitions.chunked import Chunked


def check_label_path(path, in_chunks):
    """Check the argument ``labels`` of a new run; return it as text."""
    if path is None:
        return None
    if not in_chunks:
        raise ValueError(
            f"label_path must be None for a model without rows in chunks, whose draws hold them; got {path!r}"
        )
    return new_folder("label_path", path)


def label_file(model, path, n_chains, kept):
    """Open the Zarr group for the labels of all rows in chunks of a model; None without a path."""
    if path is None:
        return None
    [kind] = partitions_of(model, Chunked).values()
    return LabelFile(path, n_chains, kept.draws // kept.thin, kind.rows.n)


class LabelFile:
    """A Zarr group with ``labels`` (chain, draw, row), -1 where a draw was not made; a resumed run continues it."""

    # Rows of a chunk on disk.
    _ROWS = 2**20

    def __init__(self, path, n_chains, n_draws, n_rows):
        import zarr

        self.path, self.error = path, None
        if os.path.exists(path):
            self._labels = zarr.open_group(path, mode="r+")["labels"]
            return
        self._labels = zarr.create_group(store=path).create_array(
            "labels",
            shape=(n_chains, n_draws, n_rows),
            chunks=(1, 1, min(n_rows, self._ROWS)),
            dtype="int32",
            fill_value=-1,
            dimension_names=("chain", "draw", "row"),
        )

    def write(self, chain, draw, labels):
        """Write the labels of a draw (n,); without room for them, stop the run as Ctrl-C does, which loses no draw."""
        try:
            self._labels[chain, draw] = labels.astype(np.int32)
        except OSError as error:
            self.error = (
                f"labels of draw {draw} of chain {chain} could not be written to {self.path!r}, and the run stopped "
                f"there: {error}"
            )
            raise KeyboardInterrupt(self.error) from error
