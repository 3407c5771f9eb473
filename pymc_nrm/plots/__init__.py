"""Pictures with arviz-plots, which is imported when the first one is drawn."""

from pymc_nrm.plots.dendrogram import plot_dendrogram

__all__ = ["plot_dendrogram"]
