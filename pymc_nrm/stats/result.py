"""A result of sampling, read once: its posterior, what steps reported, and which variables are partitions."""

import re
from functools import cached_property

import numpy as np
import xarray as xr

from pymc_nrm.common.marks import NAME, NESTED, NUMBER, WITHOUT_BARS, partition_number

SAMPLE_DIMS = ("chain", "draw")
# Names of the dimension along which the columns of a nested partition lie; others end in ``_column``.
COLUMN_DIMS = ("level", "column")
# Entries checked at a time, so that temporary arrays stay small compared with the draws.
BLOCK = 2**22


class Result:
    """A result of sampling, or its posterior alone, that internal functions pass on."""

    def __init__(self, idata):
        self.posterior = posterior_of(idata)
        has_statistics = isinstance(idata, xr.DataTree) and "sample_stats" in idata.children
        # The group sample_stats, or None.
        self.statistics = idata["sample_stats"].to_dataset() if has_statistics else None

        has_data = isinstance(idata, xr.DataTree) and "observed_data" in idata.children
        self._observed = idata["observed_data"].to_dataset() if has_data else xr.Dataset()

    @cached_property
    def observed_partitions(self):
        """Observed labels of the partitions that were not sampled, by name, as their only draw."""
        observed = {
            str(name): array
            for name, array in self._observed.data_vars.items()
            if array.attrs.get(NAME) == name and np.issubdtype(array.dtype, np.integer) and array.ndim == 1
        }
        return {name: array.expand_dims(chain=[0], draw=[0]) for name, array in observed.items()}

    @cached_property
    def partitions(self):
        """Names of the partitions, see :func:`partition_names`."""
        arrays = self._integer_variables(1)
        marked = [name for name, array in arrays.items() if array.attrs.get(NAME) == name]
        if marked:
            return marked
        sampled = [name for name in arrays if partition_number(name) in self.sampled_numbers]
        return sampled or [name for name, array in arrays.items() if _looks_like_partition(array)]

    @cached_property
    def nested(self):
        """Names of the nested partitions, see :func:`nested_names`."""
        arrays = self._integer_variables(2)
        marked = [name for name, array in arrays.items() if NESTED in array.attrs]
        return marked or [
            name for name, array in arrays.items() if named_columns(array, column_dimension(array), "level")
        ]

    @cached_property
    def sampled_numbers(self):
        """Numbers of the partitions that steps of this package sampled."""
        is_known = self.statistics is not None and NUMBER in self.statistics
        return set(np.unique(self.statistics[NUMBER].values).tolist()) if is_known else set()

    def _integer_variables(self, n_dims):
        """Variables of integers whose values have a number of dimensions, beside ``chain`` and ``draw``."""
        return {
            str(name): array
            for name, array in self.posterior.data_vars.items()
            if np.issubdtype(array.dtype, np.integer)
            and "draw" in array.dims
            and len(set(array.dims) - set(SAMPLE_DIMS)) == n_dims
            and array.size > 0
        }


def result_of(idata):
    """The :class:`Result` of a DataTree or a Dataset; a Result and a DataArray are returned as they are."""
    return idata if isinstance(idata, Result | xr.DataArray) else Result(idata)


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
    return Result(idata).partitions


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
    return Result(idata).nested


def posterior_of(idata, *, by_chain=False):
    """Posterior draws of a result of sampling; with ``by_chain``, they have dimensions ``chain`` and ``draw``."""
    posterior = _group(idata)
    sizes = {dim: posterior.sizes[dim] for dim in SAMPLE_DIMS if dim in posterior.sizes}
    if 0 in sizes.values():
        raise ValueError(f"idata must have at least one chain and one draw; got sizes {sizes}")
    return posterior_by_chain(posterior) if by_chain else posterior


def shows_bars(idata):
    """Whether a result comes from a run that showed progress bars, so that calls without the argument show them."""
    return not _group(idata).attrs.get(WITHOUT_BARS, 0)


def posterior_by_chain(posterior):
    """Posterior draws with dimensions ``chain`` and ``draw``."""
    if "draw" not in posterior.dims:
        raise ValueError(f"idata must have draws with dimensions chain and draw; got sizes {dict(posterior.sizes)}")
    return with_chains(posterior)


def with_chains(draws):
    """Count draws without the dimension ``chain``, as after a selection of a chain, as one chain."""
    if "chain" in draws.dims or "draw" not in draws.dims:
        return draws
    return draws.drop_vars("chain", errors="ignore").expand_dims("chain")


def column_dimension(array):
    """Name of the dimension of the columns of a nested partition, by default the last one."""
    dims = [dim for dim in reversed(array.dims) if dim not in SAMPLE_DIMS]
    named = [dim for dim in dims if named_columns(array, dim, "level")]
    named += [dim for dim in dims if dim in COLUMN_DIMS or str(dim).endswith("_column")]
    return [*named, *dims][0]


def named_columns(array, dim, kind):
    """Positions of the columns that are called ``<kind>_<number>``, by their numbers."""
    if dim not in array.coords:
        return {}
    names = [re.fullmatch(rf"{kind}_(\d+)", str(name)) for name in array[dim].values]
    return {int(name[1]): place for place, name in enumerate(names) if name}


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
