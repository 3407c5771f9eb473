"""Partitions of rows in chunks: the value holds the clusters, and labels stay with the rows.

The value of the partition is the cluster sizes, and the value of each mixture over it the sums of cluster statistics:
all that its distribution and hyperparameters need.  Only the step that samples them knows the cluster of each row.
"""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.marks import ROWS
from pymc_nrm.measures.base import symbolic_log_eppf
from pymc_nrm.partitions.kind import Kind, MarkedStart
from pymc_nrm.partitions.labels import canonical_labels, smallest_type

# Statistics of the step that hold a draw: sizes (n_clusters,) and sums (n_clusters, size) of clusters, in the order of
# the labels of the followed rows, and these labels.
CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS = "cluster_counts", "cluster_sums", "followed_labels"

NO_DRAWS = (
    "has no forward draws, since its labels stay with the rows; draw from the same model with an ordinary Partition of "
    "a small number of items"
)


class Measured(NamedTuple):
    """Data of a mixture from columns of all rows: how blocks prepare them, and the sums (size,) over all rows in units
    of ``quanta``.
    """

    preparation: Any
    quanta: Any
    sums: Any


class Rows:
    """Base of rows in chunks: the attributes that models read.

    ``n`` is the number of rows, ``columns`` the names of the columns, ``key`` a string that other rows do not have,
    ``sampled_values`` an array of random rows, ``least_and_largest`` the ends of each column in all rows,
    ``max_clusters`` the largest number of clusters of a draw, and ``levels`` the levels of columns that were no
    numbers, of the rows with all their columns.
    """

    n: int
    max_clusters: int
    columns: list[str]
    levels: dict[str, tuple[Any, ...]]
    key: str
    sampled_values: Any
    least_and_largest: Any

    @property
    def chunks(self):
        """The rows with all their columns."""
        raise NotImplementedError

    def measured(self, family):
        """Return :class:`Measured` for a family, whose hyperparameters only need the right shapes."""
        raise NotImplementedError


class GivenStart(MarkedStart):
    """Copy the value of a partition, with labels of all rows in the metadata of its type."""

    def __init__(self, labels):
        self.marked = np.dtype("int64", metadata={"labels of rows": labels})


def given_labels(value):
    """The initial labels of all rows of a chain (n,), from the value at a point, or None if there are none."""
    return (value.dtype.metadata or {}).get("labels of rows")


class Chunked(Kind):
    """A partition of rows in chunks; its value is the sizes of the clusters, in any order, and then zeros.

    The length of the value is fixed, since PyMC fixes the shapes of values.
    """

    description, sampled_by = "of rows in chunks", "of rows in chunks, which ChunkedSampler samples"
    value_core = "(k)"
    only_mixtures = "partition {name!r} of rows in chunks, whose labels are not in the model: use a Mixture"
    argument = "chunks"
    no_draws = f"a partition of rows in chunks {NO_DRAWS}"

    def __init__(self, rows, title):
        if not isinstance(rows, Rows) or rows.chunks is not rows:
            raise TypeError(f"{title} must be Chunks(X); got {rows!r}")
        self.rows, self.n_items, self.max_number = rows, rows.n, min(rows.n, rows.max_clusters)
        super().__init__(rows.key)

    def shape(self, n):
        return (self.max_number,)

    def read(self, point):
        return np.array(point[self.name])

    def counts(self, sizes):
        return sizes[sizes > 0]

    def default_start(self, zeros, priors):
        return pt.constant(self._one_cluster())

    def _one_cluster(self):
        start = np.zeros(self.max_number, dtype=np.int64)
        start[0] = self.n_items
        return start

    def renamed(self, labels, n, argument):
        if argument.startswith("observed of"):
            raise ValueError(f"{argument} must be None with chunks, whose labels are not in the model")
        labels = canonical_labels(labels, argument)
        if labels.shape != (self.n_items,):
            raise ValueError(f"{argument} must hold one label for each of {self.n_items} rows; got {len(labels)}")
        n_clusters = int(labels.max()) + 1
        if n_clusters > self.max_number:
            raise ValueError(
                f"{argument} must have at most max_clusters={self.max_number} clusters, the limit of its Chunks; got "
                f"{n_clusters}"
            )
        return GivenStart(labels.astype(smallest_type(n_clusters)))(pt.constant(self._one_cluster()))

    def log_density(self, priors, counts, n):
        sizes = counts[: pt.gt(counts, 0).sum()]
        valid = pt.and_(pt.all(sizes >= 1), pt.eq(counts.sum(), n))
        return pt.switch(valid, symbolic_log_eppf(priors[0], pt.maximum(sizes, 1)), -np.inf)

    def deterministics(self, counts):
        return {"n_clusters": pt.gt(counts, 0).sum()}

    def marks(self):
        return super().marks() | {ROWS: self.n_items}
