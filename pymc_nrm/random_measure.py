"""The random measure given draws of a partition: draws of it, their mean, density and distribution function."""

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.posterior.random_measure import measure_cdf, measure_density, measure_mean, sample_random_measure

__all__ = ["measure_cdf", "measure_density", "measure_mean", "sample_random_measure"]

document_all(globals())
