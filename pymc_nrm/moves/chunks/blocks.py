"""Blocks of rows with their labels, and what every pass over a block begins with."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import Centred, prepare_data
from pymc_nrm.families.gaps import check_filled
from pymc_nrm.families.product import product_data
from pymc_nrm.kernels.generic import kernel


class Changes(NamedTuple):
    """Changes of labels that the next pass makes first: a row of cluster k and side s goes to ``target[k, s]``, and
    then the rows ``rows``, in increasing order, get the labels ``labels``.
    """

    target: Any
    rows: Any
    labels: Any


def no_changes(n_clusters, new_names=None):
    """Changes that only give clusters new names, if any."""
    names = np.arange(n_clusters) if new_names is None else new_names
    return Changes(np.stack([names, names], axis=1), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Preparation(NamedTuple):
    """A family, with hyperparameters of full shape, and the centre and grid that the data of all blocks share; None for
    families whose data are not centred.  ``places`` are its columns, or None for all.
    """

    family: Any
    center: Any = None
    grid: Any = None
    places: Any = None

    def __call__(self, values):
        """Rows (m, d) as kernels read them."""
        values = values if self.places is None else np.ascontiguousarray(values[:, self.places])
        check_filled(type(self.family), values, "rows in chunks")
        if self.center is None:
            return prepare_data(self.family, values)
        return Centred(values - self.center, self.center, self.grid)

    def is_like(self, other):
        """Whether both prepare data in the same way; hyperparameters may differ."""
        same = isinstance(other, Preparation) and all(
            one is another for one, another in zip(self[1:], other[1:], strict=True)
        )
        return type(self.family) is type(other.family) and same


class Preparations(NamedTuple):
    """The family of all mixtures of a partition, and how the data of each are prepared."""

    family: Any
    parts: Any

    def __call__(self, values):
        """Rows (m, d) as kernels read them."""
        return product_data([part(values) for part in self.parts])

    def is_like(self, other):
        """Whether both prepare data in the same way; hyperparameters may differ."""
        return self.parts is getattr(other, "parts", None)


class Block:
    """Rows ``first`` to ``first + n - 1``, their labels and sides, and where the rows of the sample are among them.

    ``read`` returns the values (n, d), float64.  ``kept`` says whether prepared data stay in memory.
    """

    def __init__(self, first, n, read, kept=True):
        self.first, self.n, self.read, self.kept = first, n, read, kept
        self.labels, self.sides = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int8)
        self._preparation, self._data = None, None

    def unread(self):
        """Return the block without what reads it, for another process."""
        return Block(self.first, self.n, None, kept=False)

    def reset(self):
        """Put all rows into one cluster."""
        self.labels.fill(0)
        self.sides.fill(0)

    def data(self, preparation):
        """The rows as kernels read them."""
        if not self.kept:
            return preparation(self.read())
        if self._preparation is None or not preparation.is_like(self._preparation):
            self._data = preparation(self.read())
        self._preparation = preparation
        return self._data

    def own(self, rows):
        """The slice of increasing row numbers that are in this block."""
        return slice(*np.searchsorted(rows, [self.first, self.first + self.n]))

    def begin(self, changes):
        """Make the changes of labels that are due."""
        make_changes(self.labels, self.sides, changes.target)
        own = self.own(changes.rows)
        self.labels[changes.rows[own] - self.first] = changes.labels[own]

    def labels_of(self, rows):
        """Labels of increasing row numbers, and 0 for those of other blocks."""
        found, own = np.zeros(len(rows), dtype=np.int64), self.own(rows)
        found[own] = self.labels[rows[own] - self.first]
        return found


@kernel(threaded=True)
def make_changes(labels, sides, target):
    """Give rows the labels of ``target`` (n_clusters, 2), and side 0."""
    for i in range(labels.shape[0]):
        labels[i] = target[labels[i], sides[i]]
        sides[i] = 0
