"""Pictures of hidden states."""

from pymc_nrm.plots.state_sequence import plot_state_sequence
from pymc_nrm.plots.transitions import plot_transitions

__all__ = ["plot_state_sequence", "plot_transitions"]
