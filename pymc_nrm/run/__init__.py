"""Draws from the posterior: how chains are run, what is kept of them, and what is checked."""

from pymc_nrm.run.messages import convergence_messages, pair_messages
from pymc_nrm.run.resuming import resume
from pymc_nrm.run.sampling import sample

__all__ = ["convergence_messages", "pair_messages", "resume", "sample"]
