"""Draws of the concentrations that ``learned`` of families of counts learns, with parameters of clusters summed out."""

import math
from typing import Any, NamedTuple

from pymc_nrm.kernels.generic import generic, kernel


@generic
def log_height(target, x):
    """Log density, up to a constant, of a target of :func:`slice_sample`."""
    raise NotImplementedError


@kernel
def slice_sample(rng, target, x, width):
    """Draw from a transition that leaves the density of a target on the real line invariant.

    It is right for every width, and fast for one of about two standard deviations.
    """
    # Neal (2003), "Slice sampling", sections 4.1 and 4.2.
    level = log_height(target, x) - rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    while log_height(target, low) > level:
        low -= width
    while log_height(target, high) > level:
        high += width
    while True:
        y = low + (high - low) * rng.random()
        # The interval shrinks to x if heights there are NaN.
        if log_height(target, y) >= level or y == x:
            return y
        if y < x:
            low = y
        else:
            high = y


@generic
def log_marginals_of_feature(family, rows, feature, factor):
    """Sum over clusters, rows (n_clusters, statistics_size), of what a feature adds to log marginals, up to a constant.

    All hyperparameters of the feature that are not whole numbers are multiplied by a factor.
    """
    raise NotImplementedError


class ConcentrationTarget(NamedTuple):
    """Density of the log of a feature's concentration given the partition, with a normal prior."""

    # A concentration of 1 gives these hyperparameters.
    family: Any
    rows: Any
    feature: Any
    mean: Any
    deviation: Any

    def log_height(self, x):
        likelihood = log_marginals_of_feature(self.family, self.rows, self.feature, math.exp(x))
        return likelihood - 0.5 * ((x - self.mean) / self.deviation) ** 2


@kernel
def draw_concentrations(rng, family, rows, laws, logs):
    """Draw logarithms of concentrations given the statistics of clusters, and change them in place.

    Given the partition, features are independent, and each draw leaves the law of its feature invariant.  The family is
    that of concentrations of 1; rows of ``laws`` are means and standard deviations of normal priors.
    """
    # The more clusters, the narrower the law.
    width = min(1.5, 6.0 / math.sqrt(rows.shape[0]))
    for j in range(logs.shape[0]):
        target = ConcentrationTarget(family, rows, j, laws[0, j], laws[1, j])
        logs[j] = slice_sample(rng, target, logs[j], width)
