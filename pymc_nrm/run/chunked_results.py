"""Draws of partitions of rows in chunks: labels of followed rows, and sizes and sums of all clusters."""

import numpy as np
import xarray as xr

from pymc_nrm.models.dependents import mixtures_of
from pymc_nrm.models.rvs import partitions_of
from pymc_nrm.partitions.chunked import CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS, Chunked
from pymc_nrm.partitions.labels import smallest_type

__all__ = ["add_clusters", "without_clusters"]

_NAMES = (CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS)


def without_clusters(record):
    """Take the statistics that hold clusters out of a record; return it and them, by name, one list for each chain."""
    steps = [number for number, dtypes in enumerate(record.sampler_vars) if CLUSTER_COUNTS in dtypes]
    if not steps:
        return record, {}
    [step] = steps
    found = {name: [of_chain[step][name] for of_chain in record.stats] for name in _NAMES}
    stats = [[_without(rows) for rows in of_chain] for of_chain in record.stats]
    return record._replace(stats=stats, sampler_vars=[_without(rows) for rows in record.sampler_vars]), found


def _without(rows):
    return {name: values for name, values in rows.items() if name not in _NAMES}


def add_clusters(groups, clusters, model, record):
    """Put labels of followed rows into the group ``posterior`` and clusters into a group of their own, in place."""
    [(partition, kind)] = partitions_of(model, Chunked).items()
    mixtures = mixtures_of(model, partition)
    for ending, first, n_rows in (
        ("warmup_", 0, record.n_warmup_rows),
        ("", record.n_warmup_rows, record.n_draw_rows),
    ):
        if not n_rows:
            continue
        kept = {name: [rows[first : first + n_rows] for rows in chains] for name, chains in clusters.items()}
        labels = np.array([list(rows) for rows in kept[FOLLOWED_LABELS]])
        dim = f"{partition.name}_row"
        labels = xr.DataArray(
            labels.astype(smallest_type(labels.max())),
            dims=("chain", "draw", dim),
            coords={dim: kind.rows.followed},
            name=partition.name,
        )
        name = f"{ending}posterior"
        groups[name] = groups[name].assign({partition.name: labels}) if name in groups else labels.to_dataset()
        groups[f"{ending}clusters"] = _clusters(kept, mixtures, groups[name])


def _clusters(kept, mixtures, posterior):
    """Sizes and statistics of clusters, padded with empty clusters; statistics of mixtures side by side."""
    counts, sums = ([list(rows) for rows in kept[name]] for name in (CLUSTER_COUNTS, CLUSTER_SUMS))
    most = max(len(row) for rows in counts for row in rows)
    quantum = np.concatenate([rv.owner.op.measured.quanta.quantum for rv in mixtures])
    shape = (len(counts), len(counts[0]), most)
    sizes, statistics = np.zeros(shape, dtype=np.int64), np.zeros((*shape, len(quantum)))
    for chain, rows in enumerate(counts):
        for draw, row in enumerate(rows):
            sizes[chain, draw, : len(row)] = row
            statistics[chain, draw, : len(row)] = sums[chain][draw] * quantum
    dims, variables, start = ("chain", "draw", "cluster"), {}, 0
    for rv in mixtures:
        end = start + len(rv.owner.op.measured.sums)
        variables[rv.name] = ((*dims, f"{rv.name}_statistic"), statistics[..., start:end])
        start = end
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values}
    return xr.Dataset({"size": (dims, sizes), **variables}, coords=coords)
