"""Diagnostics of a run, from labels of any integer type or from statistics of the steps alone."""

import xarray as xr

from pymc_nrm.common.marks import ALL_SLOTS_USED
from pymc_nrm.stats.diagnostics import diagnostics_tree, n_columns, own_column, quantities_of, reported_by
from pymc_nrm.stats.draws import is_canonical, partition_draws
from pymc_nrm.stats.nested.levels import nested_names
from pymc_nrm.stats.nested.quantities import nested_diagnostics_tree


def diagnose_run(idata, name):
    """Diagnostics of a partition of a run, in the form of :func:`~pymc_nrm.add_diagnostics`.

    Labels in order of appearance are not converted, and labels of one byte stay labels of one byte; slots are renamed.
    If labels were not kept, the quantities are those that the step reported, and there is no group ``pairs``. The
    result is None if the run kept nothing of the partition.
    """
    posterior = idata["posterior"]
    if name in nested_names(idata):
        return nested_diagnostics_tree(idata, name)
    if name in posterior:
        draws = posterior[name].transpose("chain", "draw", ...)
        draws = draws if is_canonical(draws.values) else partition_draws(draws)
        return diagnostics_tree(idata, quantities_of(draws, idata), draws)
    quantities = _reported_quantities(idata, name)
    return None if quantities is None else diagnostics_tree(idata, quantities)


def _reported_quantities(idata, name):
    """Number of clusters, entropy and log joint density that the step of a partition reported."""
    if "sample_stats" not in idata.children:
        return None
    stats = idata["sample_stats"].to_dataset()
    own = reported_by(stats, name, "n_clusters")
    scalars = ["n_clusters", "entropy", "log_joint"]
    if own is None or any(n_columns(stats, scalar) != own.shape[2] for scalar in scalars):
        return None
    if n_columns(stats, ALL_SLOTS_USED) == own.shape[2]:
        scalars.append(ALL_SLOTS_USED)
    return xr.Dataset(
        {scalar: (("chain", "draw"), own_column(stats, scalar, own)) for scalar in scalars},
        coords={dim: stats[dim].values for dim in ("chain", "draw")},
        attrs={"partition": name},
    )
