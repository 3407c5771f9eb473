"""Solve for coordinates at which the number of clusters has a wanted mean and a wanted spread."""

import functools
import math
from typing import NamedTuple

import numpy as np
import scipy

from pymc_nrm.common.supports import AboveFeatures, Positive, UnitInterval, WholeNumber

# Largest spacing of a lattice; the error is about 1e-8 here.
_LARGEST_SPACING = 0.5

# Distributions at points of less weight are left out.
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
    """The distribution of the number of clusters with a hyperparameter integrated out."""

    def __init__(self, pmf_at, limits):
        self._pmf_at, self._limits = functools.cache(pmf_at), limits

    def __call__(self, hyperprior):
        """The distribution under a hyperprior."""
        sd, low, high = hyperprior.line
        spacing = 2.0 ** math.floor(math.log2(min(_LARGEST_SPACING, sd)))
        x = spacing * np.arange(math.ceil(low / spacing), math.floor(high / spacing) + 1)
        log_weights = hyperprior.log_density(x)
        weights = np.exp(log_weights - log_weights.max())
        kept = weights > _NEGLIGIBLE * weights.sum()
        weights = weights[kept] / weights[kept].sum()
        # Many points may share a limit.
        points, place = np.unique(np.clip(x[kept], *self._limits), return_inverse=True)
        distributions = [self._pmf_at(float(point)) for point in points]
        mixture = np.zeros(max(map(len, distributions)))
        for weight, distribution in zip(np.bincount(place, weights), distributions, strict=True):
            mixture[: len(distribution)] += weight * distribution
        return mixture


_TOLERANCE = 1e-7
# Points of the second coordinate at which attainable spreads are computed.
_N_SCANNED = 13
# Intervals between them at whose one end the mean cannot be attained are halved so many times.
_N_HALVED = 8


class OutOfReachError(Exception):
    """No coordinates give what is wanted."""

    def __init__(self, what, low, high):
        super().__init__(what, low, high)
        self.what, self.low, self.high = what, low, high


def match_mean(mean, wanted, limits, start=0.0):
    """Coordinate at which the mean, a monotone function, has a wanted value."""

    @functools.cache
    def excess(x):
        return mean(x) - wanted

    start = min(max(start, limits[0]), limits[1] - 0.5)
    rises = excess(start + 0.5) >= excess(start)
    direction = 1.0 if (excess(start) < 0.0) == rises else -1.0
    x, step = start, 0.5
    while excess(x) * excess(start) > 0.0:
        if x in limits and x != start:
            raise OutOfReachError("mean", *sorted(mean(limit) for limit in limits))
        x, step = float(np.clip(x + direction * step, *limits)), 2.0 * step
    low, high = sorted((start, x))
    return start if low == high else scipy.optimize.brentq(excess, low, high, xtol=1e-10, rtol=1e-12)


def match_mean_and_spread(moments, wanted, limits, start):
    """Two coordinates at which mean and spread have wanted values."""
    # A quasi-Newton method, from a point that has the wanted mean.  Where it fails, the spread is computed along the
    # curve on which the mean is as wanted, up to the ends of the curve, and its root is bracketed.
    curve = MeanCurve(lambda *x: moments(x)[0], wanted[0], limits[0], start[0])

    def spread(outer):
        return moments(curve(outer))[1]

    def distance(x):
        inside = np.clip(x, *np.transpose(limits))
        mean, spread = moments(inside)
        return np.log([(mean - 1.0) / (wanted[0] - 1.0), spread / wanted[1]])

    grid = np.linspace(*limits[1], _N_SCANNED)
    for outer in sorted(grid, key=lambda y: abs(y - start[1])):
        if curve.reaches(outer):
            solution = scipy.optimize.root(
                distance, curve(outer), method="hybr", options={"xtol": 1e-10, "maxfev": 60}
            ).x
            if (solution == np.clip(solution, *np.transpose(limits))).all() and np.abs(
                distance(solution)
            ).max() < _TOLERANCE:
                return solution
            break
    outers = curve.refined(grid)
    if len(outers) == 0:
        raise OutOfReachError("mean", *curve.attained)
    spreads = np.array([spread(outer) for outer in outers])
    crossings = np.flatnonzero((spreads[1:] >= wanted[1]) != (spreads[:-1] >= wanted[1]))
    if len(crossings) == 0:
        raise OutOfReachError("spread", spreads.min(), spreads.max())
    left = crossings[0]
    outer = scipy.optimize.brentq(lambda y: spread(y) - wanted[1], outers[left], outers[left + 1], xtol=1e-9)
    return np.array(curve(outer))


class MeanCurve:
    """The curve of pairs of coordinates that have a wanted mean, by the second coordinate."""

    def __init__(self, mean, wanted, limits, start):
        self._mean, self._wanted, self._limits, self._last = mean, wanted, limits, start
        self._known, self.attained = {}, (np.inf, -np.inf)

    def __call__(self, outer):
        """The pair with this second coordinate."""
        if outer not in self._known:
            self._last = match_mean(lambda x: self._mean(x, outer), self._wanted, self._limits, self._last)
            self._known[outer] = self._last
        return self._known[outer], outer

    def reaches(self, outer):
        """Whether there is such a pair."""
        try:
            self(outer)
        except OutOfReachError as reason:
            self.attained = min(self.attained[0], reason.low), max(self.attained[1], reason.high)
            return False
        return True

    def refined(self, grid):
        """Those second coordinates of a grid that have a pair, and others close to where pairs end."""
        reached = [self.reaches(outer) for outer in grid]
        coordinates = [outer for outer, there in zip(grid, reached, strict=True) if there]
        for k in np.flatnonzero(np.diff(reached)):
            inside, outside = (grid[k], grid[k + 1]) if reached[k] else (grid[k + 1], grid[k])
            for _ in range(_N_HALVED):
                middle = (inside + outside) / 2.0
                if self.reaches(middle):
                    inside = middle
                    coordinates.append(middle)
                else:
                    outside = middle
        return np.sort(coordinates)
