"""Hidden states of time series: a wing, whose rooms are those of the package.

Read in this order: ``partitions/chain.py``, the kinds; ``partitions/tables.py``, their probability;
``moves/blocked.py`` and ``steps/state_sampler.py``, a draw; ``posterior/draws.py``, one more time.
"""

from typing import TYPE_CHECKING

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.common.on_demand import modules_on_demand
from pymc_nrm.common.pymc_internals import register_steps
from pymc_nrm.models.learned_priors import learned_partition
from pymc_nrm.posterior.any_draws import DRAWS
from pymc_nrm.posterior.describe import special_of_kind
from pymc_nrm.states.models.hidden_states import HiddenStates
from pymc_nrm.states.models.learned import LearnedStates, learned_states
from pymc_nrm.states.partitions.chain import Chain, States
from pymc_nrm.states.partitions.known_states import KnownStates
from pymc_nrm.states.partitions.prior import Transitions
from pymc_nrm.states.partitions.slots import StateSlots
from pymc_nrm.states.posterior.described_states import of_states
from pymc_nrm.states.posterior.draws import KnownStateDraws, StateDraws
from pymc_nrm.states.posterior.forecast_density import forecast_density
from pymc_nrm.states.posterior.slot_draws import StateSlotDraws
from pymc_nrm.states.posterior.state_probabilities import state_probabilities, transition_matrix
from pymc_nrm.states.recipes.regime_model import regime_model
from pymc_nrm.states.stats.state_durations import state_durations
from pymc_nrm.states.steps.learned import StateConcentrations
from pymc_nrm.states.steps.state_gibbs import StateGibbs
from pymc_nrm.states.steps.state_sampler import StateSampler
from pymc_nrm.steps.learned_gibbs import DRAWN_BY

__all__ = [
    "HiddenStates",
    "StateGibbs",
    "StateSampler",
    "Transitions",
    "forecast_density",
    "regime_model",
    "state_durations",
    "state_probabilities",
    "transition_matrix",
]

# What the core asks of a kind and cannot know: steps, draws, descriptions, priors of hyperparameters, what draws these.
register_steps(StateSampler, StateGibbs)
DRAWS.update({States: StateDraws, KnownStates: KnownStateDraws, StateSlots: StateSlotDraws})
special_of_kind.register(Chain, lambda kind, asked: of_states(asked))
learned_partition.register(Chain, learned_states)
DRAWN_BY[LearnedStates] = StateConcentrations

document_all(globals())

if TYPE_CHECKING:
    from pymc_nrm.states import plots as plots
else:  # to type checkers, a module with this function has every attribute
    __getattr__ = modules_on_demand(__name__, "plots")
