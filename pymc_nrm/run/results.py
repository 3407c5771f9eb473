"""Make the result of a run from what its chains kept."""

import numpy as np
import pymc as pm
from pymc.util import drop_warning_stat
from xarray import Dataset, DataTree

from pymc_nrm.common.marks import (
    ALL_SLOTS_USED,
    NAME,
    NESTED,
    NUMBER,
    RENAMED,
    SLOTS_OF,
    components_name,
    partition_number,
)
from pymc_nrm.common.pymc_internals import MultiTrace, NDArray, coords_and_dims_for_inferencedata
from pymc_nrm.run.label_storage import LabelArray
from pymc_nrm.samplers.base import LabelStep


def join_chains(records, n_chains):
    """Join records of one chain each into one; the labels of a chain are freed once they are copied."""
    chains, arrays, seconds = [None] * n_chains, {}, 0.0
    for chain, record in records:
        [chains[chain]] = record.chains
        seconds = max(seconds, record.seconds)
        for name in list(record.labels):
            [rows] = record.labels.pop(name)
            if name not in arrays:
                # Another chain may need a wider type: the array then grows.
                arrays[name] = LabelArray(n_chains, len(rows), rows.shape[1:], rows.dtype)
            arrays[name].write(chain, 0, rows)
        last = record
    return last._replace(chains=chains, labels={name: array.values for name, array in arrays.items()}, seconds=seconds)


def to_datatree(record, model, *, thin, keep_warmup, keep_warning_stat, idata_kwargs):
    """Make the result that ``pm.sample`` would return, with labels in the type in which they were kept.

    Labels bypass PyMC's conversion, which would copy them twice.
    """
    from arviz_base import dict_to_dataset  # slow to import

    traces = [_as_ndarray_trace(chain, number, record, model) for number, chain in enumerate(record.chains)]
    trace = MultiTrace(traces)
    trace.report._n_tune, trace.report._n_draws = record.n_tune, record.n_draw_rows
    trace.report._t_sampling = record.seconds
    kwargs = {"save_warmup": keep_warmup} | idata_kwargs
    idata = pm.to_inference_data(trace, model=model, **kwargs)
    groups = {"posterior": slice(record.n_warmup_rows, None)} if record.n_draw_rows else {}
    if kwargs["save_warmup"] and record.n_warmup_rows:
        groups["warmup_posterior"] = slice(0, record.n_warmup_rows)
    order = [variable.name for variable in model.unobserved_RVs]
    coords, dims = coords_and_dims_for_inferencedata(model)
    coords, dims = coords | kwargs.get("coords", {}), dims | kwargs.get("dims", {})
    for group, rows in groups.items():
        # PyMC makes no group without variables.
        dataset = idata[group].to_dataset() if group in idata.children else Dataset()
        if record.labels:
            labels = {name: values[:, rows] for name, values in record.labels.items()}
            found = dict_to_dataset(labels, coords=coords, dims=dims)
            dataset = dataset.assign_coords(found.coords).assign(found.data_vars)
        # PyMC's own order varies from process to process.
        names = [name for name in order if name in dataset]
        dataset = dataset[[*names, *(name for name in dataset.data_vars if name not in names)]]
        idata[group] = DataTree(dataset)
    if thin != 1:
        for name in idata.children:
            if {"chain", "draw"} <= set(idata[name].dims):
                idata[name].attrs["thin"] = thin
    return idata if keep_warning_stat else drop_warning_stat(idata)


def mark_partitions(idata, partitions, slots, nested, renamed):
    """Mark the partitions in a result, their slots, and the partition to which each statistic belongs, in place."""
    marks = {name: (NAME, name) for name in partitions}
    marks |= {name: (SLOTS_OF, partition) for partition, names in slots.items() for name in names}
    marks |= {name: (RENAMED, partition) for name, partition in renamed.items()}
    marks |= {name: (NESTED, depth) for name, depth in nested.items()}
    for group in ("posterior", "warmup_posterior"):
        for name, (mark, value) in marks.items():
            if group in idata.children and name in idata[group].data_vars:
                idata[group][name].attrs[mark] = value
    names = [*partitions, *nested]
    if len(names) > 1:
        for group in ("sample_stats", "warmup_sample_stats"):
            if group in idata.children and NUMBER in idata[group].data_vars:
                idata[group] = DataTree(_with_names(idata[group].to_dataset(), names, slots))


def add_components(idata, nested):
    """Give the components of each nested partition with weights a name of their own, as a partition, in place.

    The variable ``<name>_components`` is a view of the last column, unless the model has a variable of this name.
    Returns names of the variables in the group ``posterior``.
    """
    added = []
    for group in ("warmup_posterior", "posterior"):
        present = idata[group].data_vars if group in idata.children else {}
        added = [name for name in nested if name in present and components_name(name) not in present]
        for name in added:
            # Dimensions are chain, draw, item and column.
            components = idata[group][name][..., -1].drop_vars(idata[group][name].dims[-1], errors="ignore")
            mark = {NAME: components_name(name)}
            idata[group][components_name(name)] = components.drop_attrs().assign_attrs(mark)
    return [components_name(name) for name in added]


def _with_names(stats, partitions, slots):
    """Put statistics of the steps of several partitions along a dimension with the names of the partitions."""
    names = {partition_number(name): name for name in partitions}
    numbers = stats[NUMBER].values
    if numbers.shape[2:] != (len(partitions),) or not (numbers == numbers[0, 0]).all():
        return stats
    columns = [names[number] for number in numbers[0, 0].tolist()]
    with_slots = [name in slots for name in columns]
    if ALL_SLOTS_USED in stats and stats[ALL_SLOTS_USED].values[0, 0].size == sum(with_slots):
        # Steps of partitions without slots do not report it.
        whole = np.zeros(numbers.shape, dtype=bool)
        whole[:, :, with_slots] = stats[ALL_SLOTS_USED].values.reshape(*numbers.shape[:2], -1)
        stats = stats.drop_vars([ALL_SLOTS_USED, *stats[ALL_SLOTS_USED].dims[2:]], errors="ignore")
        stats = stats.assign({ALL_SLOTS_USED: (("chain", "draw", f"{ALL_SLOTS_USED}_dim_0"), whole)})
    for name in _reported_by_steps() & set(stats.data_vars):
        if stats[name].shape == numbers.shape:
            # PyMC has made a separate dimension for every statistic.
            [dim] = set(stats[name].dims) - {"chain", "draw"}
            stats = stats.assign({name: stats[name].drop_vars(dim, errors="ignore").rename({dim: NAME})})
            stats = stats.drop_vars(dim, errors="ignore")
    return stats.assign_coords({NAME: columns})


def _reported_by_steps():
    """Names of the statistics that any step of a partition may report, including steps that users define."""
    classes = [LabelStep]
    for cls in classes:
        classes += cls.__subclasses__()
    return {name for cls in classes for name in getattr(cls, "stats_dtypes_shapes", {})}


def _as_ndarray_trace(chain, number, record, model):
    """Put existing rows into PyMC's own kind of trace."""
    trace = NDArray(model=model, vars=[], fn=len, var_shapes={}, var_dtypes={})
    trace.varnames = list(chain.samples)
    trace.chain, trace.samples = number, chain.samples
    trace.sampler_vars, trace._stats = chain.sampler_vars, chain.stats
    trace.draw_idx = record.n_warmup_rows + record.n_draw_rows
    return trace
