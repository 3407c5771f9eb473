"""Diagnostics of partitions that do not depend on how clusters are named, as groups of the result."""

import re
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import xlogy

from pymc_nrm.common.marks import ALL_SLOTS_USED
from pymc_nrm.stats.contingency import cluster_sizes
from pymc_nrm.stats.convergence import convergence_table
from pymc_nrm.stats.draws import partition_draws, partition_names
from pymc_nrm.stats.nested.levels import nested_names
from pymc_nrm.stats.nested.quantities import nested_diagnostics_tree
from pymc_nrm.stats.partition_convergence import N_PAIRS, convergence_of
from pymc_nrm.stats.step_statistics import (
    columns_of,
    n_columns,
    own_column,
    reported_by,
    statistics_at,
    warn_of_foreign_steps,
)

__all__ = ["add_diagnostics", "cluster_sizes", "diagnose", "partition_quantities"]

GROUP = "partition_stats"

# Scalars of each draw, in the order in which they are shown; the last one may be missing.
SCALARS = ("n_clusters", "entropy", "largest_cluster", "log_joint")


def partition_quantities(idata: xr.DataTree | xr.Dataset | xr.DataArray, var_name: str | None = None) -> xr.Dataset:
    """Quantities of each draw of a partition that do not depend on how clusters are named.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a partition.
    var_name : str, optional
        Name of the partition; by default the only one.

    Returns
    -------
    Dataset
        Dimensions ``chain`` and ``draw``: ``n_clusters``, ``entropy`` of the cluster proportions (nats),
        ``largest_cluster`` (its size), and ``log_joint``, the log density of data, partition and u given everything
        else, from ``sample_stats``.  ``cluster_sizes`` has the further dimension ``rank``, 1 for the largest cluster;
        draws with fewer clusters are padded with zeros.  For partitions with ``max_clusters``, ``all_slots_used`` says
        whether a draw has as many clusters, from ``sample_stats``.

        ``log_joint`` is left out unless it is known to belong to these draws of this partition; the attribute
        ``log_joint`` then says why.

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
    """
    return quantities_of(partition_draws(idata, var_name), idata)


def quantities_of(draws, idata):
    """:func:`partition_quantities` of draws that :func:`~pymc_nrm.stats.draws.partition_draws` has read."""
    result = _label_quantities(draws)
    stats, own, reason = _statistics_of(idata, result)
    if stats is not None and n_columns(stats, ALL_SLOTS_USED) == n_columns(stats, "n_clusters"):
        result = result.assign({ALL_SLOTS_USED: (("chain", "draw"), own_column(stats, ALL_SLOTS_USED, own))})
    if stats is not None and n_columns(stats, "log_joint") != n_columns(stats, "n_clusters"):
        # Steps of nested partitions report log_joint as well, but no number of clusters.
        own = reported_by(stats, result.attrs["partition"], "log_joint")
        if own is None:
            reason = "left out: not every step that reports a number of clusters reports it"
    if reason:
        return result.assign_attrs(log_joint=reason)
    return result.assign(log_joint=(("chain", "draw"), own_column(stats, "log_joint", own)))


def _label_quantities(draws):
    labels = draws.values
    sizes = cluster_sizes(labels.reshape(-1, labels.shape[2])).reshape(*labels.shape[:2], -1)
    proportions = sizes / labels.shape[2]
    sample = ("chain", "draw")
    return xr.Dataset(
        {
            "n_clusters": (sample, (sizes > 0).sum(axis=2)),
            # The absolute value turns -0 into 0.  Steps round alike, so that equal entropies tie in ranks.
            "entropy": (sample, np.abs(xlogy(proportions, proportions).sum(axis=2)).round(12)),
            "largest_cluster": (sample, sizes[:, :, 0]),
            "cluster_sizes": ((*sample, "rank"), sizes),
        },
        coords={dim: draws[dim].values for dim in sample if dim in draws.coords}
        | {"rank": np.arange(1, sizes.shape[2] + 1)},
        attrs={"partition": str(draws.name)},
    )


def _statistics_of(idata, quantities):
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


def acceptance(idata, quantities):
    """Acceptance rates and numbers of moves of the step of a partition. The table has ``n_proposed``, ``n_accepted``
    and ``acceptance_rate`` by kind of move, and means such as ``n_moved_per_draw``.  The attribute ``left_out`` names
    statistics that may belong to another step.
    """
    stats, own, reason = _statistics_of(idata, quantities)
    if reason:
        return xr.Dataset(attrs={"left_out": reason})
    n_steps = n_columns(stats, "n_clusters")
    pattern = r"n_\w+_(proposed|accepted)|n_(\w+_)?moved"
    names = sorted(str(name) for name in stats.data_vars if re.fullmatch(pattern, str(name)))
    # Each step that reports a statistic has a column; with fewer columns than steps, the owners are unknown.
    known = {name: own_column(stats, name, own) for name in names if n_columns(stats, name) == n_steps}
    kinds = [
        name.removeprefix("n_").removesuffix("_proposed")
        for name in known
        if name.endswith("_proposed") and name.removesuffix("proposed") + "accepted" in known
    ]
    result = xr.Dataset(attrs={"left_out": ", ".join(sorted(set(names) - set(known)))})
    if "chain" in quantities.coords:
        result = result.assign_coords(chain=quantities["chain"].values)
    if kinds:
        proposed, accepted = (
            np.stack([known[f"n_{kind}_{what}"].sum(axis=1) for kind in kinds], axis=1)
            for what in ("proposed", "accepted")
        )
        rate = np.where(proposed > 0, accepted / np.maximum(proposed, 1), np.nan)
        values = {"n_proposed": proposed, "n_accepted": accepted, "acceptance_rate": rate}
        result = result.assign({name: (("chain", "kind"), value) for name, value in values.items()})
        result = result.assign_coords(kind=[kind.removesuffix("s") for kind in kinds])
    moved = {f"{name}_per_draw": ("chain", known[name].mean(axis=1)) for name in known if name.endswith("moved")}
    return result.assign(moved)


def diagnose(idata, var_name=None, *, n_pairs=N_PAIRS, random_seed=0):
    """Diagnostics of one partition as a tree; :func:`add_diagnostics` says what it holds."""
    if var_name in nested_names(idata):
        return nested_diagnostics_tree(idata, var_name, n_pairs, random_seed)
    draws = partition_draws(idata, var_name)
    return diagnostics_tree(idata, quantities_of(draws, idata), draws, n_pairs, random_seed)


def diagnostics_tree(idata, quantities, draws=None, n_pairs=N_PAIRS, random_seed=0):
    """Make the tree of :func:`diagnose` from quantities of a partition; without draws it has no group ``pairs``."""
    scalars = {name: quantities[name] for name in SCALARS if name in quantities}
    tree = xr.DataTree(quantities)
    tree["convergence"] = xr.DataTree(convergence_table(scalars))
    if draws is not None:
        tree["pairs"] = xr.DataTree(convergence_of(draws, n_pairs, random_seed))
    tree["acceptance"] = xr.DataTree(acceptance(idata, quantities))
    return tree


def add_diagnostics(
    idata: xr.DataTree, var_name: str | None = None, *, n_pairs: int = N_PAIRS, random_seed: Any = 0
) -> xr.DataTree:
    """Put diagnostics of partitions into a result, in place.

    :func:`~pymc_nrm.sample` calls this.  Call it again after selecting draws, since groups are not updated.

    Parameters
    ----------
    idata : DataTree
        Result of sampling, with group ``posterior``.
    var_name : str, optional
        Name of a partition; by default all partitions.
    n_pairs : int
        Number of pairs of items in ``pairs``.
    random_seed : int, Generator or None
        Seed for choosing the pairs.

    Returns
    -------
    DataTree
        The same object, with a group ``partition_stats/<name>`` for each partition, which replaces an older one:

        * its variables, with dimensions ``chain`` and ``draw``, are ``n_clusters``, ``entropy`` (nats),
          ``largest_cluster``, ``log_joint``, and ``cluster_sizes``, with the further dimension ``rank``; see
          :func:`~pymc_nrm.stats.diagnostics.partition_quantities`,
        * ``convergence``: R-hat, effective sample sizes and Monte Carlo standard errors of the scalars,
        * ``pairs``: the result of :func:`~pymc_nrm.stats.partition_convergence.partition_convergence`,
        * ``acceptance``: acceptance rates by kind of move.

        Nested partitions have the variables of :func:`~pymc_nrm.stats.nested_quantities`, ``convergence`` level by
        level, and in ``pairs`` the result of :func:`~pymc_nrm.stats.nested_convergence`.

    Raises
    ------
    TypeError
        If ``idata`` is not a DataTree.
    ValueError
        If there is no partition, or none of that name.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = np.random.default_rng(1).integers(2, size=(2, 200, 3))
    >>> labels = np.where(labels == labels[..., :1], 0, 1)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), labels)})
    >>> idata = add_diagnostics(xr.DataTree.from_dict({"posterior": posterior}))
    >>> idata["partition_stats/z/convergence"]["quantity"].values.tolist()
    ['n_clusters', 'entropy', 'largest_cluster']
    """
    if not isinstance(idata, xr.DataTree):
        raise TypeError(f"idata must be a DataTree; got {type(idata).__name__}")
    warn_of_foreign_steps(idata)
    names = [*partition_names(idata), *nested_names(idata)] if var_name is None else [var_name]
    if not names:
        raise ValueError("idata must hold a partition in its group posterior; found none")
    trees = {name: diagnose(idata, name, n_pairs=n_pairs, random_seed=random_seed) for name in names}
    attach(idata, trees, replace_all=var_name is None)
    return idata


def attach(idata, trees, *, replace_all):
    """Put trees of diagnostics, given by the names of their partitions, into the group of diagnostics."""
    if replace_all and GROUP in idata.children:
        del idata[GROUP]
    for name, tree in trees.items():
        idata[f"{GROUP}/{name}"] = tree
