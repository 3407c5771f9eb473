"""Predictions of new rows from a file that ``pymc_nrm.serving.export`` has written, with NumPy and SciPy alone."""

from pymc_nrm_predictor.predictor import ClusterProbabilities, Predictor, Quantiles

__all__ = ["ClusterProbabilities", "Predictor", "Quantiles"]
