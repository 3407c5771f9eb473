"""Pictures of hidden states."""

from pymc_nrm.states.plots.state_sequence import plot_state_sequence
from pymc_nrm.states.plots.transitions import plot_transitions

__all__ = ["plot_state_sequence", "plot_transitions"]
