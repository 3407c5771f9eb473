"""How the rows of arrays, tables and Dask collections are read, block by block."""

import functools
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.checks import numeric_array

# A block has about this many numbers: many beside the fixed work of a pass, few beside the caches of a thread.
_NUMBERS_PER_BLOCK = 2**18


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
            "X must be a Dask array or DataFrame, a memory map or an array of Zarr with a client, whose workers read "
            f"it; got {type(X).__name__}, which is in the memory of this process"
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


class _Rows:
    """Rows of what gives them for slices."""

    def __init__(self, rows):
        self._rows = rows

    def __getitem__(self, rows):
        return self._rows[rows]


class _MemoryMap(_Rows):
    """Rows of a memory map, which another process opens anew."""

    def __reduce__(self):
        one = self._rows
        order = "C" if one.flags.c_contiguous else "F"
        return _open, (str(one.filename), one.dtype, one.offset, one.shape, order)


def _open(path, dtype, offset, shape, order):
    return _MemoryMap(np.memmap(path, dtype, "r", offset, shape, order))


def _read(slices, first, n):
    return _values(slices[first : first + n], f"rows {first} to {first + n - 1} of X")


def _values(rows, title):
    values = numeric_array(title, rows)
    return np.ascontiguousarray(values.reshape(len(values), -1), dtype="float64")


def _of_partitions(X, client):
    """Source of a Dask array or DataFrame; a cluster keeps what it has read."""
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if names is None:
        if X.ndim not in (1, 2) or 0 in X.shape[1:]:
            raise ValueError(f"X must have at least one column, shape (n, d) or (n,); got shape {X.shape}")
        names = [str(place) for place in range(1 if X.ndim == 1 else X.shape[1])]
        X = X.rechunk({1: -1}) if X.ndim == 2 else X
    partitions = list(np.ravel(X.to_delayed()))
    titles = [f"partition {k} of X" for k in range(len(partitions))]
    if client is None:
        reads = [functools.partial(_computed, *each) for each in zip(partitions, titles, strict=True)]
        lengths = [len(read()) for read in reads]
    else:
        futures = client.compute(partitions)
        reads = [client.submit(_values, *each) for each in zip(futures, titles, strict=True)]
        lengths = client.gather([client.submit(len, read) for read in reads])
    kept = [k for k, length in enumerate(lengths) if length]
    if not kept:
        raise ValueError("X must have at least one row; all its partitions are empty")
    return Source(names, [lengths[k] for k in kept], [reads[k] for k in kept])


def _computed(partition, title):
    return _values(partition.compute(), title)


def ranges(block, columns):
    """Least and largest value of each column of a block; a pass."""
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
    return np.fmin.reduce(values), np.fmax.reduce(values)
