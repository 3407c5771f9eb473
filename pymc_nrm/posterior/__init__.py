"""What follows from the draws of a partition and the model: parameters, predictions, densities."""

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.posterior.cluster_parameters import sample_cluster_parameters
from pymc_nrm.posterior.conditional_distributions import conditional_quantiles
from pymc_nrm.posterior.describe import describe
from pymc_nrm.posterior.description import Description
from pymc_nrm.posterior.fused_estimate import fused_estimate
from pymc_nrm.posterior.label_draws import draw_labels
from pymc_nrm.posterior.label_rows import label_rows
from pymc_nrm.posterior.new_items import cluster_probabilities, sample_new_labels
from pymc_nrm.posterior.posterior_predictive import compute_log_likelihood, sample_posterior_predictive
from pymc_nrm.posterior.predictive_density import log_predictive_density, predictive_density

__all__ = [
    "Description",
    "cluster_probabilities",
    "compute_log_likelihood",
    "conditional_quantiles",
    "describe",
    "draw_labels",
    "fused_estimate",
    "label_rows",
    "log_predictive_density",
    "predictive_density",
    "sample_cluster_parameters",
    "sample_new_labels",
    "sample_posterior_predictive",
]

document_all(globals())
