"""Draws of partitions of rows in chunks: labels of followed rows, and sizes and sums of all clusters."""

import numpy as np
import xarray as xr

from pymc_nrm.models.rvs import mixtures_of, partitions_of
from pymc_nrm.partitions.chunked import CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS, Chunked
from pymc_nrm.partitions.labels import smallest_type
from pymc_nrm.posterior.layout import padded

_NAMES = (CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS)


def statistics_left_out(in_chunks, label_storage, var_names):
    """Names of the statistics that hold clusters and are not kept, given the names of a partition of rows in chunks and
    of its mixtures.
    """
    partition, *mixtures = in_chunks or [None]
    left_out = {FOLLOWED_LABELS} if label_storage == "none" else set()
    if var_names is not None:
        left_out |= set() if partition in var_names else {CLUSTER_COUNTS, FOLLOWED_LABELS}
        left_out |= {CLUSTER_SUMS} if set(mixtures).isdisjoint(var_names) else set()
    return left_out


def without_clusters(record):
    """Take the statistics that hold clusters out of a record; return it and them, by name, one list for each chain."""
    found = {
        name: [of_chain[step][name] for of_chain in record.stats]
        for step, dtypes in enumerate(record.sampler_vars)
        for name in _NAMES
        if name in dtypes
    }
    stats = [[_without(rows) for rows in of_chain] for of_chain in record.stats]
    return record._replace(stats=stats, sampler_vars=[_without(rows) for rows in record.sampler_vars]), found


def _without(rows):
    return {name: values for name, values in rows.items() if name not in _NAMES}


def add_clusters(groups, clusters, model, record, label_storage, var_names):
    """Put labels of followed rows into the group ``posterior`` and clusters into a group of their own, in place."""
    [(partition, kind)] = partitions_of(model, Chunked).items()
    kept = [rv for rv in mixtures_of(model, partition) if var_names is None or rv.name in var_names]
    for prefix, rows in record.groups.items():
        draws = {name: [list(of_chain[rows]) for of_chain in chains] for name, chains in clusters.items()}
        coords = {"chain": np.arange(len(record.stats)), "draw": np.arange(rows.stop - rows.start)}
        if FOLLOWED_LABELS in draws:
            labels = np.array(draws[FOLLOWED_LABELS])
            labels = labels.astype(np.int64 if label_storage == "full" else smallest_type(labels.max()))
            dim = f"{partition.name}_row"
            posterior = groups.get(f"{prefix}posterior", xr.Dataset()).assign_coords(coords)
            posterior = posterior.assign({partition.name: (("chain", "draw", dim), labels)})
            groups[f"{prefix}posterior"] = posterior.assign_coords({dim: kind.rows.followed})
        groups[f"{prefix}clusters"] = _clusters(draws, mixtures_of(model, partition), kept).assign_coords(coords)


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
