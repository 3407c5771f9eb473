"""Draws of nested partitions: what is one in a result, and its levels."""

import re

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_name
from pymc_nrm.common.marks import NAME, NESTED, components_name
from pymc_nrm.stats.contingency import as_labels
from pymc_nrm.stats.draws import BLOCK, SAMPLE_DIMS, posterior_of

__all__ = ["component_draws", "levels", "nested_names", "stack_levels"]

# Names of the dimension along which the columns of a nested partition lie; others end in ``_column``.
COLUMN_DIMS = ("level", "column")


def nested_names(idata: xr.DataTree | xr.Dataset) -> list[str]:
    """Names of the posterior variables that are nested partitions.

    Parameters
    ----------
    idata : DataTree or Dataset
        Result of sampling, or its group ``posterior``.

    Returns
    -------
    list of str
        Variables with the attribute ``nested_partition``, which :func:`~pymc_nrm.sample` writes.  If there are none,
        variables of integers with dimensions ``chain``, ``draw`` and two more, whose columns ``level_1``, ``level_2``,
        ... have names.

    Raises
    ------
    TypeError
        If ``idata`` is neither a DataTree nor a Dataset.
    ValueError
        If a DataTree has no group ``posterior``, or there are no chains or draws.

    Examples
    --------
    >>> h = xr.DataArray([[[[0, 0], [0, 1]]]], dims=("chain", "draw", "item", "column"), attrs={"nested_partition": 2})
    >>> nested_names(xr.Dataset({"h": h}))
    ['h']
    """
    arrays = {str(name): array for name, array in posterior_of(idata).data_vars.items()}
    arrays = {name: array for name, array in arrays.items() if _may_be_nested(array)}
    marked = [name for name, array in arrays.items() if NESTED in array.attrs]
    return marked or [name for name, array in arrays.items() if _named_columns(array, column_dimension(array), "level")]


def _may_be_nested(array):
    dims = [dim for dim in array.dims if dim not in SAMPLE_DIMS]
    return "draw" in array.dims and len(dims) == 2 and np.issubdtype(array.dtype, np.integer)


def levels(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.DataArray:
    """Partitions of the items at every level of a nested partition.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Result of sampling, its group ``posterior``, or the draws themselves: integers with dimensions ``chain``,
        ``draw``, one of items and one of levels, level 1 first.  The dimension of levels is called ``level``,
        ``column`` or ``..._column``, or is the last one.  Without the dimension ``chain``, draws count as one chain.
    var_name : str, optional
        Name of the nested partition; by default the only one.

    Returns
    -------
    DataArray of int64
        Dimensions ``chain``, ``draw``, ``level`` (1 is the level that follows the root) and that of the items.  The
        labels of each level are 0, 1, ... in order of appearance.  Columns of tables and components are left out.

    Raises
    ------
    TypeError
        If ``idata`` is of another type, or the variable does not hold integers.
    ValueError
        If there is no such nested partition or, without ``var_name``, none or several; if the dimensions are wrong;
        or if items that share a node at one level do not share one at the level above.

    See Also
    --------
    pymc_nrm.stats.consensus_tree, pymc_nrm.stats.nested_point_estimate : Trees that summarise the draws.

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
    array, dim = _columns_of_draws(idata, var_name)
    chosen = _level_columns(array, dim)
    array = array.isel({dim: chosen}).transpose(*SAMPLE_DIMS, dim, ...)
    values = array.values
    n = values.shape[3]
    labels = as_labels(_name(array), values.reshape(-1, n)).astype(np.int64).reshape(values.shape)
    _check_nested(labels, array)
    kept = {name: coord for name, coord in array.coords.items() if dim not in coord.dims}
    result = xr.DataArray(
        labels,
        dims=tuple("level" if name == dim else name for name in array.dims),
        coords=kept | {"level": np.arange(1, len(chosen) + 1)},
        name=array.name,
    )
    return result


def component_draws(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.DataArray:
    """Components of the items in a nested partition with weights: a partition, which all functions of those take.

    :func:`~pymc_nrm.sample` puts them into the posterior as ``<name>_components``.  After ``pm.sample`` do the same by
    ``idata["posterior"]["h_components"] = component_draws(idata)``.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Result of sampling, its group ``posterior``, or the draws themselves.
    var_name : str, optional
        Name of the nested partition; by default the only one.

    Returns
    -------
    DataArray of int64
        Dimensions ``chain``, ``draw`` and that of the items; labels are 0, 1, ... in order of appearance.  Its name is
        ``<name>_components``, and it is marked as a partition.

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
    name = components_name(components.name)
    return components.rename(name).assign_attrs({NAME: name})


def components_of(idata, var_name):
    """:func:`component_draws`, or None if there are no weights."""
    array, dim = _columns_of_draws(idata, var_name)
    place = _component_column(array, dim)
    if place is None:
        return None
    column = array.isel({dim: place}, drop=True).transpose(*SAMPLE_DIMS, ...)
    values = column.values
    labels = as_labels(_name(array), values.reshape(-1, values.shape[2])).astype(np.int64)
    return column.copy(data=labels.reshape(values.shape)).drop_attrs()


def stack_levels(draws):
    """Levels of all chains, one chain after the other. Shapes: returns (S, L, n)."""
    return draws.values.reshape(-1, *draws.shape[2:])


def column_dimension(array):
    """Name of the dimension of the columns: ``level``, ``column`` or ``..._column``, or else the last one."""
    dims = [dim for dim in array.dims if dim not in SAMPLE_DIMS]
    return next((dim for dim in dims if dim in COLUMN_DIMS or str(dim).endswith("_column")), dims[-1])


def _columns_of_draws(idata, var_name):
    array = idata if isinstance(idata, xr.DataArray) else _variable(idata, var_name)
    if isinstance(idata, xr.DataArray) and var_name is not None and idata.name not in (None, var_name):
        raise ValueError(f"var_name must be the name of the DataArray, {idata.name!r}; got {var_name!r}")
    if "chain" not in array.dims and "draw" in array.dims:
        array = array.drop_vars("chain", errors="ignore").expand_dims("chain")
    if not set(SAMPLE_DIMS) <= set(array.dims) or array.ndim != 4:
        raise ValueError(
            f"{_name(array)} must have dimensions chain, draw, one of items and one of levels; got {array.dims}"
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{_name(array)} must hold integers; got {array.dtype}")
    if array.size == 0:
        raise ValueError(
            f"{_name(array)} must have at least one draw, one item and one level; got sizes {dict(array.sizes)}"
        )
    return array, column_dimension(array)


def _variable(idata, var_name):
    posterior = posterior_of(idata)
    names = nested_names(idata)
    found = ", ".join(map(repr, names)) or "none"
    if var_name is not None:
        check_name("var_name", var_name, "one nested partition")
        if var_name not in posterior.data_vars:
            raise ValueError(
                f"var_name must be a variable of the posterior; got {var_name!r}; nested partitions are: {found}"
            )
        return posterior[var_name]
    if len(names) == 1:
        return posterior[names[0]]
    if names:
        raise ValueError(f"var_name must be given, one of {found}: there are several nested partitions")
    variables = ", ".join(map(repr, posterior.data_vars)) or "none"
    raise ValueError(
        f"idata has no nested partition; variables are: {variables}. nrm.sample marks nested partitions, and after "
        "pm.sample they are known by the columns that NestedPartition(..., dims=...) names"
    )


def _name(array):
    return array.name if array.name is not None else "draws"


def _named_columns(array, dim, kind):
    """Positions of the columns that are called ``<kind>_<number>``, by their numbers."""
    if dim not in array.coords:
        return {}
    names = [re.fullmatch(rf"{kind}_(\d+)", str(name)) for name in array[dim].values]
    return {int(name[1]): place for place, name in enumerate(names) if name}


def _level_columns(array, dim):
    """Positions of the levels along the dimension of the columns, level 1 first."""
    named = _named_columns(array, dim, "level")
    if named:
        return [named[number] for number in sorted(named)]
    return list(range(int(array.attrs.get(NESTED, array.sizes[dim]))))[: array.sizes[dim]]


def _component_column(array, dim):
    """Position of the column of components, or None if there are no weights."""
    named = _named_columns(array, dim, "table")
    if named or _named_columns(array, dim, "level") or NESTED not in array.attrs:
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
                    f"{_name(array)} must be nested, with level 1 first: in draw {draw} of chain {chain} the items "
                    f"{pair} share a node of level {level + 1} but not of level {level}"
                )
