"""Predictions without PyMC: a file of what predictions of new rows need, and what reads it."""

from pymc_nrm.serving.export import Exported, export
from pymc_nrm_predictor import ClusterProbabilities, Predictor, Quantiles

__all__ = ["ClusterProbabilities", "Exported", "Predictor", "Quantiles", "export"]
