"""Normalized random measures: the prior over partitions."""

from pymc_nrm.measures.dirichlet_process import DirichletProcess
from pymc_nrm.measures.normalized_generalized_gamma import NormalizedGeneralizedGamma
from pymc_nrm.measures.normalized_inverse_gaussian import NormalizedInverseGaussian

__all__ = ["DirichletProcess", "NormalizedGeneralizedGamma", "NormalizedInverseGaussian"]
