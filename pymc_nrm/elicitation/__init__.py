"""Hyperparameters from what is known about the number of clusters, and prior laws of partitions."""

from pymc_nrm.elicitation.elicit import ElicitedPrior, elicit

__all__ = ["ElicitedPrior", "elicit"]
