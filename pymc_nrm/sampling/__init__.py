"""Draws from the posterior: how chains are run, what is kept of them, and what is checked."""

from pymc_nrm.sampling.messages import convergence_messages, pair_messages
from pymc_nrm.sampling.resuming import resume
from pymc_nrm.sampling.run import sample

__all__ = ["convergence_messages", "pair_messages", "resume", "sample"]
