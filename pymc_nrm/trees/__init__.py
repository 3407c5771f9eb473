"""Bayesian hierarchical clustering, greedy and incremental, with bounds and predictions from its trees."""

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.moves.guide_trees.guide_tree import guide_tree
from pymc_nrm.moves.guide_trees.tree import Tree
from pymc_nrm.trees.bound_gradient import OptimizedHyperparameters, optimize_hyperparameters
from pymc_nrm.trees.bounds import AlternativeTrees, alternative_trees, log_evidence_lower_bound
from pymc_nrm.trees.clustering import IncrementalClustering, bayes_kmeans_bhc, bhc, ibhc
from pymc_nrm.trees.clustering_result import Dendrogram, predictive_log_density

__all__ = [
    "AlternativeTrees",
    "Dendrogram",
    "IncrementalClustering",
    "OptimizedHyperparameters",
    "Tree",
    "alternative_trees",
    "bayes_kmeans_bhc",
    "bhc",
    "guide_tree",
    "ibhc",
    "log_evidence_lower_bound",
    "optimize_hyperparameters",
    "predictive_log_density",
]

document_all(globals())
