"""Small data sets that come with the package."""

from pymc_nrm.datasets.shipped import galaxies, old_faithful, penguins

__all__ = ["galaxies", "old_faithful", "penguins"]
