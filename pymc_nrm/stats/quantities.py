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
    ``partition_number`` which partition they sample.  In results without it, the statistics of this partition are those
    whose number of clusters and entropy match its labels in every draw; if none or several match, none are used.

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
            # Labels are those of the followed rows.
            result = result.assign(_reported(idata, result, ["n_clusters", "entropy"]))
        return _with_statistics(result, idata)
    components = components_of(idata, draws.name)
    if components is not None:
        result = result.assign(n_components=(SAMPLE_DIMS, components.values.max(axis=2) + 1))
    return result.assign(_reported(idata, result, ["log_joint"]))


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


def _reported(idata, quantities, names):
    """What the step of a partition reported under some names at the given draws, as variables; none if unknown."""
    stats, _ = statistics_at(idata, quantities)
    own = None if stats is None else reported_by(stats, quantities.attrs["partition"], names[0])
    return {} if own is None else {name: (SAMPLE_DIMS, own_column(stats, name, own)) for name in names}


def _with_statistics(result, idata):
    """Add what the step of a partition reported to quantities of its labels."""
    stats, own, reason = own_statistics(idata, result)
    if stats is not None and n_columns(stats, ALL_SLOTS_USED) == n_columns(stats, "n_clusters"):
        result = result.assign({ALL_SLOTS_USED: (SAMPLE_DIMS, own_column(stats, ALL_SLOTS_USED, own))})
    if stats is not None and n_columns(stats, "log_joint") != n_columns(stats, "n_clusters"):
        # Steps of nested partitions report log_joint as well, but no number of clusters.
        own = reported_by(stats, result.attrs["partition"], "log_joint")
        if own is None:
            reason = "left out: not every step that reports a number of clusters reports it"
    if reason:
        return result.assign_attrs(log_joint=reason)
    return result.assign(log_joint=(SAMPLE_DIMS, own_column(stats, "log_joint", own)))


def own_statistics(idata, quantities):
    """Statistics of the steps at the given draws, and the step of the partition. ``reason`` says why the step could not
    be found, and is empty if it was. Shapes: returns ``own`` (n_chains, n_draws, n_steps).
    """
    stats, reason = statistics_at(idata, quantities)
    if stats is None:
        return None, None, reason
    if not {"n_clusters", "entropy"} <= set(stats.data_vars):
        return None, None, "left out: sample_stats has no number of clusters and entropy"
    own = reported_by(stats, quantities.attrs["partition"], "n_clusters")
    if own is None:
        fitting = _fitting_columns(stats, quantities)
        if len(fitting) > 1:
            return None, None, "left out: several steps report the same numbers of clusters and entropies"
        own = np.zeros((*columns_of(stats, "n_clusters").shape,), dtype=bool)
        own[:, :, fitting] = True
    # Labels of some of the items, or of other draws, do not match what the step reported.
    if not own.any() or not np.array_equal(own_column(stats, "n_clusters", own), quantities.n_clusters):
        return None, None, "left out: the numbers of clusters in sample_stats are not those of the labels"
    return stats, own, ""


def _fitting_columns(stats, quantities):
    """Steps whose numbers of clusters and entropies match those of a partition in every draw."""
    n_clusters, entropy = columns_of(stats, "n_clusters"), columns_of(stats, "entropy")
    return [
        column
        for column in range(min(n_clusters.shape[2], entropy.shape[2]))
        if np.array_equal(n_clusters[:, :, column], quantities.n_clusters)
        and np.allclose(entropy[:, :, column], quantities.entropy, rtol=0, atol=1e-9)
    ]


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
