"""What steps of labels that index parameters share: empty slots, whose parameters they draw from their prior."""

import logging
from dataclasses import field

from pymc_nrm.common.pymc_internals import dataclass_state
from pymc_nrm.models.itemwise.local_variables import EmptySlots, local_variables
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.steps.step import StepState

# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_runs")


@dataclass_state
class SlotStepState(StepState):
    """Sampler state needed to resume a chain: also the generators of parameters of empty slots."""

    generators: list = field(default_factory=list)


class SlotStep:
    """Draws of parameters of empty slots, for steps of labels: it comes before their other base."""

    _state_class = SlotStepState

    def read_slots(self, model, partition, table, point, compile_kwargs):
        """Find the parameters of slots, and say where a length does not tell slots from items."""
        kind = kind_of(partition)
        if table.unnamed:
            _information.info(
                f"{kind.argument_of_slots} of {partition.name!r} is the number of its items. "
                f"{', '.join(table.unnamed)} must have an entry\nfor each {kind.one_label}, not for each item; dims of "
                "the variable would say so."
            )
        self.local = local_variables(model, partition, kind.max_clusters, point)
        self.empty_slots = EmptySlots(model, self.local, compile_kwargs)

    @property
    def generators(self):
        """States of the generators that draw parameters of empty slots."""
        return self.empty_slots.state

    @generators.setter
    def generators(self, states):
        self.empty_slots.state = states
