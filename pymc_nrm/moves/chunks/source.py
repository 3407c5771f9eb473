"""Rows of arrays and tables in blocks, with all that models and chains need to know of them before they start."""

import functools
import uuid
from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count, numeric_array
from pymc_nrm.common.processors import usable_cores
from pymc_nrm.families.base import Centred, prepare_data
from pymc_nrm.families.moments import center_near, grid_of
from pymc_nrm.moves.chunks.blocks import Block, Preparation, no_changes
from pymc_nrm.moves.chunks.engine import Engine
from pymc_nrm.moves.chunks.exact_sums import quanta_of
from pymc_nrm.moves.chunks.passes import gather_rows, largest_statistics, sum_clusters
from pymc_nrm.partitions.chunked import Measured, Rows

__all__ = ["Chunks"]

# A block has about this many numbers: large beside the work of a pass on a block, small beside the caches of a thread.
_NUMBERS_PER_BLOCK = 2**18
# Prepared rows are kept in memory if they take at most about this many bytes.
_MOST_BYTES_KEPT = 2**31


class Columns(Rows):
    """Some columns of rows in chunks."""

    def __init__(self, chunks, places):
        self._chunks, self._places = chunks, places
        self.n, self.columns = chunks.n, [chunks.columns[place] for place in places]
        self.key = f"{chunks.key} {places}"

    @property
    def chunks(self):
        return self._chunks

    @property
    def sampled_values(self):
        return self.chunks.sample_values[:, self._places]

    def measured(self, family):
        return self.chunks.measured_columns(family, self._places)


class Chunks(Columns):
    """The rows of an array or a table in blocks, for one chain over more rows than ordinary steps can sweep.

    Give it to :class:`Partition` as ``rows=`` and to :class:`Mixture` as ``observed=``.  Blocks are read when they are
    needed.  The draws do not depend on how many there are, nor on the number of threads.

    Parameters
    ----------
    X : array_like or DataFrame, shape (n, d) or (n,)
        An array, a memory map or an array of Zarr or of another library that gives NumPy arrays for slices of rows; or
        a DataFrame with columns of numbers.  Missing values are NaN, where the family allows them.
    block_rows : int, optional
        Rows of a block; by default about 260,000 numbers.
    n_followed : int
        Number of random rows whose labels results hold, all rows if there are fewer.
    n_sampled : int
        Number of random rows that stay in memory, from which starts, hyperpriors and proposals are made.
    max_clusters : int
        Number of clusters that a draw may have; more of them end a run with an error.
    n_threads : int, optional
        Number of threads; by default all processors that the process may use.
    seed : int
        Seed of the choice of followed and sampled rows.

    Attributes
    ----------
    n, d : int
        Numbers of rows and columns.
    columns : list of str
        Their names, those of the table or numbers.
    followed : ndarray of int, shape (n_followed,)
        Row numbers of the followed rows, in increasing order.

    Raises
    ------
    ValueError
        If X has no rows or columns, a value is infinite or no number, or a number is not whole and positive.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.random.default_rng(1).normal(size=(1000, 2))
    >>> rows = nrm.Chunks(X)
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), rows=rows)
    ...     x = nrm.Mixture("x", z, nrm.NormalGamma.from_data(rows), observed=rows)
    """

    def __init__(
        self,
        X: Any,
        *,
        block_rows: int | None = None,
        n_followed: int = 10_000,
        n_sampled: int = 20_000,
        max_clusters: int = 1000,
        n_threads: int | None = None,
        seed: int = 0,
    ) -> None:
        check_count("block_rows", block_rows, 1, optional=True)
        check_count("n_followed", n_followed, 1)
        check_count("n_sampled", n_sampled, 2)
        check_count("max_clusters", max_clusters, 1)
        check_count("n_threads", n_threads, 1, optional=True)
        check_count("seed", seed, 0)
        shape, columns, read = _reader(X)
        self.d = 1 if len(shape) == 1 else shape[1]
        columns = [str(place) for place in range(self.d)] if columns is None else columns
        self.n, self.columns, self.key, self.max_clusters = shape[0], columns, uuid.uuid4().hex, max_clusters
        self._chunks, self._places = self, list(range(self.d))
        size = max(1, _NUMBERS_PER_BLOCK // self.d) if block_rows is None else block_rows
        kept = 8 * self.n * self.d <= _MOST_BYTES_KEPT
        self.rows_of_block, firsts = size, range(0, self.n, size)
        blocks = [
            Block(first, min(size, self.n - first), functools.partial(read, first, size), kept) for first in firsts
        ]
        self.engine = Engine(blocks, usable_cores() if n_threads is None else n_threads)
        self._low, self._high = self._ranges()
        rng = np.random.default_rng(seed)
        n_sampled = min(self.n, max(n_sampled, n_followed))
        chosen = rng.choice(self.n, n_sampled, replace=False)
        # The first of them are followed, so that their labels come with those of the sample.
        self.sample, self.followed = np.sort(chosen), np.sort(chosen[:n_followed])
        self.sample_values = self.engine.run(gather_rows, (no_changes(1), self.sample, self.d))[1]

    def __repr__(self):
        return f"Chunks of {self.n:,} rows and {self.d} columns in {self.n_blocks} blocks"

    def __getitem__(self, columns):
        """Return some of the columns, by name: those of one mixture, where several share a partition."""
        names = [columns] if isinstance(columns, str) else list(columns)
        unknown = [name for name in names if name not in self.columns]
        if unknown or not names:
            raise KeyError(f"columns must be some of {self.columns}; got {columns!r}")
        return Columns(self, [self.columns.index(name) for name in names])

    @property
    def n_blocks(self):
        """Number of blocks."""
        return len(self.engine.blocks)

    def values(self):
        """Iterate over the blocks: the number of their first row, and the values (m, d) of their rows."""
        return ((block.first, block.read()) for block in self.engine.blocks)

    def _ranges(self):
        """Least and largest value of each column, of which none may be infinite."""
        low, high = np.full(self.d, np.inf), np.full(self.d, -np.inf)
        for block in self.engine.blocks:
            values = block.read()
            if values.shape != (block.n, self.d):
                raise ValueError(
                    f"X must have {self.d} columns in all rows; rows {block.first} to {block.first + block.n - 1} have "
                    f"shape {values.shape}"
                )
            infinite = np.isinf(values)
            if infinite.any():
                row, column = (int(k) for k in np.argwhere(infinite)[0])
                raise ValueError(
                    f"X must be finite; got {values[row, column]} in row {block.first + row}, column "
                    f"{self.columns[column]!r}"
                )
            low, high = np.fmin(low, np.fmin.reduce(values)), np.fmax(high, np.fmax.reduce(values))
        empty = ~np.isfinite(low)
        if empty.any():
            raise ValueError(f"column {self.columns[int(empty.argmax())]!r} of X has no values: all are NaN")
        return low, high

    def measured_columns(self, family, places):
        """Return :class:`Measured` for some columns, by two passes over all rows."""
        values, places = self.sample_values[:, places], np.array(places)
        center = grid = None
        if isinstance(prepare_data(family, values), Centred):
            low, high = self._low[places], self._high[places]
            center = center_near(np.nanmedian(values, axis=0), np.maximum(np.abs(low), np.abs(high)))
            grid = grid_of(self.n, np.maximum(np.abs(low - center), np.abs(high - center)))
        preparation = Preparation(family, center, grid, places)
        quanta = quanta_of(self.engine.largest(largest_statistics, preparation), self.n)
        _, sums = self.engine.run(sum_clusters, (no_changes(1), preparation, quanta, 1))
        return Measured(preparation, quanta, sums[0])


def _reader(X):
    """Shape, names of columns if there are any, and a function that reads rows."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        for name, kind in zip(X.columns, X.dtypes, strict=True):
            numeric_array(f"column {name!r} of X", X[name].iloc[:1] if kind.kind in "biuf" else X[name])
        shape, slice_of = X.shape, lambda first, last: X.iloc[first:last]
    else:
        names = None
        if not hasattr(X, "shape"):
            X = numeric_array("X", X)
        shape, slice_of = tuple(X.shape), lambda first, last: X[first:last]
    if len(shape) not in (1, 2) or 0 in shape:
        raise ValueError(f"X must have at least one row and one column, shape (n, d) or (n,); got shape {shape}")

    def read(first, size):
        last = min(first + size, shape[0])
        values = numeric_array(f"rows {first} to {last - 1} of X", slice_of(first, last))
        return np.ascontiguousarray(values.reshape(len(values), -1), dtype="float64")

    return shape, names, read
