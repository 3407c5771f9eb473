"""Matrices of ties as recipes read them: names, values, and the kind of these."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.families import BernoulliBeta, HurdleLogNormal, HurdlePoisson, NormalGamma, PoissonGamma
from pymc_nrm.recipes.columns import item_names
from pymc_nrm.recipes.reading.kinds import BINARY, COUNT, NUMERIC, ZERO_OR_POSITIVE
from pymc_nrm.recipes.zeros import are_counts

# Real numbers of which at least this share is zero are amounts of ties that may be absent.
_SHARE_OF_ZEROS = 0.25
KINDS_OF_TIES = (BINARY, COUNT, ZERO_OR_POSITIVE, NUMERIC)


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


def read_matrix(argument, A):
    """Read a matrix: an array, a sparse matrix, a DataFrame, or a graph of networkx."""
    directed = None
    if hasattr(A, "is_directed") and hasattr(A, "adjacency") and "networkx" in sys.modules:
        directed, A = A.is_directed(), sys.modules["networkx"].to_pandas_adjacency(A)
    if scipy.sparse.issparse(A):
        values = scipy.sparse.csr_array(A).astype("float64")
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


def kind_of_ties(matrix, one_partition, kind):
    """The kind of the ties, and a sentence that says why."""
    values, n_zeros = matrix.known(one_partition)
    if not len(values) and not n_zeros:
        raise ValueError("A must have at least one observed pair; all are missing")
    if not np.isfinite(values).all():
        raise ValueError("A must be finite, or NaN where a pair was not observed; got infinity")
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
        return HurdlePoisson if are_counts(values) else HurdleLogNormal
    return {BINARY: BernoulliBeta, COUNT: PoissonGamma, NUMERIC: NormalGamma}[kind]


def _check_shape(argument, shape):
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"{argument} must be a matrix, shape (n, m); got shape {shape}")
