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
from pymc_nrm.nested.stats.agreement import (
    dendrogram_purity,
    f_measure,
    level_agreement,
    normalized_mutual_information,
    purity,
    triplet_accuracy,
)
from pymc_nrm.nested.stats.item_tree import ItemTree
from pymc_nrm.nested.stats.nested_point_estimate import (
    clade_probability,
    consensus_tree,
    maximum_clade_credibility,
    nested_point_estimate,
)

__all__ = [
    "ItemTree",
    "add_diagnostics",
    "adjusted_rand",
    "assignment_uncertainty",
    "binder_loss",
    "clade_probability",
    "cluster_parameters",
    "common_depth",
    "common_depth_linkage",
    "component_draws",
    "consensus_tree",
    "credible_ball",
    "dendrogram_purity",
    "expected_loss",
    "f_measure",
    "level_agreement",
    "levels",
    "maximum_clade_credibility",
    "nested_names",
    "nested_point_estimate",
    "normalized_mutual_information",
    "normalized_variation_of_information",
    "one_minus_adjusted_rand",
    "partition_convergence",
    "partition_draws",
    "partition_names",
    "partition_quantities",
    "point_estimate",
    "point_estimates",
    "purity",
    "similarity",
    "similarity_rows",
    "stack_draws",
    "summary",
    "triplet_accuracy",
    "variation_of_information",
    "without_labels",
]

document_all(globals())
