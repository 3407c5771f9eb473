"""Hyperparameters from what is known about the number of clusters, and prior laws of partitions."""

from pymc_nrm.recipes.elicitation.elicit import ElicitedPrior, elicit
from pymc_nrm.recipes.elicitation.laws import suggest_max_clusters

__all__ = ["ElicitedPrior", "elicit", "suggest_max_clusters"]
