"""Which items of a partition have values, in results: estimates and descriptions leave the others out."""

from pymc_nrm.common.marks import VALUES_OF
from pymc_nrm.common.result_names import added_names
from pymc_nrm.models.empty_items import items_with_values
from pymc_nrm.stats.draws import item_dimension, items_in_estimates, read_draws


def mark_items(posterior, model, partition):
    """Add a coordinate to draws of a partition, a Dataset, that tells items with values from those without any.

    Draws without such items, with another number of items, or that have the coordinate are returned as they are.
    """
    has_values = items_with_values(model, partition)
    if has_values is None or partition.name not in posterior:
        return posterior
    draws = read_draws(posterior, partition.name)
    dim = item_dimension(draws)
    if draws.sizes[dim] != len(has_values) or items_in_estimates(draws) is not None:
        return posterior
    [name] = added_names({*posterior.dims, *posterior.coords, *posterior.data_vars}, f"{partition.name}_has_values")
    return posterior.assign_coords({name: (dim, has_values, {VALUES_OF: partition.name})})
