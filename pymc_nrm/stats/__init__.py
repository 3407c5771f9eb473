"""Summaries and diagnostics of draws of partitions; none depends on how clusters are named."""

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.stats.cluster_parameters import cluster_parameters
from pymc_nrm.stats.convergence import partition_convergence
from pymc_nrm.stats.diagnostics import add_diagnostics
from pymc_nrm.stats.draws import partition_draws, stack_draws
from pymc_nrm.stats.levels import common_depth, common_depth_linkage, component_draws, levels
from pymc_nrm.stats.losses import (
    adjusted_rand,
    binder_loss,
    expected_loss,
    normalized_variation_of_information,
    one_minus_adjusted_rand,
    variation_of_information,
)
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.point_estimates import point_estimates
from pymc_nrm.stats.quantities import partition_quantities
from pymc_nrm.stats.result import nested_names, partition_names
from pymc_nrm.stats.similarity import similarity, similarity_rows
from pymc_nrm.stats.summary import summary, without_labels
from pymc_nrm.stats.uncertainty import assignment_uncertainty, credible_ball

__all__ = [
    "add_diagnostics",
    "adjusted_rand",
    "assignment_uncertainty",
    "binder_loss",
    "cluster_parameters",
    "common_depth",
    "common_depth_linkage",
    "component_draws",
    "credible_ball",
    "expected_loss",
    "levels",
    "nested_names",
    "normalized_variation_of_information",
    "one_minus_adjusted_rand",
    "partition_convergence",
    "partition_draws",
    "partition_names",
    "partition_quantities",
    "point_estimate",
    "point_estimates",
    "similarity",
    "similarity_rows",
    "stack_draws",
    "summary",
    "variation_of_information",
    "without_labels",
]

document_all(globals())
