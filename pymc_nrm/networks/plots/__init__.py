"""Pictures of networks and tables."""

from pymc_nrm.networks.plots.blocks import plot_blocks

__all__ = ["plot_blocks"]
