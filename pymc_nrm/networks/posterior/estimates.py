"""Estimates of the partitions of a block model: of its nodes, or of its rows and its columns."""

from typing import Any, NamedTuple

from pymc_nrm.posterior.default_clusters import draws_of_partition
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.result import shows_bars


class Clusters(NamedTuple):
    """Clusters of rows or of columns: labels in order of appearance (n,), and what they are called."""

    labels: Any
    names: Any


def clusters_of(idata, model, partition, estimate):
    """Clusters of an estimate of a partition, by default the point estimate with seed 0, or labels that are known."""
    draws = draws_of_partition(idata, model, partition)
    if estimate is None and partition in model.observed_RVs:
        estimate = draws.isel(chain=0, draw=0)
    elif estimate is None:
        estimate = point_estimate(draws, random_seed=0, progressbar=shows_bars(idata))
    return Clusters(*read_estimate(estimate, draws))


def read_estimates(draws, idata, estimate):
    """Clusters of rows and of columns of :class:`BlockDraws`, of a network the same ones twice."""
    partitions = draws.blocks.partitions
    given = [estimate]
    if draws.is_table:
        given = [None, None] if estimate is None else _two([partition.name for partition in partitions], estimate)
    clusters = [clusters_of(idata, draws.model, *pair) for pair in zip(partitions, given, strict=True)]
    return [clusters[0], clusters[-1]]


def _two(names, estimate):
    if isinstance(estimate, dict):
        unknown = [name for name in estimate if name not in names]
        if unknown:
            raise ValueError(f"estimate must have the names of partitions, of {names}; got {unknown[0]!r}")
        return [estimate.get(name) for name in names]
    if not isinstance(estimate, list | tuple) or len(estimate) != 2:
        raise ValueError(
            f"estimate must be two estimates, of {names[0]!r} and {names[1]!r}, or a dict with these names; got "
            f"{type(estimate).__name__}"
        )
    return list(estimate)
