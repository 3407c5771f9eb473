"""Priors over partitions.

All are of Gibbs type: the probability of a partition of n items into k clusters is ``V(n, k) prod_c (1 -
sigma)_(n_c - 1)`` (Gnedin & Pitman 2006; De Blasi et al. 2015).  They include normalized generalized gamma measures.
"""

from pymc_nrm.measures.generalized_gamma_measures import (
    DirichletProcess,
    NormalizedGeneralizedGamma,
    NormalizedInverseGaussian,
)
from pymc_nrm.measures.mixture_of_finite_mixtures import MixtureOfFiniteMixtures
from pymc_nrm.measures.pitman_yor_process import PitmanYorProcess

__all__ = [
    "DirichletProcess",
    "MixtureOfFiniteMixtures",
    "NormalizedGeneralizedGamma",
    "NormalizedInverseGaussian",
    "PitmanYorProcess",
]
