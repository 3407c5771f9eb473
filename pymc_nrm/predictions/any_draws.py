"""Posterior draws of a partition of any kind."""

from pymc_nrm.model.rvs import find_partition, has_known_paths, is_nested_partition
from pymc_nrm.predictions.grouped_draws import GroupedDraws
from pymc_nrm.predictions.nested_draws import NestedDraws
from pymc_nrm.predictions.partition_draws import PartitionDraws

__all__ = ["check_new_paths", "draws_of"]


def draws_of(idata, model, partition=None, new_paths=None):
    """Draws of a partition, nested or not, with known paths or not. Shapes: ``new_paths`` (m,) or (m, depth)."""
    rv = find_partition(model, partition, nested=True)
    if has_known_paths(rv):
        return GroupedDraws(idata, model, rv.name, new_paths)
    check_new_paths(rv, new_paths)
    return (NestedDraws if is_nested_partition(rv) else PartitionDraws)(idata, model, rv.name)


def check_new_paths(partition, new_paths):
    """Raise a ValueError if there are groups of new items, but those of the old ones are not known."""
    if new_paths is not None and not has_known_paths(partition):
        raise ValueError(
            f"new_paths must be None, since {partition.name!r} is no NestedPartition with known paths; got "
            f"{new_paths!r}"
        )
