"""Statistics of the steps of several partitions, by partition: PyMC puts equal names side by side, without a name."""

import numpy as np
import xarray as xr

from pymc_nrm.common.marks import ALL_SLOTS_USED, NAME, NUMBER, partition_number


def split_statistics(record, partitions):
    """Take the statistics of the steps of several partitions out of a record, and return both.

    The statistics are a dataset with dimensions chain, draw and partition, and one draw for each row of the record; a
    step that does not report a statistic has NaN, or False for ``all_slots_used``.  The dataset is None where a
    partition lacks a step of this package, or there is one partition only.
    """
    steps = [k for k, dtypes in enumerate(record.sampler_vars) if NUMBER in dtypes]
    names = {partition_number(partition.name): partition.name for partition in partitions}
    numbers = [[of_chain[k][NUMBER][:1].tolist() for k in steps] for of_chain in record.stats]
    order = [number for first in numbers[0] for number in first]
    if len(names) < 2 or sorted(order) != sorted(names) or any(chain != numbers[0] for chain in numbers):
        return record, None
    # PyMC keeps what steps of other variables report as well.
    others = {name for k, dtypes in enumerate(record.sampler_vars) if k not in steps for name in dtypes}
    reported = sorted({name for k in steps for name in record.sampler_vars[k]} - others)
    statistics = xr.Dataset(
        {name: (("chain", "draw", NAME), _side_by_side(record, steps, name)) for name in reported},
        {NAME: [names[number] for number in order]},
    )

    def without(rows):
        return {name: values for name, values in rows.items() if name not in statistics}

    stats = [[without(rows) for rows in of_chain] for of_chain in record.stats]
    return record._replace(stats=stats, sampler_vars=[without(dtypes) for dtypes in record.sampler_vars]), statistics


def _side_by_side(record, steps, name):
    """Values of a statistic of some steps, shape (n_chains, n_rows, n_steps)."""
    n_rows = record.n_warmup_rows + record.n_draw_rows
    missing = np.full(n_rows, False if name == ALL_SLOTS_USED else np.nan)
    chains = [[of_chain[k].get(name, missing) for k in steps] for of_chain in record.stats]
    return np.moveaxis(np.array(chains), 1, 2)


def add_statistics(groups, statistics, record):
    """Put the statistics of :func:`split_statistics` into the groups of a result, in place."""
    for prefix, rows in record.groups.items() if statistics is not None else ():
        stats = groups.get(f"{prefix}sample_stats", xr.Dataset())
        # PyMC gives a statistic of NUTS the name of one of splits and merges.
        draws = statistics.isel(draw=rows).drop_vars([name for name in statistics.data_vars if name in stats])
        coords = {dim: np.arange(draws.sizes[dim]) for dim in ("chain", "draw")} | dict(stats.coords)
        merged = stats.assign(draws.assign_coords(coords).variables)
        groups[f"{prefix}sample_stats"] = merged[sorted(merged.data_vars)]
