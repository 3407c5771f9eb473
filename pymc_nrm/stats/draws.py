"""The one reader of results: which variables are partitions, their draws, and the names of their dimensions."""

import re
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_name
from pymc_nrm.common.marks import MISSING_OF, NAME, NESTED, NUMBER, RENAMED, SLOTS_OF, partition_number
from pymc_nrm.kernels.generic import check_signals, kernel

SAMPLE_DIMS = ("chain", "draw")
# Names of the dimension along which the columns of a nested partition lie; others end in ``_column``.
COLUMN_DIMS = ("level", "column")
# Entries checked at a time, so that temporary arrays stay small compared with the draws.
BLOCK = 2**22


def partition_names(idata: xr.DataTree | xr.Dataset) -> list[str]:
    """Names of the posterior variables that are partitions.

    Parameters
    ----------
    %(result)s

    Returns
    -------
    list of str
        Variables with the attribute ``partition``, which :func:`~pymc_nrm.sample` writes, or variables that steps of
        partitions have sampled according to ``sample_stats``.  If neither is there, as in the group ``posterior`` of
        ``pm.sample`` alone, integer variables with dimensions ``chain``, ``draw`` and one more, whose labels are
        0, 1, ... in order of appearance in every draw.

    Raises
    ------
    TypeError
        If ``idata`` is neither a DataTree nor a Dataset.
    ValueError
        If a DataTree has no group ``posterior``, or there are no chains or draws.

    Examples
    --------
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1], [0, 1, 2]]])})
    >>> partition_names(posterior)
    ['z']
    """
    arrays = _integer_variables(idata, 1)
    marked = [name for name, array in arrays.items() if array.attrs.get(NAME) == name]
    if marked:
        return marked
    numbers = sampled_numbers(idata)
    sampled = [name for name in arrays if partition_number(name) in numbers]
    return sampled or [name for name, array in arrays.items() if _looks_like_partition(array)]


def nested_names(idata: xr.DataTree | xr.Dataset) -> list[str]:
    """Names of the posterior variables that are nested partitions.

    Parameters
    ----------
    %(result)s

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
    arrays = _integer_variables(idata, 2)
    marked = [name for name, array in arrays.items() if NESTED in array.attrs]
    return marked or [name for name, array in arrays.items() if named_columns(array, column_dimension(array), "level")]


def partition_draws(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.DataArray:
    """Draws of one partition.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Result of sampling, its group ``posterior``, or the draws themselves.  Without the dimension ``chain``, draws
        count as one chain.
    %(var_name)s

    Returns
    -------
    DataArray of int64
        Dimensions ``chain``, ``draw`` and that of the items; coordinates are kept.  Labels are 0, 1, ... in order of
        appearance; those of a named variable or a DataArray are renamed if need be, as after a selection of items.

    Raises
    ------
    TypeError
        If ``idata`` is of another type, or the variable does not hold integers.
    ValueError
        If there is no such partition or, without ``var_name``, none or several; if there are no draws or no items; if
        the dimensions are wrong; or if labels are negative, or exceed ten times the number of items plus 1000.

    Examples
    --------
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1], [0, 1, 2]]])})
    >>> partition_draws(posterior).dims
    ('chain', 'draw', 'item')

    Labels of a selection of items are renamed:

    >>> partition_draws(posterior.isel(item=[1, 2]), "z").values.tolist()
    [[[0, 1], [0, 1]]]
    """
    array = read_draws(idata, var_name)
    values = np.ascontiguousarray(array.values, dtype=np.int64)
    if not is_canonical(values):
        least, largest, n = int(values.min()), int(values.max()), values.shape[2]
        if least < 0 or largest > 10 * n + 1000:
            raise ValueError(f"labels of {title_of(array)} must be from 0 to {10 * n + 1000}; got {least} to {largest}")
        values = relabel_rows(values.reshape(-1, n), largest + 1).reshape(values.shape)
    return array.copy(data=values)


def stack_draws(draws: Any) -> np.ndarray:
    """Draws of all chains, one chain after the other.

    Parameters
    ----------
    draws : DataArray
        From :func:`partition_draws`.

    Returns
    -------
    ndarray of int64, shape (S, n)
        S is the number of chains times the number of draws of a chain.

    Examples
    --------
    >>> draws = xr.DataArray([[[0, 0]], [[0, 1]]], dims=("chain", "draw", "item"))
    >>> stack_draws(draws).tolist()
    [[0, 0], [0, 1]]
    """
    if not isinstance(draws, xr.DataArray) or not set(SAMPLE_DIMS) <= set(draws.dims) or draws.ndim != 3:
        got = draws.dims if isinstance(draws, xr.DataArray) else type(draws).__name__
        raise TypeError(f"draws must be a DataArray with dimensions chain, draw and one of items; got {got}")
    values = draws.transpose(*SAMPLE_DIMS, ...).values
    return np.ascontiguousarray(values.reshape(-1, values.shape[2]), dtype=np.int64)


def read_draws(idata, var_name=None, *, nested=False):
    """Draws of one partition as they are stored: integers with dimensions ``chain``, ``draw`` and those of a value,
    that of the items and, for a nested partition, that of its columns.
    """
    if not isinstance(idata, xr.DataTree | xr.Dataset | xr.DataArray):
        raise TypeError(f"idata must be a DataTree, a Dataset or a DataArray; got {type(idata).__name__}")
    array = idata if isinstance(idata, xr.DataArray) else _variable(idata, var_name, nested)
    if isinstance(idata, xr.DataArray) and var_name is not None and idata.name not in (None, var_name):
        raise ValueError(f"var_name must be the name of the DataArray, {idata.name!r}; got {var_name!r}")
    array, title = with_chains(array), title_of(array)
    if not set(SAMPLE_DIMS) <= set(array.dims) or array.ndim != (4 if nested else 3):
        if NESTED in array.attrs and not nested:
            raise ValueError(_is_nested(title))
        dims = "chain, draw, one of items and one of levels" if nested else "chain, draw and one of items"
        raise ValueError(f"{title} must have dimensions {dims}; got {array.dims}")
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{title} must hold integers; got {array.dtype}")
    if array.size == 0:
        level = ", one item and one level" if nested else " and one item"
        raise ValueError(f"{title} must have at least one draw{level}; got sizes {dict(array.sizes)}")
    return array.transpose(*SAMPLE_DIMS, ...)


def stacked(posterior, name):
    """Draws of a variable that a model needs, one chain after the other, shape (chains * draws, ...)."""
    if name not in posterior:
        raise ValueError(
            f"the posterior has no draws of {name!r}, which the model needs; it has {sorted(map(str, posterior))}"
        )
    values = posterior[name].transpose(*SAMPLE_DIMS, ...).to_numpy()
    # A size of -1 would not do for draws of no items.
    return values.reshape(values.shape[0] * values.shape[1], *values.shape[2:])


def posterior_of(idata, *, by_chain=False):
    """Posterior draws of a result of sampling; with ``by_chain``, they have dimensions ``chain`` and ``draw``."""
    posterior = _group(idata)
    sizes = {dim: posterior.sizes[dim] for dim in SAMPLE_DIMS if dim in posterior.sizes}
    if 0 in sizes.values():
        raise ValueError(f"idata must have at least one chain and one draw; got sizes {sizes}")
    if not by_chain:
        return posterior
    if "draw" not in posterior.dims:
        raise ValueError(f"idata must have draws with dimensions chain and draw; got sizes {dict(posterior.sizes)}")
    return with_chains(posterior)


def with_chains(draws):
    """Count draws without the dimension ``chain``, as after a selection of a chain, as one chain."""
    if "chain" in draws.dims or "draw" not in draws.dims:
        return draws
    return draws.drop_vars("chain", errors="ignore").expand_dims("chain")


def item_dimension(draws):
    """Name of the dimension of the items of :func:`partition_draws`."""
    return next(dim for dim in draws.dims if dim not in SAMPLE_DIMS)


def item_coords(draws):
    """Coordinates of the items of :func:`partition_draws`, for results along their dimension."""
    dim = item_dimension(draws)
    return {name: coord for name, coord in draws.coords.items() if coord.dims == (dim,)}


def column_dimension(array):
    """Name of the dimension of the columns of a nested partition, by default the last one."""
    dims = [dim for dim in array.dims if dim not in SAMPLE_DIMS]
    return next((dim for dim in dims if dim in COLUMN_DIMS or str(dim).endswith("_column")), dims[-1])


def named_columns(array, dim, kind):
    """Positions of the columns that are called ``<kind>_<number>``, by their numbers."""
    if dim not in array.coords:
        return {}
    names = [re.fullmatch(rf"{kind}_(\d+)", str(name)) for name in array[dim].values]
    return {int(name[1]): place for place, name in enumerate(names) if name}


def title_of(array):
    """Name of draws in messages."""
    return array.name if array.name is not None else "draws"


def slot_variables(posterior):
    """Names of the variables that hold parameters of slots, with the names of their partitions."""
    return {str(name): array.attrs[SLOTS_OF] for name, array in posterior.data_vars.items() if SLOTS_OF in array.attrs}


def renamed_variables(posterior):
    """Names of the variables that change when clusters are renamed: parameters of slots, and what is made of labels."""
    changed = {str(name) for name, array in posterior.data_vars.items() if RENAMED in array.attrs}
    return changed | set(slot_variables(posterior))


def missing_values(posterior):
    """Names of the variables that are missing values of data, of which there may be hundreds."""
    return {str(name) for name, array in posterior.data_vars.items() if MISSING_OF in array.attrs}


def sampled_numbers(idata):
    """Numbers of the partitions that were sampled, according to the statistics of their steps."""
    if not isinstance(idata, xr.DataTree) or "sample_stats" not in idata.children:
        return set()
    numbers = idata["sample_stats"].data_vars.get(NUMBER)
    return set() if numbers is None else set(np.unique(numbers.values).tolist())


def _group(idata):
    if isinstance(idata, xr.Dataset):
        return idata
    if not isinstance(idata, xr.DataTree):
        raise TypeError(f"idata must be a DataTree or a Dataset; got {type(idata).__name__}")
    if "posterior" in idata.children:
        return idata["posterior"].to_dataset()
    if idata.data_vars:  # the group itself
        return idata.to_dataset()
    raise ValueError(f"idata must have a group posterior; got groups {', '.join(idata.children) or 'none'}")


def _variable(idata, var_name, nested):
    posterior, what = posterior_of(idata), "nested partition" if nested else "partition"
    names = nested_names(idata) if nested else partition_names(idata)
    found = ", ".join(map(repr, names)) or "none"
    if var_name is not None:
        check_name("var_name", var_name, f"one {what}")
        if var_name not in posterior.data_vars:
            raise ValueError(f"var_name must be a variable of the posterior; got {var_name!r}; {what}s are: {found}")
        return posterior[var_name]
    if len(names) == 1:
        return posterior[names[0]]
    if names:
        raise ValueError(f"var_name must be given, one of {found}: there are several {what}s")
    others = [] if nested else [name for name, array in posterior.data_vars.items() if NESTED in array.attrs]
    if others:
        raise ValueError(_is_nested(others[0]))
    variables = ", ".join(map(repr, posterior.data_vars)) or "none"
    known = (
        "nrm.sample marks nested partitions, and after pm.sample they are known by the columns that "
        "NestedPartition(..., dims=...) names"
        if nested
        else "no variable of integers with dimensions chain, draw and one of items, and with the attribute partition "
        "or labels in order of appearance"
    )
    raise ValueError(f"idata has no {what}: {known}; variables are: {variables}")


def _is_nested(name):
    return (
        f"{name} is a nested partition: consensus_tree and nested_point_estimate summarize trees, and "
        f"levels(idata, {name!r}).sel(level=1) is the partition at a level"
    )


def variable_names(var_names, posterior):
    """List names of variables from an argument ``var_names``, which must be in the posterior."""
    names = [var_names] if isinstance(var_names, str) else var_names
    if not isinstance(names, list | tuple) or not names:
        raise TypeError(f"var_names must be a string or a list of at least one string; got {var_names!r}")
    for name in names:
        check_name("var_names", name, "a variable, or a list of names")
        if name not in posterior.data_vars:
            raise ValueError(f"var_names must be in the posterior, {list(posterior.data_vars)}; got {name!r}")
    return list(names)


def _integer_variables(idata, n_dims):
    """Variables of integers whose values have a number of dimensions, beside ``chain`` and ``draw``."""
    return {
        str(name): array
        for name, array in posterior_of(idata).data_vars.items()
        if np.issubdtype(array.dtype, np.integer)
        and "draw" in array.dims
        and len(set(array.dims) - set(SAMPLE_DIMS)) == n_dims
        and array.size > 0
    }


def _looks_like_partition(array):
    item = next(dim for dim in array.dims if dim not in SAMPLE_DIMS)
    return is_canonical(array.transpose(..., "draw", item).values)


def is_canonical(values):
    """Whether each label along the last axis is at most one above the largest before it, and the first is 0."""
    rows = values.reshape(-1, values.shape[-1])
    step = max(1, BLOCK // rows.shape[1])
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        if (block[:, 0] != 0).any() or (block < 0).any():
            return False
        if (block[:, 1:] > np.maximum.accumulate(block, axis=1)[:, :-1] + 1).any():
            return False
    return True


@kernel
def relabel_rows(labels, n_values):
    """Rename the labels of each row in order of appearance; ``labels`` (S, n) are from 0 to ``n_values`` - 1."""
    n_rows, n = labels.shape
    seen = np.empty(n_values, dtype=np.int64)
    canonical = np.empty((n_rows, n), dtype=np.int64)
    for s in range(n_rows):
        check_signals()
        seen[:] = -1
        n_clusters = 0
        for i in range(n):
            value = labels[s, i]
            if seen[value] < 0:
                seen[value] = n_clusters
                n_clusters += 1
            canonical[s, i] = seen[value]
    return canonical
