"""The scale on which kernels hold the features of a family: the units of the data, or their logarithms."""

import math

import numpy as np

from pymc_nrm.families.base import log_likelihood
from pymc_nrm.kernels.generic import generic, kernel

# Logarithms of the smallest and the largest positive double with all digits.
LOG_SMALLEST, LOG_LARGEST = math.log(np.finfo(float).tiny), math.log(np.finfo(float).max)


@generic
def to_scale(family, columns, values, module=np):
    """Values in some columns, an index of features, on the scale of kernels before centring, by NumPy or PyTensor."""
    return values


@generic
def from_scale(family, columns, values):
    """Values in some columns, an index of features, in the units of the data: the inverse of :func:`to_scale`."""
    return values


@kernel
def positive_exp(y):
    """Return exp(y), or the nearest positive double, so that a draw is positive and finite as data must be."""
    return math.exp(min(max(y, LOG_SMALLEST), LOG_LARGEST))


@generic
def log_likelihood_on_scale(family, X, labels):
    """Symbolic :func:`~pymc_nrm.families.base.log_likelihood`, given data (n, d) in the coordinates of kernels."""
    return log_likelihood(family, X, labels)
