"""Binary merge trees: Bayesian hierarchical clustering, greedy and incremental, and guide trees for samplers."""

from pymc_nrm.trees.clustering import bhc, ibhc
from pymc_nrm.trees.dendrogram import Dendrogram
from pymc_nrm.trees.guide import guide_tree
from pymc_nrm.trees.streaming import IncrementalClustering
from pymc_nrm.trees.tree import Tree

__all__ = ["Dendrogram", "IncrementalClustering", "Tree", "bhc", "guide_tree", "ibhc"]
