"""Estimators with the interface of scikit-learn."""

from pymc_nrm.recipes.estimator.mixture_estimator import MixtureEstimator

__all__ = ["MixtureEstimator"]
