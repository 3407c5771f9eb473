"""Diagnostics of partitions that do not depend on how clusters are named, as groups of the result."""

import re
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.marks import ALL_SLOTS_USED, NAME
from pymc_nrm.stats.convergence import N_PAIRS, convergence_of, convergence_table
from pymc_nrm.stats.levels import flat_or_nested_draws
from pymc_nrm.stats.quantities import quantities_of, scalars_of
from pymc_nrm.stats.result import SAMPLE_DIMS, Result, result_of
from pymc_nrm.stats.step_statistics import reported_by, step_statistics, warn_of_foreign_steps

GROUP = "partition_stats"


def acceptance(result, quantities):
    """Acceptance rates and numbers of moves of the step of a partition. The table has ``n_proposed``, ``n_accepted``
    and ``acceptance_rate`` by kind of move, and means such as ``n_moved_per_draw``.  The attribute ``left_out`` names
    statistics that may belong to another step.
    """
    result = result_of(result)
    reported, reason = step_statistics(result, quantities, "n_clusters")
    if reported is None:
        return xr.Dataset(attrs={"left_out": reason})
    pattern = r"n_\w+_(proposed|accepted)|n_(\w+_)?moved"
    stats = result.statistics
    names = sorted(str(name) for name in stats.data_vars if re.fullmatch(pattern, str(name)))
    # Beside a step that does not report them, counts are stored as floating-point numbers.
    counts = {name: reported[name].values.astype(np.int64) for name in names if name in reported}
    kinds = [
        name.removeprefix("n_").removesuffix("_proposed")
        for name in counts
        if name.endswith("_proposed") and name.removesuffix("proposed") + "accepted" in counts
    ]
    unknown = [name for name in names if name not in reported and NAME not in stats[name].dims]
    table = xr.Dataset(attrs={"left_out": ", ".join(unknown)})
    if "chain" in quantities.coords:
        table = table.assign_coords(chain=quantities["chain"].values)
    if kinds:
        proposed, accepted = (
            np.stack([counts[f"n_{kind}_{what}"].sum(axis=1) for kind in kinds], axis=1)
            for what in ("proposed", "accepted")
        )
        rate = np.where(proposed > 0, accepted / np.maximum(proposed, 1), np.nan)
        values = {"n_proposed": proposed, "n_accepted": accepted, "acceptance_rate": rate}
        table = table.assign({name: (("chain", "kind"), value) for name, value in values.items()})
        table = table.assign_coords(kind=[kind.removesuffix("s") for kind in kinds])
    moved = {f"{name}_per_draw": ("chain", counts[name].mean(axis=1)) for name in counts if name.endswith("moved")}
    return table.assign(moved)


def diagnose(result, var_name=None, *, n_pairs=N_PAIRS, random_seed=0):
    """Diagnostics of one partition of a :class:`~pymc_nrm.stats.result.Result`, see :func:`add_diagnostics`.

    If labels were not kept, the quantities are those that the step reported, and there is no group ``pairs``.
    """
    result, draws, quantities = result_of(result), None, None
    if var_name is not None and var_name not in result.posterior:
        quantities = reported_quantities(result, var_name)
    if quantities is None:
        draws = flat_or_nested_draws(result, var_name)
        quantities = quantities_of(draws, result)
    tree = xr.DataTree(quantities)
    tree["convergence"] = xr.DataTree(convergence_table(scalars_of(quantities)))
    if draws is not None:
        tree["pairs"] = xr.DataTree(convergence_of(draws, n_pairs, random_seed))
    if "n_clusters" in quantities:
        tree["acceptance"] = xr.DataTree(acceptance(result, quantities))
    return tree


def reported_quantities(result, name):
    """Number of clusters, entropy and log joint density that the step of a partition reported, or None."""
    if result.statistics is None:
        return None
    scalars, reported = ["n_clusters", "entropy", "log_joint"], reported_by(result.statistics, name)
    if reported is None or not set(scalars) <= set(reported):
        return None
    scalars += [ALL_SLOTS_USED] if ALL_SLOTS_USED in reported else []
    coords = {dim: result.statistics[dim].values for dim in SAMPLE_DIMS}
    return reported[scalars].assign_coords(coords).assign_attrs(partition=name)


def add_diagnostics(
    idata: xr.DataTree, var_name: str | None = None, *, n_pairs: int = N_PAIRS, random_seed: Any = None
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
          :func:`~pymc_nrm.stats.quantities.partition_quantities`,
        * ``convergence``: R-hat, effective sample sizes and Monte Carlo standard errors of the scalars,
        * ``pairs``: the result of :func:`~pymc_nrm.stats.partition_convergence`,
        * ``acceptance``: acceptance rates by kind of move.

        Nested partitions have those variables and pairs that these functions give for them, ``convergence`` level by
        level, and no ``acceptance``.

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
    result = Result(idata)
    warn_of_foreign_steps(result)
    names = [*result.partitions, *result.nested] if var_name is None else [var_name]
    if not names:
        raise ValueError("idata must hold a partition in its group posterior; found none")
    trees = {name: diagnose(result, name, n_pairs=n_pairs, random_seed=random_seed) for name in names}
    attach(idata, trees, replace_all=var_name is None)
    return idata


def attach(idata, trees, *, replace_all):
    """Put trees of diagnostics, given by the names of their partitions, into the group of diagnostics."""
    if replace_all and GROUP in idata.children:
        del idata[GROUP]
    for name, tree in trees.items():
        idata[f"{GROUP}/{name}"] = tree
