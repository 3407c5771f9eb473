"""Pictures of trees."""

from pymc_nrm.nested.plots.tree import plot_tree

__all__ = ["plot_tree"]
