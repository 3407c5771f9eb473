"""Label-invariant quantities of each draw, and what steps have reported of them."""

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.marks import ALL_SLOTS_USED, ROWS
from pymc_nrm.stats.contingency import cluster_sizes
from pymc_nrm.stats.levels import components_of, flat_or_nested_draws
from pymc_nrm.stats.result import SAMPLE_DIMS, result_of
from pymc_nrm.stats.step_statistics import step_statistics

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
        followed rows, number of clusters and entropy are of all rows, from ``sample_stats``, and sizes of the
        followed rows.

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
    result = result_of(idata)
    return quantities_of(flat_or_nested_draws(result, var_name), result)


def quantities_of(draws, result):
    """Quantities of draws that :func:`~pymc_nrm.stats.levels.flat_or_nested_draws` has read from a result."""
    quantities = label_quantities(draws)
    if draws.ndim == 3:
        if ROWS in draws.attrs:
            # The labels are labels of the followed rows.
            reported, _ = step_statistics(result, quantities)
            quantities = quantities.assign({} if reported is None else reported[["n_clusters", "entropy"]])
        return _with_statistics(quantities, result, "n_clusters")
    components = components_of(result, draws.name)
    if components is not None:
        quantities = quantities.assign(n_components=(SAMPLE_DIMS, components.values.max(axis=2) + 1))
    return _with_statistics(quantities, result, None)


def label_quantities(draws):
    """What follows from labels alone, of clusters or, with a dimension ``level``, of nodes."""
    # Items have no dimension here.
    labels, dims = draws.values, (*SAMPLE_DIMS, "level")[: draws.ndim - 1]
    n = labels.shape[-1]
    sizes = cluster_sizes(labels.reshape(-1, n)).reshape(*labels.shape[:-1], -1)
    proportions = sizes / n
    number = (dims, (sizes > 0).sum(axis=-1))
    # The absolute value turns -0 into 0.  Steps round alike, so that equal entropies tie in ranks.
    entropy = (dims, np.abs(scipy.special.xlogy(proportions, proportions).sum(axis=-1)).round(12))
    coords = {
        dim: draws[draws_dim].values
        for dim, draws_dim in zip(dims, draws.dims, strict=False)
        if draws_dim in draws.coords
    }
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
    """Scalars of each draw by their names, of levels as ``n_nodes level 1``, ``n_nodes level 2``, ...."""
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


def _with_statistics(quantities, result, checked):
    """Add what the step of a partition reported to quantities of its labels, if both agree about ``checked``."""
    reported, reason = step_statistics(result, quantities, checked)
    if reported is None:
        return quantities.assign_attrs(log_joint=reason)
    if "log_joint" not in reported:
        quantities = quantities.assign_attrs(log_joint="left out: not every step of a partition reports it")
    return quantities.assign({name: reported[name] for name in ("log_joint", ALL_SLOTS_USED) if name in reported})
