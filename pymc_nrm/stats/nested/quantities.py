"""Quantities of nested partitions that do not depend on how nodes are named, and their convergence."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import xlogy

from pymc_nrm.stats.contingency import cluster_sizes
from pymc_nrm.stats.convergence import convergence_table, halves
from pymc_nrm.stats.nested.levels import components_of, levels
from pymc_nrm.stats.partition_convergence import N_PAIRS, extremes, pair_convergence, pair_coordinates, random_pairs
from pymc_nrm.stats.step_statistics import own_column, reported_by, statistics_at

__all__ = ["nested_convergence", "nested_quantities"]

# Quantities of each draw, in the order in which they are shown; the last two may be missing.
NESTED_SCALARS = ("n_nodes", "entropy", "mean_common_depth", "n_components", "log_joint")


def nested_quantities(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.Dataset:
    """Quantities of each draw of a nested partition that do not depend on how nodes are named.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a nested partition, as :func:`~pymc_nrm.stats.levels` reads them.
    var_name : str, optional
        Name of the nested partition; by default the only one.

    Returns
    -------
    Dataset
        Dimensions ``chain``, ``draw`` and ``level``: ``n_nodes``, and ``entropy`` of the proportions of the nodes
        (nats).  Dimensions ``chain`` and ``draw``: ``mean_common_depth``, the level of the lowest node that two items
        share, from 0 to L, on average over all pairs of items; ``n_components``, if there are weights; and
        ``log_joint``, if ``sample_stats`` has that of this nested partition.

    Raises
    ------
    ValueError
        If there is no such nested partition, or several to choose from.

    Examples
    --------
    >>> paths = [[0, 0], [0, 1], [1, 2]]
    >>> h = xr.DataArray([[paths]], dims=("chain", "draw", "item", "level"))
    >>> quantities = nested_quantities(h)
    >>> quantities.n_nodes.values.tolist(), quantities.mean_common_depth.round(3).values.tolist()
    ([[[2, 3]]], [[0.333]])
    """
    result = quantities_of_levels(levels(idata, var_name))
    components = components_of(idata, var_name)
    if components is not None:
        result = result.assign(n_components=(("chain", "draw"), components.values.max(axis=2) + 1))
    stats, _ = statistics_at(idata, result)
    own = None if stats is None else reported_by(stats, result.attrs["partition"], "log_joint")
    if own is not None:
        result = result.assign(log_joint=(("chain", "draw"), own_column(stats, "log_joint", own)))
    return result


def quantities_of_levels(draws):
    """:func:`nested_quantities` of draws that :func:`~pymc_nrm.stats.nested.levels.levels` has read."""
    labels = draws.values
    shape, n = labels.shape[:3], labels.shape[3]
    sizes = cluster_sizes(labels.reshape(-1, n)).reshape(*shape, -1)
    proportions = sizes / n
    joined = (sizes * (sizes - 1)).sum(axis=3)
    dims = ("chain", "draw", "level")
    return xr.Dataset(
        {
            "n_nodes": (dims, (sizes > 0).sum(axis=3)),
            # The absolute value turns -0 into 0.
            "entropy": (dims, np.abs(xlogy(proportions, proportions).sum(axis=3)).round(12)),
            "mean_common_depth": (dims[:2], joined.sum(axis=2) / max(n * (n - 1), 1)),
        },
        coords={dim: draws[dim].values for dim in dims if dim in draws.coords},
        attrs={"partition": str(draws.name)},
    )


def nested_convergence(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    var_name: str | None = None,
    *,
    n_pairs: int = N_PAIRS,
    random_seed: Any = 0,
) -> xr.Dataset:
    """Check whether chains agree about a tree, by how deep the lowest common node of two items is in each chain.

    The pairs are chosen at random, without looking at the draws.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a nested partition, as :func:`~pymc_nrm.stats.levels` reads them.
    var_name : str, optional
        Name of the nested partition; by default the only one.
    n_pairs : int
        Number of pairs; all are taken if there are no more.
    random_seed : int, Generator or None
        Seed of the choice of pairs; the default always gives the same ones.

    Returns
    -------
    Dataset
        As that of :func:`~pymc_nrm.stats.partition_convergence`, for the level of the lowest common node, from 0 (the
        root) to L, instead of the indicator that two items share a cluster: ``common_depth`` is its posterior mean, and
        ``common_depth_by_part`` the mean in each chain.

    Raises
    ------
    ValueError
        If there is no such nested partition, several to choose from, or ``n_pairs`` is not a whole number of at least
        1.

    See Also
    --------
    pymc_nrm.stats.partition_convergence : The same for one level, given ``levels(idata).sel(level=1)``.

    Examples
    --------
    >>> paths = np.random.default_rng(1).integers(2, size=(2, 200, 3, 1))
    >>> h = xr.DataArray(paths, dims=("chain", "draw", "item", "level"))
    >>> result = nested_convergence(h)
    >>> result.sizes["pair"], bool(result.max_rhat < 1.05)
    (3, True)
    """
    return convergence_of_levels(levels(idata, var_name), n_pairs, random_seed)


def convergence_of_levels(draws, n_pairs, random_seed):
    """:func:`nested_convergence` of draws that :func:`~pymc_nrm.stats.nested.levels.levels` has read."""
    labels = draws.values
    pairs = random_pairs(labels.shape[3], n_pairs, random_seed)
    depth = pair_depths(labels, pairs)
    several = labels.shape[0] > 1
    found = pair_convergence(depth if several else halves(depth))
    result = xr.Dataset(
        {"common_depth": ("pair", depth.mean(axis=(0, 1)))}
        | {name: ("pair", found[name]) for name in ("mcse", "rhat", "ess", "discrepancy", "discrepancy_se", "z")}
        | {"common_depth_by_part": (("part", "pair"), found["probability_by_part"])},
        coords={"part": draws["chain"].values if several else np.arange(2)}
        | pair_coordinates(draws.isel(level=0, drop=True), pairs),
        attrs={"parts": "chains" if several else "halves", "n_levels": labels.shape[2]},
    )
    constant = (depth == depth[:1, :1]).all(axis=(0, 1))
    return result.assign(extremes(result) | {"n_constant": int(constant.sum())})


def pair_depths(labels, pairs):
    """Level of the lowest common node of pairs of items, shape (n_chains, n_draws, n_pairs), from labels by level."""
    depth = np.zeros((*labels.shape[:2], len(pairs)), dtype=np.int16)
    for level in range(labels.shape[2]):
        depth += labels[:, :, level, pairs[:, 0]] == labels[:, :, level, pairs[:, 1]]
    return depth


def nested_diagnostics_tree(idata, var_name, n_pairs=N_PAIRS, random_seed=0):
    """Diagnostics of one nested partition as a tree, as :func:`~pymc_nrm.stats.add_diagnostics` says."""
    quantities = nested_quantities(idata, var_name)
    tree = xr.DataTree(quantities)
    tree["convergence"] = xr.DataTree(convergence_table(by_level(quantities)))
    tree["pairs"] = xr.DataTree(convergence_of_levels(levels(idata, var_name), n_pairs, random_seed))
    return tree


def by_level(quantities):
    """Scalars of each draw by their names: ``n_nodes level 1``, ``n_nodes level 2``, ..., ``mean_common_depth``."""
    scalars = {}
    for name in NESTED_SCALARS:
        if name not in quantities:
            continue
        array = quantities[name]
        if "level" in array.dims:
            rows = {f"{name} level {level}": array.sel(level=level, drop=True) for level in array["level"].values}
            scalars |= rows
        else:
            scalars[name] = array
    return scalars
