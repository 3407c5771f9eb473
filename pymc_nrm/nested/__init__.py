"""Nested partitions: trees of fixed depth over the items, with weights and components, and data that diffuse down."""

from typing import TYPE_CHECKING

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.common.on_demand import modules_on_demand
from pymc_nrm.common.pymc_internals import register_steps
from pymc_nrm.nested.families import IndependentNormalDiffusion, NormalDiffusion
from pymc_nrm.nested.models.nested_partition import NestedPartition
from pymc_nrm.nested.partitions.nested import KnownTree, Nested, WeightedNested
from pymc_nrm.nested.partitions.nested_levels import HierarchicalDirichletProcess
from pymc_nrm.nested.posterior.shown_clusters import clusters_of_tree
from pymc_nrm.nested.posterior.tree_draws import KnownTreeDraws, TreeDraws, WeightedTreeDraws
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
from pymc_nrm.nested.steps.nested_gibbs import NestedGibbs
from pymc_nrm.posterior.any_draws import DRAWS
from pymc_nrm.posterior.default_clusters import clusters_of_kind

__all__ = [
    "HierarchicalDirichletProcess",
    "IndependentNormalDiffusion",
    "ItemTree",
    "NestedGibbs",
    "NestedPartition",
    "NormalDiffusion",
    "clade_probability",
    "consensus_tree",
    "dendrogram_purity",
    "f_measure",
    "level_agreement",
    "maximum_clade_credibility",
    "nested_point_estimate",
    "normalized_mutual_information",
    "purity",
    "triplet_accuracy",
]

register_steps(NestedGibbs)
DRAWS.update({Nested: TreeDraws, WeightedNested: WeightedTreeDraws, KnownTree: KnownTreeDraws})
clusters_of_kind.register(Nested, clusters_of_tree)

document_all(globals())

if TYPE_CHECKING:
    from pymc_nrm.nested import plots as plots
    from pymc_nrm.nested import testing as testing
else:  # to type checkers, a module with this function has every attribute
    __getattr__ = modules_on_demand(__name__, "plots", "testing")
