"""The draws of a partition of any kind."""

from pymc_nrm.model.rvs import find_partition, has_known_paths, is_nested_partition, n_slots, value_of
from pymc_nrm.predictions.flat_draws import FlatDraws
from pymc_nrm.predictions.known_tree_draws import KnownTreeDraws
from pymc_nrm.predictions.slot_draws import SlotDraws
from pymc_nrm.predictions.tree_draws import TreeDraws, WeightedTreeDraws

__all__ = ["draws_class", "draws_of"]


def draws_class(rv):
    """The class of draws of a partition."""
    if has_known_paths(rv):
        return KnownTreeDraws
    if is_nested_partition(rv):
        return WeightedTreeDraws if value_of(rv).has_weights else TreeDraws
    return FlatDraws if n_slots(rv) is None else SlotDraws


def draws_of(idata, model, name=None, new_paths=None):
    """Draws of a partition, by its name if there are several. Shapes: ``new_paths`` (m,) or (m, depth)."""
    rv = find_partition(model, name, nested=True)
    draws = draws_class(rv)(idata, model, rv)
    draws.take_new_paths(new_paths)
    return draws
