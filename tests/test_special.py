"""Numerics of kernels, each against an independent computation."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from pymc_nrm import special


class Skewed(NamedTuple):
    """A left edge of the given scale and a right exponential tail: ``x = location + left G + right E`` up to shape."""

    location: float
    left: float
    right: float


@special.log_density.register(Skewed)
def _(target, x):
    z = (x - target.location) / target.left
    return -(z + math.exp(-z) if z > -700.0 else math.inf) * target.left / target.right - math.exp(min(-z, 700.0))


@special.log_density_derivative.register(Skewed)
def _(target, x):
    z = (x - target.location) / target.left
    e = math.exp(min(-z, 700.0))
    return -(1.0 - e) / target.right + e / target.left


class Normal(NamedTuple):
    mean: float
    sd: float


@special.log_density.register(Normal)
def _(target, x):
    z = (x - target.mean) / target.sd
    return -0.5 * z * z


@special.log_density_derivative.register(Normal)
def _(target, x):
    return -(x - target.mean) / target.sd / target.sd


class Laplace(NamedTuple):
    mean: float
    scale: float


@special.log_density.register(Laplace)
def _(target, x):
    return -abs(x - target.mean) / target.scale


@special.log_density_derivative.register(Laplace)
def _(target, x):
    return (1.0 if x < target.mean else -1.0) / target.scale


class Convex(NamedTuple):
    scale: float


@special.log_density.register(Convex)
def _(target, x):
    return target.scale * x * x


@special.log_density_derivative.register(Convex)
def _(target, x):
    return 2.0 * target.scale * x + 1.0


@pytest.mark.parametrize(
    "x",
    [[0.0, 1.0, -2.0], [-1e5, -1e5 + 3.0], [1e300, 0.0], [-np.inf, 2.0], [-np.inf, -np.inf], [], [np.inf, 1.0]],
)
def test_log_sum_exp(x):
    x = np.array(x)
    expected = logsumexp(x) if x.size else -np.inf
    assert special.log_sum_exp(x) == pytest.approx(expected, rel=1e-14)


def test_log_sum_exp_keeps_nan():
    assert math.isnan(special.log_sum_exp(np.array([1.0, np.nan, 2.0])))


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
def test_categorical_frequencies(offset):
    probabilities = np.array([0.0, 0.5, 0.0, 0.3, 0.2, 0.0])
    with np.errstate(divide="ignore"):
        log_weights = np.log(probabilities) + offset
    rng = np.random.default_rng(1)
    n_draws = 5000
    draws = [special.draw_categorical(rng, log_weights) for _ in range(n_draws)]
    counts = np.bincount(draws, minlength=6)
    assert counts[probabilities == 0.0].sum() == 0
    error = np.sqrt(n_draws * probabilities * (1.0 - probabilities))
    assert (np.abs(counts - n_draws * probabilities) <= 4.5 * error).all()


@pytest.mark.parametrize("log_weights", [[-np.inf, -np.inf], [np.nan, 0.0], [np.inf, 0.0]])
def test_categorical_refuses_weights_without_a_law(log_weights):
    with pytest.raises(ValueError, match="log weights"):
        special.draw_categorical(np.random.default_rng(1), np.array(log_weights))


@pytest.mark.parametrize("d", [1, 2, 6])
def test_cholesky_update_and_downdate(d):
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d + 2))
    A = root @ root.T
    x = 3.0 * rng.normal(size=d)
    L = np.linalg.cholesky(A)
    special.cholesky_update(L, x.copy())
    np.testing.assert_allclose(L, np.linalg.cholesky(A + np.outer(x, x)), rtol=1e-11, atol=1e-12)
    assert special.cholesky_downdate(L, x.copy())
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_cholesky_downdate_tells_when_nothing_positive_definite_is_left(factor):
    x = np.array([1.0, -2.0, 0.5])
    L = np.linalg.cholesky(np.eye(3) * 1e-13 + np.outer(x, x))
    assert not special.cholesky_downdate(L, factor * x)


@pytest.mark.parametrize("a", [1e-6, 0.5, 99.0, 101.0, 1e4, 1e9])
@pytest.mark.parametrize("n", [1, 5, 1000])
def test_log_rising_factorial(a, n):
    exact = math.fsum(math.log(a + i) for i in range(n))
    assert special.log_rising_factorial(a, n) == pytest.approx(exact, rel=1e-12, abs=1e-12)


def test_softplus_and_log_gamma():
    for x in (-1000.0, -3.0, 0.0, 3.0, 1000.0):
        assert special.softplus(x) == pytest.approx(np.logaddexp(0.0, x), rel=1e-14)
    np.testing.assert_allclose(special.log_gamma(np.array([3.0, 4.0])), np.log([2.0, 6.0]))


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
    draws = np.array([special.draw_log_concave(rng, target) for _ in range(n_draws)])
    if cdf is None:
        # The distribution function, on a grid that is fine at the left edge.
        right = target.location + np.geomspace(1e-3 * target.left, 60.0 * target.right, 100_001)
        grid = np.concatenate([target.location + np.linspace(-60.0 * target.left, 0.0, 20_001), right])
        log_values = np.array([special.log_density(target, x) for x in grid])
        values = np.exp(log_values - log_values.max())
        mass = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(grid))])
        at = np.interp(draws, grid, mass / mass[-1])
    else:
        at = cdf(draws)
    # Exceeded with probability 0.001.
    assert stats.kstest(at, "uniform").statistic < 1.95 / math.sqrt(n_draws)


def test_log_concave_draw_refuses_a_convex_target():
    with pytest.raises(ValueError, match="draw_log_concave"):
        special.draw_log_concave(np.random.default_rng(1), Convex(1.0))


def test_log_concave_draw_refuses_a_target_without_mode():
    with pytest.raises(ValueError, match="no mode"):
        special.draw_log_concave(np.random.default_rng(1), Convex(0.0))
