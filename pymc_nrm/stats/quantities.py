"""Quantities of each draw that do not depend on how clusters are named, and what steps have reported of them."""

import warnings

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.marks import ALL_SLOTS_USED, NUMBER, ROWS, partition_number
from pymc_nrm.stats.contingency import cluster_sizes
from pymc_nrm.stats.draws import SAMPLE_DIMS, sampled_numbers, with_chains
from pymc_nrm.stats.nested.levels import components_of, flat_or_nested_draws

# Numbers of each draw, in the order in which they are shown, where they are known.
SCALARS = ("n_clusters", "n_nodes", "entropy", "largest_cluster", "mean_common_depth", "n_components", "log_joint")


def partition_quantities(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.Dataset:
    """Quantities of each draw of a partition that do not depend on how clusters are named.

    Parameters
    ----------
    %(draws)s
    %(flat_or_nested)s

    Returns
    -------
    Dataset
        Dimensions ``chain`` and ``draw``: ``n_clusters``, ``entropy`` of the cluster proportions (nats),
        ``largest_cluster`` (its size), and ``log_joint``, the log density of data, partition and u given everything
        else, from ``sample_stats``.  ``cluster_sizes`` has the further dimension ``rank``, 1 for the largest cluster;
        draws with fewer clusters are padded with zeros.  For partitions with ``max_clusters``, ``all_slots_used`` says
        whether a draw has as many clusters, from ``sample_stats``.  Of rows in chunks, whose draws hold labels of the
        followed rows, number of clusters and entropy are those of all rows, from ``sample_stats``, and sizes those
        among the followed rows.

        ``log_joint`` is left out unless it is known to belong to these draws of this partition; the attribute
        ``log_joint`` then says why.

        Of a nested partition, ``n_nodes`` and ``entropy`` of the proportions of the nodes have the further dimension
        ``level``.  Dimensions ``chain`` and ``draw``: ``mean_common_depth``, the level of the lowest node that two
        items share, from 0 to L, on average over all pairs of items; ``n_components``, if there are weights; and
        ``log_joint``.

    Raises
    ------
    ValueError
        If there is no such partition, or several to choose from.

    Notes
    -----
    PyMC stores statistics of the same name from several steps side by side.  The steps of this package report in
    ``partition_number`` which partition they sample; without it, no statistics are used.

    Examples
    --------
    >>> import xarray as xr
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 1, 2]]], dims=("chain", "draw", "item"), name="z")
    >>> quantities = partition_quantities(draws)
    >>> quantities.n_clusters.values.tolist(), quantities.cluster_sizes.values.tolist()
    ([[2, 3]], [[[2, 1, 0], [1, 1, 1]]])

    Draws of a nested partition:

    >>> h = xr.DataArray([[[[0, 0], [0, 1], [1, 2]]]], dims=("chain", "draw", "item", "level"))
    >>> quantities = partition_quantities(h)
    >>> quantities.n_nodes.values.tolist(), quantities.mean_common_depth.round(3).values.tolist()
    ([[[2, 3]]], [[0.333]])
    """
    return quantities_of(flat_or_nested_draws(idata, var_name), idata)


def quantities_of(draws, idata):
    """Quantities of draws that :func:`~pymc_nrm.stats.nested.levels.flat_or_nested_draws` has read."""
    result = label_quantities(draws)
    if draws.ndim == 3:
        if ROWS in draws.attrs:
            # The labels are labels of the followed rows.
            reported, _ = step_statistics(idata, result)
            result = result.assign({} if reported is None else reported[["n_clusters", "entropy"]])
        return _with_statistics(result, idata, "n_clusters")
    components = components_of(idata, draws.name)
    if components is not None:
        result = result.assign(n_components=(SAMPLE_DIMS, components.values.max(axis=2) + 1))
    return _with_statistics(result, idata, None)


def label_quantities(draws):
    """What follows from labels alone; with a dimension ``level``, that of nodes."""
    labels, dims = draws.values, draws.dims[:-1]
    n = labels.shape[-1]
    sizes = cluster_sizes(labels.reshape(-1, n)).reshape(*labels.shape[:-1], -1)
    proportions = sizes / n
    number = (dims, (sizes > 0).sum(axis=-1))
    # The absolute value turns -0 into 0.  Steps round alike, so that equal entropies tie in ranks.
    entropy = (dims, np.abs(scipy.special.xlogy(proportions, proportions).sum(axis=-1)).round(12))
    coords = {dim: draws[dim].values for dim in dims if dim in draws.coords}
    if draws.ndim == 4:
        joined = (sizes * (sizes - 1)).sum(axis=(2, 3))
        depth = (SAMPLE_DIMS, joined / max(n * (n - 1), 1))
        variables = {"n_nodes": number, "entropy": entropy, "mean_common_depth": depth}
    else:
        variables = {"n_clusters": number, "entropy": entropy, "largest_cluster": (dims, sizes[:, :, 0])}
        variables["cluster_sizes"] = ((*dims, "rank"), sizes)
        coords["rank"] = np.arange(1, sizes.shape[2] + 1)
    return xr.Dataset(variables, coords, attrs={"partition": str(draws.name)})


def scalars_of(quantities):
    """Scalars of each draw by their names, those of levels as ``n_nodes level 1``, ``n_nodes level 2``, ...."""
    scalars = {}
    for name in SCALARS:
        if name not in quantities:
            continue
        array = quantities[name]
        if "level" in array.dims:
            scalars |= {f"{name} level {level}": array.sel(level=level, drop=True) for level in array["level"].values}
        else:
            scalars[name] = array
    return scalars


def _with_statistics(result, idata, checked):
    """Add what the step of a partition reported to quantities of its labels, if both agree about ``checked``."""
    stats, reason = step_statistics(idata, result, checked)
    if stats is None:
        return result.assign_attrs(log_joint=reason)
    if "log_joint" not in stats:
        result = result.assign_attrs(log_joint="left out: not every step of a partition reports it")
    return result.assign({name: stats[name] for name in ("log_joint", ALL_SLOTS_USED) if name in stats})


def step_statistics(idata, quantities, checked=None):
    """What the step of a partition reported at given draws, (chain, draw) by name; None and the reason if unknown.

    Statistics are unknown if they differ from the quantity ``checked``, as where labels are of a selection of items.
    """
    stats, reason = statistics_at(idata, quantities)
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
