"""Summaries and diagnostics of draws of partitions; none depends on how clusters are named."""

from pymc_nrm.stats.cluster_parameters import cluster_parameters
from pymc_nrm.stats.credible_ball import credible_ball
from pymc_nrm.stats.diagnostics import add_diagnostics, partition_quantities
from pymc_nrm.stats.draws import partition_draws, partition_names, stack_draws
from pymc_nrm.stats.losses import (
    adjusted_rand,
    binder_loss,
    expected_loss,
    normalized_variation_of_information,
    one_minus_adjusted_rand,
    variation_of_information,
)
from pymc_nrm.stats.partition_convergence import partition_convergence
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.similarity import similarity, similarity_rows
from pymc_nrm.stats.summary import summary
from pymc_nrm.stats.uncertainty import assignment_uncertainty
from pymc_nrm.stats.without_labels import without_labels

__all__ = [
    "add_diagnostics",
    "adjusted_rand",
    "assignment_uncertainty",
    "binder_loss",
    "cluster_parameters",
    "credible_ball",
    "expected_loss",
    "normalized_variation_of_information",
    "one_minus_adjusted_rand",
    "partition_convergence",
    "partition_draws",
    "partition_names",
    "partition_quantities",
    "point_estimate",
    "similarity",
    "similarity_rows",
    "stack_draws",
    "summary",
    "variation_of_information",
    "without_labels",
]
