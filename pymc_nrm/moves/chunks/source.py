"""Rows of arrays and tables in blocks, and the properties that models and chains need before they start."""

import contextlib
import errno
import functools
import hashlib
import os
import shutil
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymc_nrm.common.checks import check_count, new_folder, numeric_array
from pymc_nrm.families.base import Centred, prepare_data
from pymc_nrm.families.shared.moments import center_near, grid_of
from pymc_nrm.kernels.compilation import usable_cores
from pymc_nrm.moves.chunks.chain import (
    Block,
    Preparation,
    gather_rows,
    largest_values,
    measured_quanta,
    no_changes,
    sum_clusters,
)
from pymc_nrm.moves.chunks.coded_columns import coded_columns
from pymc_nrm.moves.chunks.engine import ClusterEngine, Engine
from pymc_nrm.partitions.chunked import Measured, Rows

# A block has about this many numbers: enough to hide the fixed work of a pass, few enough for the caches of a thread.
_NUMBERS_PER_BLOCK = 2**18
# Prepared rows are kept in memory if they take at most about this many bytes.
_MOST_BYTES_KEPT = 2**31


class Source(NamedTuple):
    """Names of the columns, numbers of rows of the blocks, and for each block a function or a future of its values."""

    columns: Any
    lengths: Any
    reads: Any


def read_source(X, client=None, block_rows=None):
    """Return the :class:`Source` of an argument ``X`` of :class:`Chunks`."""
    if hasattr(X, "to_delayed"):
        if block_rows is not None:
            raise ValueError(f"block_rows must be None for data that have partitions; got {block_rows}")
        return _of_partitions(X, client)
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        for name, kind in zip(X.columns, X.dtypes, strict=True):
            numeric_array(f"column {name!r} of X", X[name].iloc[:1] if kind.kind in "biuf" else X[name])
        slices = _Rows(X.iloc)
    else:
        names = None
        X = X if hasattr(X, "shape") else numeric_array("X", X)
        slices = _MemoryMap(X) if isinstance(X, np.memmap) and X.filename is not None else _Rows(X)
    if client is not None and (isinstance(X, np.ndarray) or names is not None) and not isinstance(slices, _MemoryMap):
        raise TypeError(
            "X must be a Dask array or DataFrame, a memory map or a Zarr array with a client, whose workers read it; "
            f"got {type(X).__name__}, which is in the memory of this process"
        )
    shape = tuple(X.shape)
    if len(shape) not in (1, 2) or 0 in shape:
        raise ValueError(f"X must have at least one row and one column, shape (n, d) or (n,); got shape {shape}")
    d = 1 if len(shape) == 1 else shape[1]
    size = max(1, _NUMBERS_PER_BLOCK // d) if block_rows is None else block_rows
    firsts = range(0, shape[0], size)
    lengths = [min(size, shape[0] - first) for first in firsts]
    reads = [functools.partial(_read, slices, *each) for each in zip(firsts, lengths, strict=True)]
    return Source([str(place) for place in range(d)] if names is None else names, lengths, reads)


def blocks_of(source, kept=True):
    """Blocks of the rows of a source."""
    firsts = np.cumsum([0, *source.lengths[:-1]]).tolist()
    return [Block(*each, kept) for each in zip(firsts, source.lengths, source.reads, strict=True)]


class _Rows:
    """Rows of an object that returns slices of rows."""

    def __init__(self, rows):
        self._rows = rows

    def __getitem__(self, rows):
        return self._rows[rows]


class _MemoryMap(_Rows):
    """Rows of a memory map, which another process opens again."""

    def __reduce__(self):
        rows = self._rows
        order = "C" if rows.flags.c_contiguous else "F"
        return _open, (str(rows.filename), rows.dtype, rows.offset, rows.shape, order)


def _open(path, dtype, offset, shape, order):
    return _MemoryMap(np.memmap(path, dtype, "r", offset, shape, order))


def _read(slices, first, n):
    return _values(slices[first : first + n], f"rows {first} to {first + n - 1} of X")


def _values(rows, title):
    values = numeric_array(title, rows)
    return np.ascontiguousarray(values[:, None] if values.ndim == 1 else values, dtype="float64")


def _of_partitions(X, client):
    """Source of a Dask array or DataFrame; a cluster keeps the data it has read."""
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if names is None:
        if X.ndim not in (1, 2) or 0 in X.shape[1:]:
            raise ValueError(f"X must have at least one column, shape (n, d) or (n,); got shape {X.shape}")
        names = [str(place) for place in range(1 if X.ndim == 1 else X.shape[1])]
        X = X.rechunk({1: -1}) if X.ndim == 2 else X
    partitions = list(np.ravel(X.to_delayed()))
    titles = [f"partition {k} of X" for k in range(len(partitions))]
    if client is None:
        reads, room = [_Partition(*each) for each in zip(partitions, titles, strict=True)], _MOST_BYTES_KEPT
        lengths = []
        for read in reads:
            length, n_bytes = read.measure(room)
            lengths.append(length)
            room -= n_bytes
    else:
        futures = client.compute(partitions)
        reads = [client.submit(_values, *each) for each in zip(futures, titles, strict=True)]
        lengths = client.gather([client.submit(len, read) for read in reads])
    kept = [k for k, length in enumerate(lengths) if length]
    if not kept:
        raise ValueError("X must have at least one row; all its partitions are empty")
    return Source(names, [lengths[k] for k in kept], [reads[k] for k in kept])


class _Partition:
    """A function that computes the values of a partition; it keeps values that were computed to count the rows."""

    def __init__(self, partition, title):
        self._partition, self._title, self._held = partition, title, None

    def measure(self, room):
        """Number of rows, and of the bytes, at most ``room``, that are kept until the values are first read."""
        values = self()
        if values.nbytes > room:
            return len(values), 0
        self._held = values
        return len(values), values.nbytes

    def __call__(self):
        values, self._held = self._held, None
        return _values(self._partition.compute(), self._title) if values is None else values


@contextlib.contextmanager
def new_copy(folder, n, d):
    """A file of all rows in a new folder, and the position of the first; an error removes the folder."""
    os.makedirs(folder)
    try:
        needed, free = 8 * n * d, shutil.disk_usage(folder).free
        if needed > free:
            raise OSError(errno.ENOSPC, f"copy needs {needed:,} bytes of disk space; {free:,} are free", folder)
        path = os.path.join(folder, "rows.npy")
        with open(path, "wb") as file:
            header = {"descr": np.dtype("float64").str, "fortran_order": False, "shape": (n, d)}
            np.lib.format.write_array_header_1_0(file, header)
            place = file.tell()
        yield path, place
    except BaseException:
        shutil.rmtree(folder)
        raise


def _write(path, place, values):
    try:
        # A memory map of a full disk would end the process.
        with open(path, "r+b") as file:
            file.seek(place)
            file.write(values.data)
    except OSError as error:
        raise OSError(error.errno, f"copy cannot be written: {error.strerror}", path) from error


def first_read(block, message):
    """Least and largest value of each column of a block, which is written to a :func:`new_copy`, if any; a pass."""
    columns, copied = message
    values, last = block.read(), block.first + block.n - 1
    if values.shape != (block.n, len(columns)):
        raise ValueError(
            f"X must have {len(columns)} columns in all rows; rows {block.first} to {last} have shape {values.shape}"
        )
    infinite = np.isinf(values)
    if infinite.any():
        row, column = (int(k) for k in np.argwhere(infinite)[0])
        raise ValueError(
            f"X must be finite; got {values[row, column]} in row {block.first + row}, column {columns[column]!r}"
        )
    if copied is not None:
        path, place = copied
        _write(path, place + block.first * values[0].nbytes, values)
    return np.fmin.reduce(values), np.fmax.reduce(values)


def all_values(block, message):
    """Values (m, d) of the rows of a block; a pass."""
    return block.read()


class Columns(Rows):
    """Columns of rows in chunks."""

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

    @property
    def least_and_largest(self):
        """The least and the largest value of each column in all rows, shape (2, d)."""
        return self.chunks.extremes[:, self._places]

    def measured(self, family):
        return self.chunks.measured_columns(family, self._places)


class Chunks(Columns):
    """The rows of an array or a table in blocks, for one chain over more rows than ordinary steps can sweep.

    Pass it to :class:`Partition` as ``chunks=`` and to :class:`Mixture` as ``observed=``.  Blocks are read when they
    are needed.  Draws do not depend on the number of blocks or threads.

    Parameters
    ----------
    X : array_like or DataFrame, shape (n, d) or (n,)
        An array, a memory map, a Zarr array, or an array of another library whose slices of rows are NumPy arrays; a
        DataFrame; or a Dask array or DataFrame of numbers, whose partitions are the blocks.  Missing values are NaN,
        where the family allows them.  Text and categories of a DataFrame are numbers of ``levels``, which
        ``CategoricalDirichlet`` takes; :func:`~pymc_nrm.mixture_model` of the Chunks reads columns of all kinds.
    block_rows : int, optional
        Rows of a block; by default a block has about 260,000 numbers.
    n_followed : int
        Number of random rows whose labels results hold; all rows if there are fewer.
    n_sampled : int
        Number of random rows that stay in memory, for initial points, hyperpriors and proposals.
    max_clusters : int
        Largest number of clusters of a draw; more clusters end a run with an error.
    n_threads : int, optional
        Number of threads of this process; by default all processors that it may use.
    client : distributed.Client, optional
        Runs all passes over the rows as tasks of a Dask cluster, which keeps the partitions of a Dask array or
        DataFrame, and otherwise reads files: X must then be a Dask object, a memory map, or a Zarr array.  Draws are
        the same as without a client.
    copy : path, optional
        A new folder for a copy of all rows, 8 n d bytes, written when they are first read and read by all passes of
        all chains: for rows that do not fit into memory and are slow to read, such as Parquet files or compressed
        arrays.  The folder remains; its file ``rows.npy`` can be the ``X`` of later runs.  Draws are the same.
    seed : int
        Seed of the choice of followed and sampled rows.

    Attributes
    ----------
    n, d : int
        Numbers of rows and columns.
    columns : list of str
        Names of the columns, from the table, or numbers.
    followed : ndarray of int, shape (n_followed,)
        Row numbers of the followed rows, in increasing order.
    levels : dict of {str : tuple}
        Levels of the columns of a DataFrame that hold text or categories; empty for dates.
    extremes : ndarray, shape (2, d)
        Least and largest value of each column.

    Raises
    ------
    ValueError
        If X has no rows or columns, a value is infinite or not a number, a count is not a positive whole number,
        ``block_rows`` is given for data that have partitions, or ``copy`` exists or is given with a client.
    OSError
        If there is too little disk space for ``copy``.
    TypeError
        If X does not have real numbers, or is in memory although there is a client.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.random.default_rng(1).normal(size=(1000, 2))
    >>> rows = nrm.Chunks(X)
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
    ...     x = nrm.Mixture("x", z, nrm.NormalGamma.from_data(rows), observed=rows)
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](1e+03, 1)
    x ~ Mixture[NormalGamma](z, <constant>, <constant>, <constant>, <constant>)
    z_n_clusters = Deterministic(f(z))
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
        client: Any = None,
        copy: str | os.PathLike[str] | None = None,
        seed: int = 0,
    ) -> None:
        check_count("block_rows", block_rows, 1, optional=True)
        check_count("n_followed", n_followed, 1)
        check_count("n_sampled", n_sampled, 2)
        check_count("max_clusters", max_clusters, 1)
        check_count("n_threads", n_threads, 1, optional=True)
        check_count("seed", seed, 0)
        if copy is not None and client is not None:
            raise ValueError(f"copy must be None with a client, whose workers keep the data they read; got {copy!r}")
        folder = None if copy is None else new_folder("copy", copy)
        # A copy has the columns of today, and shares their values.
        self._table, self.levels = X.copy(deep=False) if isinstance(X, pd.DataFrame) else None, {}
        if self._table is not None:
            X, self.levels = coded_columns(self._table)
        self.options = {"block_rows": block_rows, "n_followed": n_followed, "n_sampled": n_sampled}
        self.options |= {"max_clusters": max_clusters, "n_threads": n_threads, "seed": seed}
        source = read_source(X, client, block_rows)
        self.columns, self.d, self.max_clusters = source.columns, len(source.columns), max_clusters
        self._chunks, self._places = self, list(range(self.d))
        self.n = sum(source.lengths)
        blocks = blocks_of(source, client is None and 8 * self.n * self.d <= _MOST_BYTES_KEPT)
        n_threads = usable_cores() if n_threads is None else n_threads
        if client is None:
            self.engine = Engine(blocks, n_threads)
        else:
            self.engine = ClusterEngine(client, [block.unread() for block in blocks], source.reads, n_threads)
        with contextlib.nullcontext() if folder is None else new_copy(folder, self.n, self.d) as copied:
            self.extremes = self._read_first(copied)
        if copied is not None:
            rows = np.load(copied[0], mmap_mode="r")
            for block in blocks:
                block.read = functools.partial(_read, rows, block.first, block.n)
        rng = np.random.default_rng(seed)
        n_sampled = min(self.n, max(n_sampled, n_followed))
        chosen = rng.choice(self.n, n_sampled, replace=False)
        # The first rows of the sample are followed, so that their labels come with the labels of the sample.
        self.sample, self.followed = np.sort(chosen), np.sort(chosen[:n_followed])
        self.sample_values = self.engine.run(gather_rows, (no_changes(1), self.sample, self.d))[1]
        about = f"{self.n} {self.columns} {max_clusters} {n_followed} {seed}".encode()
        arrays = self.extremes.tobytes() + self.sample_values.tobytes()
        self.key = hashlib.sha256(about + arrays).hexdigest()

    def __repr__(self) -> str:
        return f"Chunks of {self.n:,} rows and {self.d} columns in {self.engine.n_blocks} blocks"

    def __getitem__(self, columns: str | list[str]) -> Columns:
        """Return columns by name, for one of several mixtures that share a partition."""
        names = [columns] if isinstance(columns, str) else list(columns)
        unknown = [name for name in names if name not in self.columns]
        if unknown or not names:
            raise KeyError(f"columns must be among {self.columns}; got {columns!r}")
        return Columns(self, [self.columns.index(name) for name in names])

    @property
    def followed_values(self) -> pd.DataFrame:
        """The followed rows as a DataFrame, indexed by row number."""
        values = self.sample_values[np.searchsorted(self.sample, self.followed)]
        return pd.DataFrame(values, index=self.followed, columns=self.columns)

    @property
    def has_client(self):
        """Whether workers of a cluster keep the rows."""
        return isinstance(self.engine, ClusterEngine)

    def table_of(self, columns):
        """Return columns of the table that was given, or of all rows read into memory, as a DataFrame."""
        if self._table is not None:
            names = list(map(str, self._table.columns))
            return self._table.iloc[:, [names.index(name) for name in columns]]
        values = np.concatenate(list(self.engine.each(all_values, None)))
        return pd.DataFrame(values, columns=self.columns)[list(columns)]

    def each(self, one_pass, message):
        """Iterate over the results of a function of a block and a message, block by block."""
        return self.engine.each(one_pass, message)

    def _read_first(self, copied):
        """Least and largest value of each column; none may be infinite."""
        low, high = np.full(self.d, np.inf), np.full(self.d, -np.inf)
        for block_low, block_high in self.engine.each(first_read, (self.columns, copied)):
            low, high = np.fmin(low, block_low), np.fmax(high, block_high)
        empty = ~np.isfinite(low)
        if empty.any():
            name = self.columns[int(empty.argmax())]
            raise ValueError(f"X must have a value in every column; got only NaN in column {name!r}")
        return np.stack([low, high])

    def measured_columns(self, family, places):
        """Return :class:`Measured` for columns, by two or three passes over all rows."""
        values, places = self.sample_values[:, places], np.array(places)
        center = grid = None
        prepared = prepare_data(family, values)
        if isinstance(prepared, Centred):
            extremes = self.extremes[:, places]
            center = center_near(np.nanmedian(values, axis=0), np.abs(extremes).max(axis=0))
            grid = grid_of(self.n, np.abs(extremes - center).max(axis=0))
        elif hasattr(prepared, "grid"):
            # All blocks must have one grid, whatever their own largest values are.
            each = self.engine.each(largest_values, Preparation(family, places=places))
            grid = grid_of(self.n, np.max(list(each), axis=0))
        preparation = Preparation(family, center, grid, places)
        self.engine.reset()
        quanta = measured_quanta(self.engine, preparation)
        _, sums = self.engine.run(sum_clusters, (no_changes(1), preparation, quanta, 1))
        return Measured(preparation, quanta, sums[0])
