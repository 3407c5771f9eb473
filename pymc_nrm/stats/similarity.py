"""Posterior similarity: how often pairs of items share a cluster."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.progress import progress
from pymc_nrm.common.result_names import added_names
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.stats.draws import item_coords, item_dimension, partition_draws, stack_draws


@kernel
def count_together(rows, columns, counts):
    """Count the draws in which items share a cluster, for items of ``rows`` (m, S) and ``columns`` (n, S)."""
    for i in range(rows.shape[0]):
        check_signals()
        a = rows[i]
        for j in range(columns.shape[0]):
            b = columns[j]
            total = 0
            for s in range(a.shape[0]):
                total += a[s] == b[s]
            counts[i, j] = total


def similarity_matrix(labels, progressbar=False):
    """Shares of partitions in which pairs of items share a cluster. Shapes: ``labels`` (S, n); returns (n, n)."""
    # The labels of all pairs in all draws are compared: n^2 S / 2 comparisons of small integers, many at a time in
    # vector instructions, whatever the number of clusters.  Going through the pairs within the clusters of each draw is
    # faster only if there are hundreds of clusters.  Besides the result, this needs n S bytes (2 n S with more than 256
    # clusters).
    compact = compact_columns(labels)
    n, n_draws = compact.shape
    matrix = np.empty((n, n))
    step = max(1, 2**20 // n)
    starts = range(0, n, step)
    with progress("Comparing pairs of items", len(starts), progressbar) as advance:
        for start in starts:
            stop = min(start + step, n)
            counts = np.empty((stop - start, n - start), dtype=np.int64)
            count_together(compact[start:stop], compact[start:], counts)
            matrix[start:stop, start:] = counts / n_draws
            # The system provides memory when it is first written; doing this in pieces lets Ctrl-C through.
            for first in range(start, n, 1024):
                matrix[first : first + 1024, start:stop] = matrix[start:stop, first : first + 1024].T
            advance()
    return matrix


def compact_columns(labels):
    """Labels item by item, shape (n, S), in the smallest type that holds them."""
    largest = int(labels.max(initial=0))
    kind = next(kind for kind in (np.uint8, np.uint16, np.int64) if largest <= np.iinfo(kind).max)
    return np.ascontiguousarray(labels.T.astype(kind))


def similarity(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    items: Any = None,
    progressbar: bool = True,
) -> xr.DataArray:
    """Posterior probabilities that pairs of items share a cluster.

    Parameters
    ----------
    %(draws)s
    %(var_name)s
    items : sequence, optional
        Items to compare, as coordinate values of their dimension (positions, if it has no coordinates); by default all.
    %(progressbar)s

    Returns
    -------
    DataArray
        Dimensions ``<item>`` and ``<item>_other``, both with the coordinates of the items.

    Raises
    ------
    ValueError
        If there is no such partition, or ``items`` is empty or holds unknown items.

    See Also
    --------
    similarity_rows : The same in blocks of rows, for many items.

    Notes
    -----
    This takes O(n^2 S) time for S draws: half a second for n = 2,000 items and 4,000 draws.  Memory is 8 n^2 bytes for
    the result and n S bytes for the labels.

    Examples
    --------
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 1, 1]]], dims=("chain", "draw", "item"), coords={"item": list("abc")})
    >>> similarity(draws).sel(item="a", item_other="b").item()
    0.5
    >>> similarity(draws, items=["a", "c"]).values.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    draws = select_items(partition_draws(idata, var_name), items)
    return with_items(similarity_matrix(stack_draws(draws), progressbar=progressbar), draws)


def similarity_rows(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    items: Any = None,
    block_size: Any = None,
) -> Iterator[xr.DataArray]:
    """Posterior similarity in blocks of rows, for matrices that do not fit into memory.

    Parameters
    ----------
    idata, var_name
        As for :func:`similarity`.
    items : sequence, optional
        Items of the rows, as coordinate values; by default all.  Columns are all items.
    block_size : int, optional
        Rows at a time; by default as many as make a block of 64 MB.

    Yields
    ------
    DataArray
        Consecutive rows of the result of :func:`similarity`.

    Raises
    ------
    ValueError
        If there is no such partition, ``items`` is empty or holds unknown items, or ``block_size`` is not positive.

    Examples
    --------
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 1, 1]]], dims=("chain", "draw", "item"))
    >>> [block.shape for block in similarity_rows(draws, block_size=2)]
    [(2, 3), (1, 3)]
    """
    draws = partition_draws(idata, var_name)
    rows = select_items(draws, items)
    if block_size is None:
        block_size = max(1, 2**23 // draws.shape[2])
    check_count("block_size", block_size, 1)
    return _blocks(rows, draws, int(block_size))


def _blocks(rows, draws, block_size):
    dim = item_dimension(draws)
    columns = compact_columns(stack_draws(draws))
    for start in range(0, rows.shape[2], block_size):
        block = rows.isel({dim: slice(start, start + block_size)})
        compact = np.ascontiguousarray(stack_draws(block).T.astype(columns.dtype))
        counts = np.empty((len(compact), len(columns)), dtype=np.int64)
        count_together(compact, columns, counts)
        yield with_items(counts / columns.shape[1], draws, block)


def select_items(draws, items):
    """Select items of draws by coordinate value."""
    if items is None:
        return draws
    dim = item_dimension(draws)
    passed = items
    try:
        items = np.atleast_1d(np.asarray(passed))
    except (TypeError, ValueError):
        # xarray refuses whole Datasets, NumPy rows of different lengths.
        raise TypeError(f"items must be a sequence of values of {dim!r}; got {passed!r}") from None
    if items.ndim != 1 or items.size == 0:
        raise ValueError(f"items must be a sequence of at least one item; got shape {items.shape}")
    if items.dtype.kind == "b":
        raise ValueError(f"items must be values of {dim!r}; got booleans. np.flatnonzero gives places from a mask")
    index = draws.indexes[dim] if dim in draws.indexes else range(draws.sizes[dim])
    unknown = [item for item in items.tolist() if item not in index]
    if unknown:
        raise ValueError(f"items must be values of {dim!r}; got {', '.join(map(repr, unknown[:5]))}")
    if isinstance(index, range) or index.is_unique:
        return draws.sel({dim: items})
    several = [item for item in items.tolist() if np.count_nonzero(index == item) > 1]
    if several:
        raise ValueError(f"items must be names of single items; {several[0]!r} is the name of several in {dim!r}")
    return draws.isel({dim: index.get_indexer_for(items)})


def with_items(matrix, columns, rows=None, name="similarity"):
    """A matrix over pairs of items, with the coordinates of the items of draws."""
    dim = item_dimension(columns)
    row_coords, column_coords = item_coords(columns if rows is None else rows), item_coords(columns)
    [other_dim] = added_names(row_coords, f"{dim}_other")
    coords = {key: (dim, coord.values) for key, coord in row_coords.items()}
    names = [
        other_dim if key == dim else added_names({dim, other_dim, *row_coords}, f"{key}_other")[0]
        for key in column_coords
    ]
    coords |= {name: (other_dim, coord.values) for name, coord in zip(names, column_coords.values(), strict=True)}
    return xr.DataArray(matrix, dims=(dim, other_dim), coords=coords, name=name)
