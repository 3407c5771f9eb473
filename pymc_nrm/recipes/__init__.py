"""Models from a matrix or a table in one call."""

from pymc_nrm.recipes.gaussian_mixture import gaussian_mixture
from pymc_nrm.recipes.mixture_model import mixture_model
from pymc_nrm.recipes.table_data import table_data
from pymc_nrm.recipes.ties import jitter_ties

__all__ = ["gaussian_mixture", "jitter_ties", "mixture_model", "table_data"]
