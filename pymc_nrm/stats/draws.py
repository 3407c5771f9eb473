"""Draws of partitions in a result, and the names of their dimensions."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_name
from pymc_nrm.common.marks import MISSING_OF, NESTED, RENAMED, SLOTS_OF, VALUES_OF
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.stats.result import SAMPLE_DIMS, Result, is_canonical, result_of, with_chains


def partition_draws(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.DataArray:
    """Draws of one partition.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Result of sampling, its group ``posterior``, or the draws themselves.  Without the dimension ``chain``, draws
        count as one chain.  Labels of an observed partition, which :func:`~pymc_nrm.sample` keeps in the group
        ``observed_data``, are one draw.
    %(var_name)s

    Returns
    -------
    DataArray of int64
        Dimensions ``chain``, ``draw`` and the dimension of the items; coordinates are kept.  Labels are 0, 1, ... in
        order of appearance; labels of a named variable or a DataArray are renamed if need be, as after a selection of
        items.

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
    """Draws of one partition as they are stored: integers with dimensions ``chain``, ``draw``, the dimension of the
    items and, for a nested partition, the dimension of its columns.
    """
    if not isinstance(idata, Result | xr.DataTree | xr.Dataset | xr.DataArray):
        raise TypeError(f"idata must be a DataTree, a Dataset or a DataArray; got {type(idata).__name__}")
    array = idata if isinstance(idata, xr.DataArray) else _variable(result_of(idata), var_name, nested)
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


def item_dimension(draws):
    """Name of the dimension of the items of :func:`partition_draws`."""
    return next(dim for dim in draws.dims if dim not in SAMPLE_DIMS)


def item_coords(draws):
    """Coordinates of the items of :func:`partition_draws`, for results along their dimension."""
    dim = item_dimension(draws)
    return {
        name: coord for name, coord in draws.coords.items() if coord.dims == (dim,) and VALUES_OF not in coord.attrs
    }


def items_in_estimates(draws):
    """Whether each item of :func:`partition_draws` has values, bool (n,); None if all have or none has, or if unknown.

    ``nrm.sample`` writes it into a coordinate; items without any value belong to no cluster of an estimate.
    """
    for coord in draws.coords.values():
        if coord.dims == (item_dimension(draws),) and coord.attrs.get(VALUES_OF, np.nan) == draws.name:
            kept = coord.values.astype(bool)
            return kept if kept.any() and not kept.all() else None
    return None


def estimated_items(draws, estimate=None):
    """Whether an estimate has each item of the draws, bool (n,): by default, those with values."""
    kept, n = items_in_estimates(draws), draws.sizes[item_dimension(draws)]
    labels = estimate["labels"] if isinstance(estimate, xr.Dataset) and "labels" in estimate else estimate
    if kept is None or (labels is not None and np.shape(labels) != (kept.sum(),)):
        return np.ones(n, dtype=bool)
    return kept


def draws_of_items(draws, estimate=None):
    """:func:`partition_draws` of the items that an estimate has, whose coordinates are positions if they have none."""
    kept, dim = estimated_items(draws, estimate), item_dimension(draws)
    if kept.all():
        return draws
    if dim not in draws.coords:
        draws = draws.assign_coords({dim: np.arange(draws.sizes[dim])})
    return partition_draws(draws.isel({dim: kept}))


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
    """Names of the variables that are missing values of data; there may be hundreds."""
    return {str(name) for name, array in posterior.data_vars.items() if MISSING_OF in array.attrs}


def _variable(result, var_name, nested):
    posterior, what = result.posterior, "nested partition" if nested else "partition"
    names = result.nested if nested else result.partitions
    observed = {} if nested else result.observed_partitions
    if observed and (var_name in observed or (var_name is None and not names and len(observed) == 1)):
        return observed[next(iter(observed)) if var_name is None else var_name]
    listed = ", ".join(map(repr, names)) or "none"
    if var_name is not None:
        check_name("var_name", var_name, f"one {what}")
        if var_name not in posterior.data_vars:
            raise ValueError(f"var_name must be a variable of the posterior; got {var_name!r}; {what}s are: {listed}")
        return posterior[var_name]
    if len(names) == 1:
        return posterior[names[0]]
    if names:
        raise ValueError(f"var_name must be given, one of {listed}: there are several {what}s")
    others = [] if nested else [name for name, array in posterior.data_vars.items() if NESTED in array.attrs]
    if others:
        raise ValueError(_is_nested(others[0]))
    variables = ", ".join(map(repr, posterior.data_vars)) or "none"
    requirement = (
        "nrm.sample marks nested partitions, and after pm.sample they are known by the columns that "
        "NestedPartition(..., dims=...) names"
        if nested
        else "no variable of integers with dimensions chain, draw and one of items, and with the attribute partition "
        "or labels in order of appearance"
    )
    raise ValueError(f"idata has no {what}: {requirement}; variables are: {variables}")


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
