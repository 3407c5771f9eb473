"""What the step of a partition reported of its draws, found by the number of the partition alone."""

import warnings

import numpy as np
import xarray as xr

from pymc_nrm.common.marks import NUMBER, partition_number
from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.stats.result import SAMPLE_DIMS, Result, with_chains


def step_statistics(result, quantities, checked=None):
    """What the step of a partition reported at given draws, (chain, draw) by name; None and the reason if unknown.

    Statistics are unknown if they differ from the quantity ``checked``, as where labels are of a selection of items.
    """
    stats, reason = statistics_at(result, quantities)
    if stats is None:
        return None, reason
    reported = reported_by(stats, quantities.attrs["partition"])
    if reported is None:
        return None, "left out: sample_stats does not say which step sampled the partition"
    if checked is not None and checked not in reported:
        return None, f"left out: not every step of a partition reports {checked}"
    if checked is not None and not np.array_equal(reported[checked], quantities[checked]):
        return None, f"left out: {checked} in sample_stats differs from the labels"
    return reported, ""


def reported_by(stats, name):
    """What the step of a partition reported, (chain, draw) by name; None if steps do not report what they sample.

    A statistic that other steps of partitions lack is left out if the result does not say who reported it.
    """
    if NUMBER not in stats:
        return None
    # Chains from several runs may have their steps in different orders.
    is_step = _by_step(stats[NUMBER]) == partition_number(name)
    if not (is_step.sum(axis=2) == 1).all():
        return None
    reported = {}
    for key, array in stats.data_vars.items():
        values = _by_step(array)
        if values.shape == is_step.shape:
            values = values[is_step].reshape(is_step.shape[:2])
            is_missing = values.dtype.kind == "f" and np.isnan(values).all()
            reported |= {} if is_missing else {str(key): (SAMPLE_DIMS, values)}
    return xr.Dataset(reported)


def _by_step(array):
    """What each step reports, shape (n_chains, n_draws, n_steps)."""
    values = array.transpose(*SAMPLE_DIMS, ...).values
    return values.reshape(*values.shape[:2], -1)


def statistics_at(result, quantities):
    """Statistics of the steps at given draws. Also returns the reason why there are none, or an empty string."""
    if not isinstance(result, Result) or result.statistics is None:
        return None, "left out: there is no group sample_stats"
    stats = with_chains(result.statistics)
    for dim in ("chain", "draw"):
        if dim in stats.indexes and dim in quantities.indexes:
            wanted, there = quantities.indexes[dim], stats.indexes[dim]
            if not wanted.equals(there) and there.is_unique and wanted.isin(there).all():
                stats = stats.sel({dim: wanted})
    if (stats.sizes["chain"], stats.sizes["draw"]) != (quantities.sizes["chain"], quantities.sizes["draw"]):
        return None, "left out: sample_stats and posterior have different draws"
    return stats, ""


def warn_of_foreign_steps(result):
    """Warn of partitions whose draws PyMC made with a step that is not for partitions, such as ``pm.Metropolis``.

    A partition of a model brings a deterministic with it.  Draws without statistics of any step, such as prior draws,
    or from another library, are taken as they are.
    """
    posterior, stats = result.posterior, result.statistics
    if stats is None or posterior.attrs.get("inference_library") != "pymc" or not stats.data_vars:
        return
    for name, array in posterior.data_vars.items():
        is_partition = array.dtype.kind in "iu" and any(
            f"{name}_{quantity}" in posterior.data_vars for quantity in ("n_clusters", "n_nodes", "n_components")
        )
        if is_partition and partition_number(str(name)) not in result.sampled_numbers:
            warnings.warn(
                wrapped(
                    f"no step of this package has sampled {name!r}: sample_stats lacks its statistics. Unless a "
                    "step of your own has, its draws are not from the posterior, even if chains agree. Use nrm.sample "
                    "without a step for this variable"
                ),
                UserWarning,
                stacklevel=3,
            )
