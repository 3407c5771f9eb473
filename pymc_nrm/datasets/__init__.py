"""Small data sets that come with the package."""

from pymc_nrm.datasets.shipped import galaxies

__all__ = ["galaxies"]
