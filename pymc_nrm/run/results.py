"""The result of a run, from what its chains kept."""

import pymc as pm
from pymc.util import drop_warning_stat
from xarray import Dataset, DataTree

from pymc_nrm.pymc_internals import MultiTrace, NDArray, coords_and_dims_for_inferencedata
from pymc_nrm.run.label_storage import LabelArray


def join_chains(records, n_chains):
    """One record of runs of one chain each; labels of a chain are let go when they have been copied.

    Parameters
    ----------
    records : iterable of (int, RunRecord)
        Chain number and record, in any order.
    n_chains : int

    Returns
    -------
    RunRecord
    """
    chains, arrays, seconds = [None] * n_chains, {}, 0.0
    for chain, record in records:
        [chains[chain]] = record.chains
        seconds = max(seconds, record.seconds)
        for name in list(record.labels):
            [rows] = record.labels.pop(name)
            if name not in arrays:
                # Labels of one byte may need two in another chain; 64 bits hold all.
                arrays[name] = LabelArray(n_chains, len(rows), rows.shape[1:], rows.dtype)
            arrays[name].write(chain, 0, rows)
        last = record
    return last._replace(chains=chains, labels={name: array.values for name, array in arrays.items()}, seconds=seconds)


def to_datatree(record, model, *, thin, keep_warmup, keep_warning_stat, idata_kwargs):
    """The result that ``pm.sample`` would give, with labels as they were kept.

    Labels go around PyMC's conversion, which would copy them twice.

    Parameters
    ----------
    record : RunRecord
    model : pymc.Model
    thin : int
        Noted in attribute ``thin`` of groups, if it is not 1.
    keep_warmup, keep_warning_stat : bool
    idata_kwargs : dict
        For ``pm.to_inference_data``.

    Returns
    -------
    DataTree
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


def _as_ndarray_trace(chain, number, record, model):
    """PyMC's own trace of rows that are there already."""
    trace = NDArray(model=model, vars=[], fn=len, var_shapes={}, var_dtypes={})
    trace.varnames = list(chain.samples)
    trace.chain, trace.samples = number, chain.samples
    trace.sampler_vars, trace._stats = chain.sampler_vars, chain.stats
    trace.draw_idx = record.n_warmup_rows + record.n_draw_rows
    return trace
