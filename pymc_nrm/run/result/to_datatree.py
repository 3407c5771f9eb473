"""Make the result of a run from what its chains kept, with the log-likelihoods that it asks for.

Of rows in chunks, it has labels of followed rows, and sizes and sums of all clusters in a group of their own.
"""

import logging

import numpy as np
import pymc as pm
import xarray as xr
from pymc.util import drop_warning_stat, get_default_varnames
from xarray import DataTree

from pymc_nrm.common.marks import KEY_OF_ROWS, NAME
from pymc_nrm.common.pymc_internals import MultiTrace, NDArray, coords_and_dims_for_inferencedata
from pymc_nrm.common.result_names import added_names
from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.models.rvs import mixtures_of, other_uses, partitions_of
from pymc_nrm.partitions.chunked import CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS, Chunked
from pymc_nrm.partitions.labels import smallest_type
from pymc_nrm.posterior.layout import padded
from pymc_nrm.posterior.posterior_predictive import compute_log_likelihood
from pymc_nrm.run.chains.trace import write_rows
from pymc_nrm.run.result.partition_statistics import add_statistics, split_statistics

_log = logging.getLogger(__name__)


def join_chains(records, n_chains):
    """Join records of one chain each into one; the rows of a chain are freed once they are copied."""
    stats, arrays, seconds = [None] * n_chains, {}, 0.0
    for chain, record in records:
        [stats[chain]] = record.stats
        seconds = max(seconds, record.seconds)
        for name in list(record.values):
            [rows] = record.values.pop(name)
            if name not in arrays:
                arrays[name] = np.empty((n_chains, *rows.shape), rows.dtype)
            write_rows(arrays, name, chain, rows)
    return record._replace(values=arrays, stats=stats, seconds=seconds)


class _Statistics(MultiTrace):
    """Traces whose statistics PyMC converts in one order, so that ``acceptance_rate`` is always of NUTS."""

    @property
    def stat_names(self):
        return sorted(super().stat_names)


def to_datatree(record, model, kept):
    """Make the result that ``pm.sample`` would return; values keep their types and are not copied."""
    from arviz_base import dict_to_dataset  # slow to import

    record, clusters = without_clusters(record)
    record, statistics = split_statistics(record, partitions_of(model))
    trace = _Statistics([_trace_of_statistics(record, model, number) for number in range(len(record.stats))])
    trace.report._n_tune, trace.report._n_draws = record.n_tune, record.n_draw_rows
    trace.report._t_sampling = record.seconds
    of_model = coords_and_dims_for_inferencedata(model)
    others = dict(kept.idata_kwargs)
    of_user = [dict(others.pop(name, ())) for name in ("coords", "dims")]
    options = {"coords": of_model[0] | of_user[0], "dims": of_model[1] | of_user[1]}
    include_transformed = others.pop("include_transformed", False)
    by_pymc = pm.to_inference_data(trace, model=model, save_warmup=True, **options, **others)
    # PyMC's own order varies from process to process.
    order = {variable.name: place for place, variable in enumerate(model.unobserved_RVs)}
    names = get_default_varnames(record.values, include_transformed)
    names.sort(key=lambda name: order.get(name, len(order)))
    attrs = {"sampling_time": record.seconds, "tuning_steps": record.n_tune}
    groups = {}
    for prefix, rows in record.groups.items():
        values = {name: record.values[name][:, rows] for name in names}
        groups[f"{prefix}posterior"] = dict_to_dataset(values, inference_library=pm, attrs=attrs, **options)
    if clusters:
        add_clusters(groups, clusters, model, record, kept)
    groups |= {name: node.to_dataset() for name, node in by_pymc.children.items() if name not in groups}
    add_statistics(groups, statistics, record)
    if kept.thin != 1:
        groups = {
            name: dataset.assign_attrs(thin=kept.thin) if {"chain", "draw"} <= set(dataset.dims) else dataset
            for name, dataset in groups.items()
        }
    idata = DataTree.from_dict(groups)
    return idata if kept.keep_warning_stat else drop_warning_stat(idata)


def _trace_of_statistics(record, model, number):
    """PyMC's own kind of trace, with the statistics of a chain and without variables."""
    trace = NDArray(model=model, vars=[], fn=len, var_shapes={}, var_dtypes={})
    trace.chain, trace.sampler_vars, trace._stats = number, record.sampler_vars, record.stats[number]
    trace.draw_idx = record.n_warmup_rows + record.n_draw_rows
    # A trace without any array has length 0.
    trace.samples = {"row": np.arange(trace.draw_idx)}
    return trace


def add_flat_columns(idata, kinds):
    """Give columns of values that are flat partitions names of their own, in place, unless the model uses these names.
    Returns their names in the group ``posterior``.
    """
    columns = [(rv.name, f"{rv.name}_{end}", k) for rv, kind in kinds.items() for end, k in kind.flat_columns.items()]
    added = []
    for group in ("warmup_posterior", "posterior"):
        present = idata[group].data_vars if group in idata.children else {}
        added = [column for column in columns if column[0] in present and column[1] not in present]
        for name, column, place in added:
            values = idata[group][name]
            labels = values.isel({values.dims[-1]: place}, drop=True)
            idata[group][column] = labels.drop_attrs().assign_attrs({NAME: column})
    return [column for _, column, _ in added]


def add_densities(idata, model, kept, progressbar):
    """Add log prior densities, log-likelihoods of the items of each partition, and PyMC's of other data, in place."""
    if kept.log_prior:
        names = None if kept.log_prior is True else kept.log_prior
        pm.stats.compute_log_prior(idata, var_names=names, model=model, progressbar=False)
    names = remaining = list(kept.log_likelihood)
    for partition in partitions_of(model):
        uses = {rv.name for rv in (*mixtures_of(model, partition), *other_uses(model, partition))}
        if uses.isdisjoint(names):
            continue
        remaining = [name for name in remaining if name not in uses]
        try:
            compute_log_likelihood(idata, model, var_name=partition.name, progressbar=progressbar)
        except (NotImplementedError, TypeError, ValueError) as error:
            text = f"log_likelihood of idata_kwargs: none for the items of {partition.name!r}, since {error}"
            _log.warning(wrapped(text))
    if remaining:
        values = pm.stats.compute_log_likelihood(
            idata, var_names=remaining, extend_inferencedata=False, model=model, progressbar=progressbar
        )
        of_items = idata["log_likelihood"].to_dataset() if "log_likelihood" in idata.children else xr.Dataset()
        idata["log_likelihood"] = xr.DataTree(of_items.merge(values, combine_attrs="drop_conflicts"))


_NAMES = (CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS)


def without_clusters(record):
    """Take the statistics that hold clusters out of a record; return it and them, by name, one list for each chain."""
    of_clusters = {
        name: [of_chain[step][name] for of_chain in record.stats]
        for step, dtypes in enumerate(record.sampler_vars)
        for name in _NAMES
        if name in dtypes
    }
    stats = [[_without(rows) for rows in of_chain] for of_chain in record.stats]
    return record._replace(stats=stats, sampler_vars=[_without(rows) for rows in record.sampler_vars]), of_clusters


def _without(rows):
    return {name: values for name, values in rows.items() if name not in _NAMES}


def add_clusters(groups, clusters, model, record, kept):
    """Put labels of followed rows into the group ``posterior`` and clusters into a group of their own, in place."""
    [(partition, kind)] = partitions_of(model, Chunked).items()
    shown = [rv for rv in mixtures_of(model, partition) if kept.var_names is None or rv.name in kept.var_names]
    for prefix, rows in record.groups.items():
        draws = {name: [list(of_chain[rows]) for of_chain in chains] for name, chains in clusters.items()}
        coords = {"chain": np.arange(len(record.stats)), "draw": np.arange(rows.stop - rows.start)}
        if FOLLOWED_LABELS in draws:
            labels = np.array(draws[FOLLOWED_LABELS])
            labels = labels.astype(np.int64 if kept.label_storage == "full" else smallest_type(labels.max()))
            posterior = groups.get(f"{prefix}posterior", xr.Dataset()).assign_coords(coords)
            [dim] = added_names({*posterior.dims, *posterior.coords}, f"{partition.name}_row")
            posterior = posterior.assign({partition.name: (("chain", "draw", dim), labels)})
            groups[f"{prefix}posterior"] = posterior.assign_coords({dim: kind.rows.followed})
        of_draws = _clusters(draws, mixtures_of(model, partition), shown).assign_coords(coords)
        groups[f"{prefix}clusters"] = of_draws.assign_attrs({KEY_OF_ROWS: kind.rows.key})


def _clusters(draws, mixtures, kept):
    """Sizes of clusters and their statistics in the mixtures that are kept, padded with empty clusters."""
    variables, dims = {}, ("chain", "draw", "cluster")
    if CLUSTER_COUNTS in draws:
        variables["size"] = (dims, _padded(draws[CLUSTER_COUNTS]))
    if CLUSTER_SUMS in draws:
        sums, start = _padded(draws[CLUSTER_SUMS]), 0
        for rv in mixtures:
            quantum = rv.owner.op.measured.quanta.quantum
            end = start + len(quantum)
            if rv in kept:
                variables[rv.name] = ((*dims, f"{rv.name}_statistic"), sums[..., start:end] * quantum)
            start = end
    return xr.Dataset(variables)


def _padded(draws):
    """Arrays of clusters (n_clusters, ...) of all chains and draws as one, with zeros behind the last cluster."""
    together = padded([row for rows in draws for row in rows], 0)
    return together.reshape(len(draws), -1, *together.shape[1:])
