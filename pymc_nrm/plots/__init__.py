"""Plots with arviz-plots, which the first plot imports."""

from pymc_nrm.plots.category_shares import plot_category_shares
from pymc_nrm.plots.cluster_parameters import plot_cluster_parameters
from pymc_nrm.plots.cluster_sizes import plot_cluster_sizes
from pymc_nrm.plots.clusters import plot_clusters
from pymc_nrm.plots.conditional_density import plot_conditional_density
from pymc_nrm.plots.dendrogram import plot_dendrogram
from pymc_nrm.plots.density import plot_density, plot_held_out_density
from pymc_nrm.plots.distance import plot_distance
from pymc_nrm.plots.n_clusters import plot_n_clusters, plot_nodes_by_level
from pymc_nrm.plots.partition_trace import plot_partition_trace
from pymc_nrm.plots.prior_partition import plot_prior_partition
from pymc_nrm.plots.side_by_side import plot_credible_ball, plot_point_estimates
from pymc_nrm.plots.similarity import plot_similarity

__all__ = [
    "plot_category_shares",
    "plot_cluster_parameters",
    "plot_cluster_sizes",
    "plot_clusters",
    "plot_conditional_density",
    "plot_credible_ball",
    "plot_dendrogram",
    "plot_density",
    "plot_distance",
    "plot_held_out_density",
    "plot_n_clusters",
    "plot_nodes_by_level",
    "plot_partition_trace",
    "plot_point_estimates",
    "plot_prior_partition",
    "plot_similarity",
]
