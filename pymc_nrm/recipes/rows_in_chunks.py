"""Tables of many rows: when recipes take rows in chunks, and mixtures that wait until all their columns are known."""

import dataclasses
import os
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm

from pymc_nrm.common.checks import check_flag
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.moves.chunks.source import Chunks
from pymc_nrm.partitions.chunked import Rows
from pymc_nrm.recipes.reading.kinds import NUMERIC, POSITIVE

# To a description, 10,000 rows take 129 CPU s in chunks, where chains do not agree, and 170 without, where they do;
# 30,000 rows take 120 and 149 s by the clock, and chains agree in neither (`benchmarks/large_tables.py`).
MANY_ROWS = 30_000


class AskedTable(NamedTuple):
    """A table in memory, whether its rows are wanted in chunks (None: if there are many), and options of Chunks."""

    table: Any
    chunks: bool | None
    options: dict[str, Any]


def asked_table(df, chunks):
    """Return the :class:`AskedTable` of arguments: a table, a path of Parquet files, a Dask DataFrame or Chunks."""
    if chunks is not None:
        check_flag("chunks", chunks)
    options = {}
    if isinstance(df, Rows):
        if chunks is False:
            raise ValueError("chunks must be None or True for Chunks; got False")
        if df.chunks.has_client:
            raise ValueError(
                "df must be Chunks without a client, since a recipe reads the table in this process; write Partition "
                "and Mixture for rows on a cluster"
            )
        chunks, options, df = True, df.chunks.options, df.chunks.table_of(df.columns)
    elif isinstance(df, str | os.PathLike):
        df = _read_parquet(os.fspath(df))
    elif hasattr(df, "to_delayed") and hasattr(df, "columns"):
        # A collection of Dask: text needs all its levels, and repeated numbers all others.
        df = df.compute()
        df = df if df.index.is_unique else df.reset_index(drop=True)
    df = as_pandas("df", df)
    return AskedTable(df, chunks, options)


def _read_parquet(path):
    """The table of Parquet files; errors say how other files are read."""
    others = "Read other files by pandas, such as pandas.read_csv"
    if not os.path.exists(path):
        raise ValueError(f"df must be a DataFrame, or the path of Parquet files that exist; got {path!r}. {others}")
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(f"df must be the path of Parquet files; {path!r} is not: {error}. {others}") from error


def are_in_chunks(asked, n, readings, options, told, **of_rows):
    """Whether n rows of a table are taken in chunks; an error if that was asked for and is not supported.

    ``of_rows`` are further arguments that a user gave.
    """
    reason = _why_not(readings, options, of_rows)
    if asked.chunks and reason is not None:
        raise ValueError(f"chunks must be None or False with {reason}, which rows in chunks do not support; got True")
    if asked.chunks is not None or n < MANY_ROWS:
        return bool(asked.chunks)
    if reason is not None:
        told.lines.append(f"{n:,} rows would be faster in chunks, which do not support {reason}")
        return False
    told.lines.append(
        f"{n:,} rows, {MANY_ROWS:,} or more, are taken in chunks: one chain uses all cores, results follow the labels "
        "of 10,000 random rows, and label_rows labels all. chunks=False keeps all labels in the model"
    )
    return True


def _why_not(readings, options, of_rows):
    """What rows in chunks do not support among the arguments of a recipe, in words, or None."""
    for name, value in of_rows.items():
        if value is not None and value is not False:
            return name
    if options.n_directions is not None:
        return f"n_directions={options.n_directions!r}"
    positive = [reading.name for reading in readings if reading.kind == POSITIVE]
    if positive:
        return f"columns of the kind {POSITIVE!r}, here {positive[0]!r} (take its logarithm, of the kind 'numeric')"
    numeric = [reading for reading in readings if reading.kind == NUMERIC]
    gaps = [reading.name for reading in numeric if reading.missing]
    if options.covariance == "full" and gaps and len(numeric) > 1:
        return f"covariance='full' where columns have missing values, here {gaps[0]!r}"
    return None


class WaitingColumns:
    """Stands for a partition of rows in chunks while a recipe makes the families of its mixtures.

    Chunks need the values of all columns, as the model has them, before there is a partition of their rows.
    """

    def __init__(self):
        self._mixtures = []

    def take(self, name, family, X, origin):
        """Keep a mixture; names of the columns of X (n, d) are the coordinate that the family has made."""
        columns = list(pm.modelcontext(None).coords[f"{name}_feature"])
        self._mixtures.append((name, family, np.asarray(X, dtype="float64").reshape(len(X), -1), columns, origin))

    def add_to_model(self, add_partition, options):
        """Add the partition, made by a function of the rows, and all mixtures to the model at hand."""
        values = np.concatenate([X for _, _, X, _, _ in self._mixtures], axis=1)
        names = [name for *_, columns, _ in self._mixtures for name in columns]
        rows = Chunks(pd.DataFrame(values, columns=names), **options)
        z = add_partition(rows)
        for name, family, _, columns, origin in self._mixtures:
            if origin.recorded is not None:
                # Descriptions show the followed rows.
                origin = dataclasses.replace(origin, recorded=origin.recorded[rows.followed])
            Mixture(name, z, family, observed=rows[columns], origin=origin)


def add_items(name, z, family, X, origin, counts=None):
    """Add data X (n, d) or (n,) of the items of a partition to the model at hand; rows in chunks wait."""
    if isinstance(z, WaitingColumns):
        return z.take(name, family, X, origin)
    [item] = pm.modelcontext(None).named_vars_to_dims[z.name]
    dims = (item,) if X.ndim == 1 else (item, f"{name}_feature")
    return Mixture(name, z, family, observed=X, dims=dims, counts=counts, origin=origin)
