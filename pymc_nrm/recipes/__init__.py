"""Models from a matrix or a table in one call."""

from pymc_nrm.recipes.gaussian_mixture import gaussian_mixture
from pymc_nrm.recipes.mixture_model import mixture_model
from pymc_nrm.recipes.table_data import table_data

__all__ = ["gaussian_mixture", "mixture_model", "table_data"]
