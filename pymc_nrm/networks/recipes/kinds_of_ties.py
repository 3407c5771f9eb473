"""Matrices of ties as recipes read them: names, values, and the kind of these."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.families import BernoulliBeta, HurdleLogNormal, HurdlePoisson, NormalGamma, PoissonGamma
from pymc_nrm.families.arguments import LARGEST_COUNT
from pymc_nrm.recipes.columns import item_names
from pymc_nrm.recipes.reading.kinds import BINARY, COUNT, NUMERIC, ZERO_OR_POSITIVE
from pymc_nrm.recipes.zeros import are_counts

# Real numbers of which at least this share is zero are amounts of ties that may be absent.
_SHARE_OF_ZEROS = 0.25
KINDS_OF_TIES = (BINARY, COUNT, ZERO_OR_POSITIVE, NUMERIC)
# What values of a kind may be: in words, and as a function.
_ALLOWED = {
    BINARY: ("0 or 1", lambda x: np.isin(x, (0.0, 1.0))),
    COUNT: (
        f"whole numbers from 0 to {LARGEST_COUNT:.0e}",
        lambda x: (x >= 0.0) & (x <= LARGEST_COUNT) & (x == np.floor(x)),
    ),
    ZERO_OR_POSITIVE: ("0 or positive", lambda x: x >= 0.0),
    NUMERIC: ("finite", np.isfinite),
}


class Matrix(NamedTuple):
    """A matrix, dense or CSR, with the names of its rows and columns, and what a graph says of its direction."""

    values: Any
    rows: list
    columns: list
    directed: bool | None = None
    # Whether names are from a DataFrame or a graph; otherwise they are positions.
    has_names: bool = False

    def known(self, one_partition):
        """Observed values of all pairs, zeros that a sparse matrix does not store aside; and the number of these."""
        if scipy.sparse.issparse(self.values):
            entries = self.values.tocoo()
            kept = (entries.row != entries.col) | (not one_partition)
            values, n = entries.data[kept], self.values.shape[0]
            n_zeros = n * self.values.shape[1] - n * one_partition - len(values)
        else:
            values = self.values[~np.eye(len(self.values), dtype=bool)] if one_partition else self.values.ravel()
            n_zeros = 0
        return values[~np.isnan(values)], n_zeros

    def first_wrong(self, is_wrong, one_partition):
        """The first value that a function finds wrong, with the names of its row and column; None without one."""
        if scipy.sparse.issparse(self.values):
            entries = self.values.tocoo()
            wrong = is_wrong(entries.data)
            rows, columns, values = entries.row[wrong], entries.col[wrong], entries.data[wrong]
        else:
            rows, columns = np.nonzero(is_wrong(self.values))
            values = self.values[rows, columns]
        kept = np.flatnonzero((rows != columns) | (not one_partition))
        if not len(kept):
            return None
        k = kept[np.lexsort((columns[kept], rows[kept]))[0]]
        return f"{values[k]} in row {self.rows[rows[k]]!r}, column {self.columns[columns[k]]!r}"


def read_matrix(argument, A):
    """Read a matrix: an array, a sparse matrix, a DataFrame, or a graph of networkx."""
    directed = None
    if hasattr(A, "is_directed") and hasattr(A, "adjacency") and "networkx" in sys.modules:
        directed, A = A.is_directed(), sys.modules["networkx"].to_pandas_adjacency(A)
    if scipy.sparse.issparse(A):
        values = scipy.sparse.csr_array(A).astype("float64")
        values.sum_duplicates()
        _check_shape(argument, values.shape)
        return Matrix(values, *(list(range(n)) for n in values.shape), directed)
    A = as_pandas(argument, A)
    if not isinstance(A, pd.DataFrame):
        values = np.array(numeric_array(argument, A), dtype="float64")
        _check_shape(argument, values.shape)
        return Matrix(values, *(list(range(n)) for n in values.shape), directed)
    _check_shape(argument, A.shape)
    rows, columns = item_names(A, argument), A.columns.tolist()
    for where, index in (("index", A.index), ("columns", A.columns)):
        if index.has_duplicates:
            name = index[index.duplicated()].tolist()[0]
            raise ValueError(f"{argument} must have different names in its {where}; got {name!r} more than once")
    arrays = [numeric_array(f"column {name!r} of {argument}", A.iloc[:, k]) for k, name in enumerate(columns)]
    return Matrix(np.column_stack(arrays).astype("float64"), rows, columns, directed, has_names=True)


def read_network(argument, A):
    """Read a square matrix; columns of a DataFrame are put into the order of its rows."""
    matrix = read_matrix(argument, A)
    n, m = matrix.values.shape
    if n != m:
        raise ValueError(
            f"{argument} must have a row and a column for each node; got shape {(n, m)}. networks.two_way_model takes "
            "tables of rows and columns"
        )
    if n < 2:
        raise ValueError(f"{argument} must have at least two nodes; got {n}")
    if matrix.rows == matrix.columns:
        return matrix
    place = pd.Index(matrix.columns).get_indexer(matrix.rows)
    missing = [name for name, k in zip(matrix.rows, place, strict=True) if k < 0]
    if missing:
        raise ValueError(
            f"{argument} must have the same names in its index and its columns; got {missing[0]!r} in the index only"
        )
    return matrix._replace(values=matrix.values[:, place], columns=matrix.rows)


def kind_of_ties(argument, matrix, one_partition, kind):
    """The kind of the ties, and a sentence that says why."""
    values, n_zeros = matrix.known(one_partition)
    if not len(values) and not n_zeros:
        raise ValueError(f"{argument} must have at least one observed pair; all are missing")
    if not np.isfinite(values).all():
        got = matrix.first_wrong(np.isinf, one_partition)
        raise ValueError(f"{argument} must be finite, or NaN where a pair was not observed; got {got}")
    if kind is not None:
        if kind not in KINDS_OF_TIES:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS_OF_TIES))}; got {kind!r}")
        return kind, "as kind says"
    if np.isin(values, (0.0, 1.0)).all():
        return BINARY, "all values are 0 or 1"
    whole, positive = (values == np.floor(values)).all(), (values >= 0.0).all()
    if whole and positive:
        return COUNT, f"values are whole numbers from 0 to {values.max():.0f}"
    share = (n_zeros + (values == 0.0).sum()) / (n_zeros + len(values))
    if positive and share >= _SHARE_OF_ZEROS:
        return ZERO_OR_POSITIVE, f"values are 0, {share:.0%} of them, or positive"
    return NUMERIC, "values are real numbers"


def family_class_of(kind, values):
    """The family of a kind of ties, given the observed values."""
    if kind == ZERO_OR_POSITIVE:
        return HurdlePoisson if are_counts(values) and values.max() <= LARGEST_COUNT else HurdleLogNormal
    return {BINARY: BernoulliBeta, COUNT: PoissonGamma, NUMERIC: NormalGamma}[kind]


def check_ties(argument, matrix, one_partition, kind):
    """Refuse values that a kind of ties does not allow, or from which its family does not learn hyperparameters."""
    values, n_zeros = matrix.known(one_partition)
    title, (words, is_allowed) = f"{argument} of kind {kind!r}", _ALLOWED[kind]
    if not is_allowed(values).all():
        got = matrix.first_wrong(lambda x: ~is_allowed(x) & ~np.isnan(x), one_partition)
        raise ValueError(f"{title} must be {words}, or NaN where a pair was not observed; got {got}")
    if len(values) + n_zeros < 2:
        raise ValueError(f"{argument} must have at least two observed values; got one")
    varying, what = np.append(values, np.zeros(min(n_zeros, 1))), "values"
    if kind == ZERO_OR_POSITIVE:
        varying, what = values[values > 0.0], "positive values"
    if family_class_of(kind, values) in (NormalGamma, HurdleLogNormal) and len(np.unique(varying)) < 2:
        got = f"{varying[0]} alone" if len(varying) else "none"
        raise ValueError(f"{title} must have different {what}, for hyperparameters to be learned; got {got}")


def _check_shape(argument, shape):
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"{argument} must be a matrix, shape (n, m); got shape {shape}")
