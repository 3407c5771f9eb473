"""Draws from the posterior: how chains run, what is kept of them, and what is checked."""

from pymc_nrm.run.convergence_report import convergence_report
from pymc_nrm.run.resume import resume
from pymc_nrm.run.sampling import sample
from pymc_nrm.run.save import load, save

__all__ = ["convergence_report", "load", "resume", "sample", "save"]
