"""The draws of a partition of any kind."""

from pymc_nrm.models.rvs import find_partition, kind_of
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.partitions.flat import Flat
from pymc_nrm.partitions.slots import Slots
from pymc_nrm.partitions.weighted_components import WeightedComponents
from pymc_nrm.posterior.component_draws import ComponentDraws
from pymc_nrm.posterior.draws import ChunkedDraws, Draws
from pymc_nrm.posterior.slot_draws import SlotDraws

# The draws of each kind of partition; a kind that is not here has the draws of the kind that it is made from.  Wings
# add entries for their kinds.
DRAWS = {
    Flat: Draws,
    Slots: SlotDraws,
    WeightedComponents: ComponentDraws,
    Chunked: ChunkedDraws,
}


def draws_class(rv):
    """The class of draws of a partition."""
    return next(DRAWS[kind] for kind in type(kind_of(rv)).__mro__ if kind in DRAWS)


def draws_of(idata, model, name=None, new_paths=None, sequence=None):
    """Draws of a partition, by its name if there are several. Shapes: ``new_paths`` (m,) or (m, depth)."""
    rv = find_partition(model, name, nested=True)
    draws = draws_class(rv)(idata, model, rv)
    draws.take_new_paths(new_paths)
    draws.take_sequence(sequence)
    return draws
