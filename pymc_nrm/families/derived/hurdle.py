"""Features that are zero or positive: a Bernoulli variable, and a family of the values that are not zero."""

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.families import base, fast
from pymc_nrm.families.derived.mapped import MappedFamily, log_volumes, underlying


class Hurdle(MappedFamily):
    """Methods of families whose underlying family is a product: of what is positive, and of positive values.

    For the latter, zeros are missing values.
    """

    def log_marginals_with_gradient(self, statistics, gradient):
        parts = underlying(self)
        # The row of BernoulliBeta has as many entries as its hyperparameters.
        size = base.statistics_size(parts.first)
        total = fast.log_marginals_with_gradient(parts.first, statistics[:, :size].copy(), gradient[:size])
        total += fast.log_marginals_with_gradient(parts.second, statistics[:, size:].copy(), gradient[size:])
        for k in range(statistics.shape[0]):
            total -= log_volumes(self, statistics[k])
        return total


def is_positive(values):
    """1 where values are positive, 0 where they are zero, NaN where they are missing."""
    return np.where(np.isnan(values), np.nan, (values > 0.0).astype("float64"))


def symbolic_parts(X, function):
    """Symbolic :func:`is_positive`, a function of positive values with NaN for the others, and whether no value is
    negative or infinite.
    """
    is_gap, positive = pt.isnan(X), pt.gt(X, 0.0) & pt.lt(X, np.inf)
    values = pt.switch(positive, function(pt.switch(positive, X, 1.0)), np.nan)
    is_possible = (is_gap | positive | pt.eq(X, 0.0)).all()
    return pt.switch(is_gap, np.nan, positive.astype("float64")), values, is_possible


def shares_of_positive(values):
    """Shares of positive values and of zeros in the data, half a value of each added, shape (d,)."""
    positive = is_positive(values)
    ones = (np.nansum(positive, axis=0) + 0.5) / ((~np.isnan(positive)).sum(axis=0) + 1.0)
    return ones, 1.0 - ones


def hurdle_cdf(probability, below, x):
    """Distribution functions at x (m,), given probabilities (n,) and functions (n, m) of what is positive."""
    probability = probability[:, None]
    return np.where(x < 0.0, 0.0, 1.0 - probability + probability * below)


def hurdle_log_affinities(probability, pairs):
    """Log affinities given probabilities (K, d) and, for each feature, log affinities (K, K) of its positive values."""
    total = np.zeros((len(probability), len(probability)))
    for p, log_affinity in zip(probability.T, pairs, strict=True):
        root, root_of_zero = np.sqrt(p), np.sqrt(1.0 - p)
        affinity = root_of_zero[:, None] * root_of_zero + root[:, None] * root * np.exp(log_affinity)
        total += np.log(np.minimum(affinity, 1.0))
    np.fill_diagonal(total, 0.0)
    return total
