"""Diagnostics of a run, from labels of any type or from statistics of the steps alone."""

import numpy as np
import xarray as xr

from pymc_nrm.stats.diagnostics import diagnostics_tree, quantities_of


def diagnose_run(idata, name, n_partitions):
    """Diagnostics of a partition of a run, as :func:`~pymc_nrm.add_diagnostics` gives them.

    Steps write canonical labels, so that nothing is checked or converted: labels of one byte stay labels of one byte.
    If labels were not kept, quantities are those that the step reported, and there is no group ``pairs``.

    Parameters
    ----------
    idata : DataTree
    name : str
        Name of the partition.
    n_partitions : int
        How many partitions were sampled.

    Returns
    -------
    DataTree or None
        None if the run kept nothing of the partition that can be told from others.
    """
    posterior = idata["posterior"]
    if name in posterior:
        draws = posterior[name].transpose("chain", "draw", ...)
        return diagnostics_tree(idata, quantities_of(draws, idata), draws)
    quantities = _reported_quantities(idata, name, n_partitions)
    return None if quantities is None else diagnostics_tree(idata, quantities)


def _reported_quantities(idata, name, n_partitions):
    """Number of clusters, entropy and log joint density as the step of a partition reported them.

    With several partitions it is the step whose number of clusters is that of the partition in every draw.
    """
    if "sample_stats" not in idata.children:
        return None
    stats = idata["sample_stats"].to_dataset()
    names = [scalar for scalar in ("n_clusters", "entropy", "log_joint") if scalar in stats]
    columns = {scalar: stats[scalar].values.reshape(*stats[scalar].shape[:2], -1) for scalar in names}
    if len(names) < 3 or any(values.shape[2] != n_partitions for values in columns.values()):
        return None
    fitting = list(range(n_partitions))
    if n_partitions > 1:
        numbers = idata["posterior"].get(f"{name}_n_clusters")
        if numbers is None:
            return None
        fitting = [column for column in fitting if np.array_equal(columns["n_clusters"][:, :, column], numbers)]
    if len(fitting) != 1:
        return None
    return xr.Dataset(
        {scalar: (("chain", "draw"), values[:, :, fitting[0]]) for scalar, values in columns.items()},
        coords={dim: stats[dim].values for dim in ("chain", "draw")},
        attrs={"partition": name},
    )
