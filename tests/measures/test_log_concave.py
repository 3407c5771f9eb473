"""Draws from log-concave densities against the laws of their targets."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from pymc_nrm.measures import log_concave


class Skewed(NamedTuple):
    """A left edge of the given scale and a right exponential tail: ``x = location + left G + right E`` up to shape."""

    location: float
    left: float
    right: float

    def log_density(self, x):
        z = (x - self.location) / self.left
        return -(z + math.exp(-z) if z > -700.0 else math.inf) * self.left / self.right - math.exp(min(-z, 700.0))

    def log_density_derivative(self, x):
        z = (x - self.location) / self.left
        e = math.exp(min(-z, 700.0))
        return -(1.0 - e) / self.right + e / self.left


class Normal(NamedTuple):
    mean: float
    sd: float

    def log_density(self, x):
        z = (x - self.mean) / self.sd
        return -0.5 * z * z

    def log_density_derivative(self, x):
        return -(x - self.mean) / self.sd / self.sd


class Laplace(NamedTuple):
    mean: float
    scale: float

    def log_density(self, x):
        return -abs(x - self.mean) / self.scale

    def log_density_derivative(self, x):
        return (1.0 if x < self.mean else -1.0) / self.scale


class Convex(NamedTuple):
    scale: float

    def log_density(self, x):
        return self.scale * x * x

    def log_density_derivative(self, x):
        return 2.0 * self.scale * x + 1.0


TARGETS = [
    (Normal(0.0, 1.0), stats.norm(0.0, 1.0).cdf),
    (Normal(1e3, 1e-4), stats.norm(1e3, 1e-4).cdf),
    (Normal(-1e8, 1e3), stats.norm(-1e8, 1e3).cdf),
    (Normal(1e-12, 1e-15), stats.norm(1e-12, 1e-15).cdf),
    (Normal(3.0, 1e12), stats.norm(3.0, 1e12).cdf),
    (Laplace(7.0, 0.01), stats.laplace(7.0, 0.01).cdf),
    (Laplace(-0.3, 1e5), stats.laplace(-0.3, 1e5).cdf),
    (Skewed(0.0, 1.0, 1e4), None),
    (Skewed(-500.0, 1.0, 1e4), None),
    (Skewed(1e3, 1e-4, 1.0), None),
    (Skewed(2.0, 1.0, 1.0), None),
]


@pytest.mark.parametrize("target, cdf", TARGETS, ids=[repr(target) for target, _ in TARGETS])
def test_log_concave_draws_have_the_law(target, cdf):
    rng = np.random.default_rng(17)
    n_draws = 4000
    draws = np.array([log_concave.draw_log_concave(rng, target) for _ in range(n_draws)])
    if cdf is None:
        # The distribution function, on a grid that is fine at the left edge.
        right = target.location + np.geomspace(1e-3 * target.left, 60.0 * target.right, 100_001)
        grid = np.concatenate([target.location + np.linspace(-60.0 * target.left, 0.0, 20_001), right])
        log_values = np.array([log_concave.log_density(target, x) for x in grid])
        values = np.exp(log_values - log_values.max())
        mass = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(grid))])
        at = np.interp(draws, grid, mass / mass[-1])
    else:
        at = cdf(draws)
    # Exceeded with probability 0.001.
    assert stats.kstest(at, "uniform").statistic < 1.95 / math.sqrt(n_draws)


def test_log_concave_draw_refuses_a_convex_target():
    with pytest.raises(ValueError, match="draw_log_concave"):
        log_concave.draw_log_concave(np.random.default_rng(1), Convex(1.0))


def test_log_concave_draw_refuses_a_target_without_mode():
    with pytest.raises(ValueError, match="no mode"):
        log_concave.draw_log_concave(np.random.default_rng(1), Convex(0.0))
