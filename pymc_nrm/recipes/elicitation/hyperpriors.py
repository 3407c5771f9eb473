"""Hyperpriors with two parameters, and the law of the number of clusters that they imply.

A hyperprior is used on the unconstrained line of its hyperparameter (logarithm or log odds), where its density is
analytic: the trapezoid rule on a lattice is then exact up to an error that falls exponentially in the inverse of the
spacing.  Spacings are powers of 2, so that finer lattices contain the coarser ones and laws are computed once.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy

from pymc_nrm.common.supports import AboveFeatures, Positive, UnitInterval, WholeNumber

# Largest spacing of a lattice; the error is about 1e-8 here.
_LARGEST_SPACING = 0.5

# Laws at points of less weight are left out.
_NEGLIGIBLE = 1e-10


class _AlphaBeta(NamedTuple):
    alpha: float
    beta: float


class GammaHyperprior(_AlphaBeta):
    """Gamma distribution of a positive hyperparameter; fields are arguments of :class:`pymc.Gamma`."""

    # Limits of the coordinates: log mean, log coefficient of variation.
    limits = ((-16.0, 16.0), (math.log(0.02), math.log(5.0)))
    # Name of the class in PyMC.
    distribution = "Gamma"

    @classmethod
    def at(cls, x):
        """The distribution at two coordinates."""
        shape = math.exp(-2.0 * x[1])
        return cls(shape, shape * math.exp(-x[0]))

    @property
    def line(self):
        """Standard deviation and ends of the logarithm."""
        center, sd = math.log(self.alpha / self.beta), math.sqrt(scipy.special.polygamma(1, self.alpha))
        return sd, center - 8.0 * sd - 30.0 / self.alpha, center + 4.0 * sd + math.log1p(60.0 / self.alpha)

    def log_density(self, x):
        """Log density of the logarithm, up to a constant."""
        return self.alpha * x - self.beta * np.exp(x)


class BetaHyperprior(_AlphaBeta):
    """Beta distribution of a hyperparameter between 0 and 1; fields are arguments of :class:`pymc.Beta`."""

    # Limits of the coordinates: log odds of the mean, half the negative logarithm of alpha + beta.
    limits = ((-9.0, 9.0), (math.log(0.01), math.log(4.0)))
    distribution = "Beta"

    @classmethod
    def at(cls, x):
        """The distribution at two coordinates."""
        total, mean = math.exp(-2.0 * x[1]), 1.0 / (1.0 + math.exp(-x[0]))
        return cls(total * mean, total * (1.0 - mean))

    @property
    def line(self):
        """Standard deviation and ends of the log odds."""
        sd = math.sqrt(scipy.special.polygamma(1, self.alpha) + scipy.special.polygamma(1, self.beta))
        center = math.log(self.alpha / self.beta)
        return sd, center - 8.0 * sd - 30.0 / self.alpha, center + 8.0 * sd + 30.0 / self.beta

    def log_density(self, x):
        """Log density of the log odds, up to a constant."""
        return self.alpha * x - (self.alpha + self.beta) * np.logaddexp(0.0, x)


def hyperprior_class(support):
    """The class of hyperpriors on a support, or None."""
    if isinstance(support, UnitInterval):
        return BetaHyperprior
    from_zero = isinstance(support, Positive) and not isinstance(support, AboveFeatures | WholeNumber)
    return GammaHyperprior if from_zero else None


class HyperpriorLaw:
    """The law of the number of clusters with a hyperparameter integrated out."""

    def __init__(self, pmf_at, limits):
        self._pmf_at, self._limits, self._known = pmf_at, limits, {}

    def __call__(self, hyperprior):
        """The law under a hyperprior."""
        sd, low, high = hyperprior.line
        spacing = 2.0 ** math.floor(math.log2(min(_LARGEST_SPACING, sd)))
        x = spacing * np.arange(math.ceil(low / spacing), math.floor(high / spacing) + 1)
        log_weights = hyperprior.log_density(x)
        weights = np.exp(log_weights - log_weights.max())
        kept = weights > _NEGLIGIBLE * weights.sum()
        weights = weights[kept] / weights[kept].sum()
        # Many points may share a limit.
        points, place = np.unique(np.clip(x[kept], *self._limits), return_inverse=True)
        laws = [self._at(float(point)) for point in points]
        mixture = np.zeros(max(map(len, laws)))
        for weight, law in zip(np.bincount(place, weights), laws, strict=True):
            mixture[: len(law)] += weight * law
        return mixture

    def _at(self, x):
        if x not in self._known:
            self._known[x] = self._pmf_at(x)
        return self._known[x]
