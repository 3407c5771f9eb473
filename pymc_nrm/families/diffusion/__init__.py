"""Tree families: the distribution of data whose means diffuse down a tree, with all node means integrated out."""

from pymc_nrm.families.diffusion.independent_normal_diffusion import IndependentNormalDiffusion
from pymc_nrm.families.diffusion.normal_diffusion import NormalDiffusion

__all__ = ["IndependentNormalDiffusion", "NormalDiffusion"]
