"""Priors over partitions, all of Gibbs type."""

from pymc_nrm.measures.dirichlet_process import DirichletProcess
from pymc_nrm.measures.normalized_generalized_gamma import NormalizedGeneralizedGamma
from pymc_nrm.measures.normalized_inverse_gaussian import NormalizedInverseGaussian
from pymc_nrm.measures.pitman_yor_process import PitmanYorProcess

__all__ = ["DirichletProcess", "NormalizedGeneralizedGamma", "NormalizedInverseGaussian", "PitmanYorProcess"]
