"""Evidence of one cluster of a kind against one cluster of another, for the values of a column."""

import numpy as np
import scipy

# Least standard deviation of a normal cluster of whole numbers: the jitter alone has this one.
_LEAST_SPREAD = 1 / np.sqrt(12)


def evidence_of_counts(values):
    """Log Bayes factor of one Poisson cluster against one normal cluster of the same rounded numbers, in nats a row.

    The Bayesian information criterion approximates both, with one parameter and two.
    """
    n, mean = len(values), values.mean()
    spread = max(values.std(), _LEAST_SPREAD)
    poisson = values * np.log(mean) - mean - scipy.special.gammaln(values + 1)
    # The probability that a normal number is rounded to a value, from the nearer tail so that none is lost.
    distance = np.abs(values - mean)
    upper, lower = (scipy.special.log_ndtr(-(distance + side) / spread) for side in (-0.5, 0.5))
    normal = upper + np.log1p(-np.exp(lower - upper))
    return (poisson.sum() - normal.sum() + 0.5 * np.log(n)) / n


def evidence_of_logarithm(values):
    """Log likelihood of one normal cluster of the logarithms of positive values, as a density of the values, minus that
    of one normal cluster of the values, in nats a row.
    """
    logs = np.log(values)
    return np.log(values.std()) - np.log(logs.std()) - logs.mean()
