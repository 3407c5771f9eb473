"""Levels and components of the draws of a nested partition."""

from typing import Any

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.marks import NAME, NESTED
from pymc_nrm.common.result_names import added_names
from pymc_nrm.stats.contingency import as_labels
from pymc_nrm.stats.draws import partition_draws, read_draws, title_of
from pymc_nrm.stats.result import BLOCK, SAMPLE_DIMS, column_dimension, is_canonical, named_columns, result_of
from pymc_nrm.stats.similarity import similarity_matrix, with_items


def levels(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.DataArray:
    """Partitions of the items at every level of a nested partition.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Result of sampling, its group ``posterior``, or the draws themselves: integers with dimensions ``chain``,
        ``draw``, one of items and one of levels, level 1 first.  The dimension of levels is called ``level``,
        ``column`` or ``..._column``, or is the last one.  Without the dimension ``chain``, draws count as one chain.
    %(nested_name)s

    Returns
    -------
    DataArray of int64
        Dimensions ``chain``, ``draw``, ``level`` (1 is the level that follows the root) and the dimension of the items.
        The labels of each level are 0, 1, ... in order of appearance.  Columns of tables and components are left out.

    Raises
    ------
    TypeError
        If ``idata`` is of another type, or the variable does not hold integers.
    ValueError
        If there is no such nested partition or, without ``var_name``, none or several; if the dimensions are wrong;
        or if items that share a node at one level do not share one at the level above.

    See Also
    --------
    pymc_nrm.nested.consensus_tree, pymc_nrm.nested.nested_point_estimate : Trees that summarise the draws.

    Notes
    -----
    A level is a partition, so that all functions for partitions take it, as in
    ``nrm.similarity(nrm.stats.levels(idata).sel(level=2))``.

    Examples
    --------
    >>> paths = [[0, 0], [0, 1], [1, 2]]
    >>> h = xr.DataArray([[paths]], dims=("chain", "draw", "item", "column"), name="h", attrs={"nested_partition": 2})
    >>> levels(h).sel(level=1).values.tolist(), levels(h).sel(level=2).values.tolist()
    ([[[0, 0, 1]]], [[[0, 1, 2]]])
    """
    array = read_draws(idata, var_name, nested=True)
    dim = column_dimension(array)
    chosen = _level_columns(array, dim)
    array = array.isel({dim: chosen}).transpose(*SAMPLE_DIMS, dim, ...)
    values = array.values
    n = values.shape[3]
    labels = as_labels(title_of(array), values.reshape(-1, n)).astype(np.int64).reshape(values.shape)
    _check_nested(labels, array)
    kept = {name: coord.variable for name, coord in array.coords.items() if dim not in coord.dims}
    [level] = added_names({array.dims[3], *kept}, "level")
    return xr.DataArray(
        labels,
        dims=(*SAMPLE_DIMS, level, array.dims[3]),
        coords=kept | {level: np.arange(1, len(chosen) + 1)},
        name=array.name,
    )


def component_draws(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.DataArray:
    """Components of the items in a nested partition with weights: a partition, which all functions of those take.

    :func:`~pymc_nrm.sample` puts them into the posterior as ``<name>_components``.  After ``pm.sample`` do the same by
    ``idata["posterior"]["h_components"] = component_draws(idata)``.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Result of sampling, its group ``posterior``, or the draws themselves.
    %(nested_name)s

    Returns
    -------
    DataArray of int64
        Dimensions ``chain``, ``draw`` and the dimension of the items; labels are 0, 1, ... in order of appearance.  Its
        name is ``<name>_components``, and it is marked as a partition.

    Raises
    ------
    ValueError
        If there is no such nested partition, or it has no column ``table_0``, as without weights.

    Examples
    --------
    >>> dims, columns = ("chain", "draw", "item", "column"), ["level_1", "table_1", "table_0"]
    >>> h = xr.DataArray([[[[0, 0, 4], [1, 1, 4]]]], dims=dims, coords={"column": columns})
    >>> component_draws(h).values.tolist()
    [[[0, 0]]]
    """
    components = components_of(idata, var_name)
    if components is None:
        raise ValueError("idata must hold a nested partition with weights: there is no column table_0")
    if components.name is None:
        return components
    name = f"{components.name}_components"
    return components.rename(name).assign_attrs({NAME: name})


def components_of(idata, var_name):
    """:func:`component_draws`, or None if there are no weights."""
    array = read_draws(idata, var_name, nested=True)
    dim = column_dimension(array)
    place = _component_column(array, dim)
    if place is None:
        return None
    column = array.isel({dim: place}, drop=True).transpose(*SAMPLE_DIMS, ...)
    values = column.values
    labels = as_labels(title_of(array), values.reshape(-1, values.shape[2])).astype(np.int64)
    return column.copy(data=labels.reshape(values.shape)).drop_attrs()


def flat_or_nested_draws(idata, var_name=None):
    """Draws of a partition as :func:`~pymc_nrm.stats.draws.partition_draws` reads them, or of a nested one as
    :func:`levels` does.  Labels in order of appearance keep their type, which may be of one byte.
    """
    if isinstance(idata, xr.DataArray):
        is_nested = len(set(idata.dims) - set(SAMPLE_DIMS)) == 2
    else:
        idata = result_of(idata)
        is_nested = var_name in idata.nested if var_name is not None else bool(not idata.partitions and idata.nested)
    if is_nested:
        return levels(idata, var_name)
    draws = read_draws(idata, var_name)
    return draws if is_canonical(draws.values) else partition_draws(draws)


def stack_levels(draws):
    """Levels of all chains, one chain after the other. Shapes: returns (S, L, n)."""
    return draws.values.reshape(-1, *draws.shape[2:])


def _level_columns(array, dim):
    """Positions of the levels along the dimension of the columns, level 1 first."""
    named = named_columns(array, dim, "level")
    if named:
        return [named[number] for number in sorted(named)]
    return list(range(int(array.attrs.get(NESTED, array.sizes[dim]))))[: array.sizes[dim]]


def _component_column(array, dim):
    """Position of the column of components, or None if there are no weights."""
    named = named_columns(array, dim, "table")
    if named or named_columns(array, dim, "level") or NESTED not in array.attrs:
        return named.get(0)
    # Without names of columns, their number says whether tables follow the levels.
    n_columns = array.sizes[dim]
    return n_columns - 1 if n_columns == 2 * int(array.attrs[NESTED]) + 1 else None


def _check_nested(labels, array):
    """Raise an error unless items with equal labels at one level have equal labels at the level above."""
    n_draws, n_levels, n = labels.shape[1], *labels.shape[2:]
    rows = labels.reshape(-1, n_levels, n)
    step = max(1, BLOCK // (n * n_levels))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        for level in range(1, n_levels):
            first = np.zeros((len(block), int(block[:, level].max()) + 1), dtype=np.int64)
            np.put_along_axis(first, block[:, level], np.arange(n)[None], axis=1)
            other = np.take_along_axis(first, block[:, level], axis=1)
            above = block[:, level - 1]
            apart = np.take_along_axis(above, other, axis=1) != above
            if apart.any():
                s, i = np.argwhere(apart)[0]
                chain, draw = divmod(start + int(s), n_draws)
                pair = " and ".join(str(k) for k in sorted((int(i), int(other[s, i]))))
                raise ValueError(
                    f"{title_of(array)} must be nested, with level 1 first: in draw {draw} of chain {chain} the items "
                    f"{pair} share a node of level {level + 1} but not of level {level}"
                )


def common_depth(
    idata: xr.DataTree | xr.Dataset | xr.DataArray, *, var_name: str | None = None, progressbar: bool = True
) -> xr.DataArray:
    """Posterior expectation of the level of the lowest node that two items share.

    Parameters
    ----------
    %(nested_draws)s
    %(nested_name)s
    %(progressbar)s

    Returns
    -------
    DataArray
        Dimensions ``<item>`` and ``<item>_other``, both with the coordinates of the items.  From 0, if two items share
        the root only, to L, if they always share a leaf.

    Raises
    ------
    ValueError
        If there is no such nested partition.

    See Also
    --------
    pymc_nrm.similarity : The probability of sharing a node of one level, given ``levels(idata).sel(level=1)``.

    Notes
    -----
    It is the sum of the similarities of all levels: nodes are nested, so that two items share a node of each level down
    to the level of the lowest one.

    Examples
    --------
    >>> paths = [[[0, 0], [0, 1], [1, 2]], [[0, 0], [0, 0], [0, 1]]]
    >>> h = xr.DataArray([paths], dims=("chain", "draw", "item", "level"))
    >>> common_depth(h).values.tolist()
    [[2.0, 1.5, 0.5], [1.5, 2.0, 0.5], [0.5, 0.5, 2.0]]
    """
    draws = levels(idata, var_name)
    rows = stack_levels(draws)
    total = sum(similarity_matrix(rows[:, level], progressbar=progressbar) for level in range(rows.shape[1]))
    return with_items(total, draws.isel({draws.dims[2]: 0}, drop=True), name="common_depth")


def common_depth_linkage(depth: Any, n_levels: int | None = None) -> np.ndarray:
    """Average linkage of items on L minus the expected depth of their lowest common node.

    Parameters
    ----------
    depth : array_like, shape (n, n)
        Result of :func:`common_depth`.
    n_levels : int, optional
        The number of levels L; by default the largest entry.

    Returns
    -------
    ndarray, shape (n - 1, 4)
        Linkage matrix for :mod:`scipy.cluster.hierarchy`, with heights from 0 to L: a height of L - l is a mean level
        of l.

    Raises
    ------
    ValueError
        If the matrix is not square, has fewer than two items, or has entries above L or below 0.

    Examples
    --------
    >>> common_depth_linkage([[2.0, 1.5, 0.5], [1.5, 2.0, 0.5], [0.5, 0.5, 2.0]]).tolist()
    [[0.0, 1.0, 0.5, 2.0], [2.0, 3.0, 1.5, 3.0]]
    """
    matrix = np.asarray(depth, dtype="float64")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(f"depth must be a square matrix of at least two items; got shape {matrix.shape}")
    most = float(matrix.max()) if n_levels is None else float(n_levels)
    if not ((matrix >= 0) & (matrix <= most + 1e-9)).all():
        raise ValueError(f"depth must be between 0 and {most:g}; got {matrix.min():g} to {matrix.max():g}")
    return scipy.cluster.hierarchy.average(np.maximum(most - matrix, 0.0)[np.triu_indices(len(matrix), 1)])
