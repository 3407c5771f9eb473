"""What the steps of partitions report in every draw, and which step is that of a given partition."""

import warnings

import numpy as np
import xarray as xr

from pymc_nrm.common.marks import NUMBER, partition_number
from pymc_nrm.stats.draws import sampled_numbers, with_chains

__all__ = ["columns_of", "n_columns", "own_column", "reported_by", "statistics_at", "warn_of_foreign_steps"]


def n_columns(stats, name):
    """Number of steps that report a statistic."""
    if name not in stats:
        return 0
    return int(np.prod(stats[name].shape[2:], dtype=int))


def columns_of(stats, name):
    """What each step reports under a name, shape (n_chains, n_draws, n_steps)."""
    array = stats[name].transpose("chain", "draw", ...).values
    return array.reshape(*array.shape[:2], -1)


def own_column(stats, name, own):
    """What the step of a partition reports, shape (n_chains, n_draws). Shapes: ``own`` (n_chains, n_draws, n_steps)."""
    columns = columns_of(stats, name)
    return columns[own].reshape(columns.shape[:2])


def reported_by(stats, name, statistic):
    """Find the step of a partition among those that report a statistic, by what the steps report. The result is None if
    steps do not report it, or not all of them the statistic.  Chains from several runs may have their steps in
    different orders. Shapes: returns (n_chains, n_draws, n_steps).
    """
    if NUMBER not in stats or n_columns(stats, NUMBER) != n_columns(stats, statistic):
        return None
    own = columns_of(stats, NUMBER) == partition_number(name)
    return own if (own.sum(axis=2) == 1).all() else None


def statistics_at(idata, quantities):
    """Statistics of the steps at given draws. Also returns the reason why there are none, or an empty string."""
    if not isinstance(idata, xr.DataTree) or "sample_stats" not in idata.children:
        return None, "left out: there is no group sample_stats"
    stats = with_chains(idata["sample_stats"].to_dataset())
    for dim in ("chain", "draw"):
        if dim in stats.indexes and dim in quantities.indexes:
            wanted, there = quantities.indexes[dim], stats.indexes[dim]
            if not wanted.equals(there) and there.is_unique and wanted.isin(there).all():
                stats = stats.sel({dim: wanted})
    if (stats.sizes["chain"], stats.sizes["draw"]) != (quantities.sizes["chain"], quantities.sizes["draw"]):
        return None, "left out: sample_stats and posterior have different draws"
    return stats, ""


def warn_of_foreign_steps(idata):
    """Warn of partitions whose draws PyMC made with a step that is not for partitions, such as ``pm.Metropolis``.

    A partition of a model brings a deterministic with it.  Draws without statistics of any step, such as prior draws,
    or from another library, are taken as they are.
    """
    if not isinstance(idata, xr.DataTree) or not {"posterior", "sample_stats"} <= set(idata.children):
        return
    posterior, stats = idata["posterior"], idata["sample_stats"]
    numbers = sampled_numbers(idata)
    if posterior.attrs.get("inference_library") != "pymc" or not stats.data_vars:
        return
    for name, array in posterior.data_vars.items():
        is_partition = array.dtype.kind in "iu" and any(
            f"{name}_{quantity}" in posterior.data_vars for quantity in ("n_clusters", "n_nodes", "n_components")
        )
        if is_partition and partition_number(str(name)) not in numbers:
            warnings.warn(
                f"no step of this package has sampled {name!r}: sample_stats has no statistics of one. If a "
                "step of your own did not, its draws are not from the posterior, even if chains agree. Use nrm.sample "
                "without a step for this variable",
                UserWarning,
                stacklevel=3,
            )
