"""Estimators with the interface of scikit-learn."""

from pymc_nrm.estimators.mixture_estimator import MixtureEstimator

__all__ = ["MixtureEstimator"]
