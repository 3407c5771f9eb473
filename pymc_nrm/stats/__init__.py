"""Computations on draws that are already there: NumPy and xarray only."""

from pymc_nrm.stats.diagnostics import add_diagnostics, partition_quantities
from pymc_nrm.stats.partition_convergence import partition_convergence
from pymc_nrm.stats.summary import summary

__all__ = [
    "add_diagnostics",
    "partition_convergence",
    "partition_quantities",
    "summary",
]
