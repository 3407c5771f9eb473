"""The family of trajectories, and fast forms of its functions, which are added on import."""

from pymc_nrm.growth.families import fast_normal_trajectory as fast_normal_trajectory
from pymc_nrm.growth.families.normal_trajectory import NormalTrajectory

__all__ = ["NormalTrajectory"]
