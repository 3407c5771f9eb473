"""Tree families: the distribution of data whose means diffuse down a tree, with all node means integrated out."""

from pymc_nrm.nested.families.independent_normal_diffusion import IndependentNormalDiffusion
from pymc_nrm.nested.families.normal_diffusion import NormalDiffusion

__all__ = ["IndependentNormalDiffusion", "NormalDiffusion"]
