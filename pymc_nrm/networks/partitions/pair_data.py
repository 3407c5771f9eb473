"""Data about pairs of items, or entries of a table: values without repetition, and where they are."""

import contextlib
import dataclasses
import re

import numpy as np
import scipy.sparse

# The most frequent value is not stored for each pair if at least this share of the pairs has it.
_LEAST_SHARE = 0.25


@dataclasses.dataclass(frozen=True, eq=False)
class PairData:
    """Observed pairs: entry (i, j) of a matrix has the value ``values[codes[i, j] - 1]``.

    Entries that ``codes`` does not store have the value ``values[default]``, or were not observed if ``default`` is -1;
    the code one above the number of values means not observed.  Undirected networks have both triangles.
    """

    # Float64 of shape (n_values,), in increasing order.
    values: np.ndarray
    # Whole numbers, CSR of shape (n, m) with sorted indices; networks have no entries on the diagonal.
    codes: scipy.sparse.csr_array
    default: int
    # Position of the value of each loop, -1 where it was not observed; int64 of shape (n,), or (0,) without loops.
    diagonal: np.ndarray
    directed: bool
    is_table: bool

    @property
    def shape(self):
        return self.codes.shape

    @property
    def loops(self):
        """Whether pairs of an item with itself are data."""
        return len(self.diagonal) > 0

    def dense(self, diagonal=np.nan):
        """The matrix, float64 (n, m), with NaN where a pair was not observed, and a number for loops without data."""
        known = np.append(self.values, np.nan)
        matrix = np.full(self.shape, known[self.default])
        entries = self.codes.tocoo()
        matrix[entries.row, entries.col] = known[entries.data - 1]
        if not self.is_table:
            np.fill_diagonal(matrix, known[self.diagonal] if self.loops else diagonal)
        return matrix

    def mask(self):
        """Whether each pair was observed, bool (n, m)."""
        return ~np.isnan(self.dense())

    def pairs(self):
        """Items i, j and values x of all observed pairs, each undirected pair once, with i <= j."""
        matrix = self.dense()
        keep = ~np.isnan(matrix)
        if not (self.directed or self.is_table):
            keep = np.triu(keep)
        i, j = np.nonzero(keep)
        return i, j, matrix[i, j]


def read_pairs(title, observed, directed, loops, is_table):
    """Observed data of a block model, a CSR matrix or an array (n, m) with NaN for what was not observed, as PairData.

    ``directed`` may be None, for directed unless the matrix is symmetric.
    """
    if scipy.sparse.issparse(observed):
        values, codes, default, diagonal = _of_sparse(observed, is_table)
    else:
        values, codes, default, diagonal = _of_dense(np.asarray(observed, dtype="float64"), is_table)
    if not is_table and directed is not True:
        place = _asymmetric_place(codes)
        if place is not None and directed is False:
            known = np.append(values, np.nan)
            first, second = (known[default] if code == 0 else known[code - 1] for code in place[2:])
            i, j = place[:2]
            raise ValueError(
                f"{title} must be symmetric, with NaN in both triangles alike, unless directed is True; entry [{i}, "
                f"{j}] is {first:g} and entry [{j}, {i}] is {second:g}. A + A.T has both triangles of a triangular "
                "matrix"
            )
        directed = place is not None
    if is_table or not loops:
        diagonal = np.empty(0, dtype=np.int64)
    # Values of loops alone are left out without loops.
    used = np.zeros(len(values) + 1, dtype=bool)
    used[codes.data - 1] = True
    used[diagonal] = True
    used[default] = True
    used = used[:-1]
    if not used.any():
        raise ValueError(f"{title} must have at least one observed pair; got shape {codes.shape} without any")
    position = np.append(np.cumsum(used) - 1, used.sum())
    codes.data = position[codes.data - 1] + 1
    default = int(position[default]) if default >= 0 else -1
    diagonal = np.where(diagonal >= 0, position[diagonal], -1)
    return PairData(values[used], codes, default, diagonal, bool(directed), is_table)


def _of_dense(matrix, is_table):
    values, codes = np.unique(matrix, return_inverse=True)
    codes = codes.reshape(matrix.shape)
    values = values[:-1] if len(values) and np.isnan(values[-1]) else values
    counts = np.bincount(codes.ravel(), minlength=len(values))[: len(values)]
    diagonal = np.where(np.diagonal(codes) < len(values), np.diagonal(codes), -1).astype(np.int64)
    if not is_table:
        counts -= np.bincount(diagonal[diagonal >= 0], minlength=len(values))
    default = -1
    if len(values) and counts.max() >= max(1, _LEAST_SHARE * _n_entries(matrix, is_table)):
        default = int(counts.argmax())
    stored = codes != (default if default >= 0 else len(values))
    if not is_table:
        np.fill_diagonal(stored, False)
    i, j = np.nonzero(stored)
    return values, _csr(codes[i, j] + 1, i, j, matrix.shape), default, diagonal


def _of_sparse(matrix, is_table):
    entries = matrix.tocoo()
    on_diagonal = (entries.row == entries.col) & (not is_table)
    n_entries = _n_entries(matrix, is_table)
    n_zeros = n_entries - np.count_nonzero(entries.data[~on_diagonal])
    if n_zeros < max(1, _LEAST_SHARE * n_entries):
        return _of_dense(matrix.toarray().astype("float64"), is_table)
    data = entries.data.astype("float64")
    values, codes = np.unique(np.append(data, 0.0), return_inverse=True)
    default, codes = int(codes[-1]), codes[:-1]
    if np.isnan(values[-1]):
        values = values[:-1]
    diagonal = np.full(min(matrix.shape), default, dtype=np.int64)
    diagonal[entries.row[on_diagonal]] = np.where(codes < len(values), codes, -1)[on_diagonal]
    keep = (codes != default) & ~on_diagonal
    return values, _csr(codes[keep] + 1, entries.row[keep], entries.col[keep], matrix.shape), default, diagonal


def _n_entries(matrix, is_table):
    n, m = matrix.shape
    return n * m if is_table else n * (n - 1)


def _csr(data, i, j, shape):
    matrix = scipy.sparse.csr_array((data.astype(np.int64), (i, j)), shape=shape)
    matrix.sort_indices()
    return matrix


def _asymmetric_place(codes):
    """The first pair whose two entries have different codes, with both; None if there is none."""
    other = scipy.sparse.csr_array(codes.T)
    differs = scipy.sparse.coo_array(codes - other)
    nonzero = np.flatnonzero(differs.data)
    if not len(nonzero):
        return None
    k = nonzero[np.lexsort((differs.col[nonzero], differs.row[nonzero]))[0]]
    i, j = int(differs.row[k]), int(differs.col[k])
    return i, j, int(codes[i, j]), int(codes[j, i])


def place_of_value(pairs, position):
    """A pair that has the value at a position, as errors tell it."""
    entries = pairs.codes.tocoo()
    [stored] = np.nonzero(entries.data == position + 1)
    [loops] = np.nonzero(pairs.diagonal == position)
    if len(stored):
        i, j = entries.row[stored[0]], entries.col[stored[0]]
    elif len(loops):
        i = j = loops[0]
    else:
        i, j = np.argwhere(pairs.dense() == pairs.values[position])[0]
    return f"in row {i}, column {j}"


@contextlib.contextmanager
def with_places(place):
    """Errors about a row of a column of values tell ``place(row)`` in its stead, such as "in row 1, column 2"."""
    try:
        yield
    except ValueError as error:
        row = re.search(r"in row (\d+), column 0\b", str(error))
        if row is None:
            raise
        raise ValueError(str(error).replace(row[0], place(int(row[1])))) from error
