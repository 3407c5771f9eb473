"""Pictures of trajectories."""

from pymc_nrm.growth.plots.trajectories import plot_trajectories

__all__ = ["plot_trajectories"]
