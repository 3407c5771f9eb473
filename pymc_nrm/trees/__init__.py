"""Binary merge trees: Bayesian hierarchical clustering, greedy and incremental, bounds, guide trees of samplers."""

from pymc_nrm.trees.alternatives import AlternativeTrees, alternative_trees
from pymc_nrm.trees.bayes_kmeans import bayes_kmeans_bhc
from pymc_nrm.trees.bounds import log_evidence_lower_bound
from pymc_nrm.trees.clustering import bhc, ibhc
from pymc_nrm.trees.dendrogram import Dendrogram
from pymc_nrm.trees.guide import guide_tree
from pymc_nrm.trees.hyperparameters import OptimizedHyperparameters, optimize_hyperparameters
from pymc_nrm.trees.predictive import predictive_log_density
from pymc_nrm.trees.streaming import IncrementalClustering
from pymc_nrm.trees.tree import Tree

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
