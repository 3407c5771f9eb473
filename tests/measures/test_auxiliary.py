"""The auxiliary variable u: definitions, tables of weights, exact draws, and the joint density."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma, NormalizedInverseGaussian
from pymc_nrm.measures.base import draw_log_auxiliary, weights
from pymc_nrm.measures.levy import laplace_exponent, log_levy_intensity, log_tilted_moment


def integrate_over_jumps(f):
    """Integral over w in (0, inf), in log w."""
    return quad(lambda t: f(math.exp(t)) * math.exp(t), -700.0, 8.0, points=[-300, -50, -10, -2, 0, 2], limit=1000)[0]


@pytest.mark.parametrize("u", [0.0, 0.3, 20.0])
@pytest.mark.parametrize("m", [1, 2, 7])
def test_tilted_moments_are_integrals_of_the_levy_intensity(levy_measure, m, u):
    exact = integrate_over_jumps(lambda w: math.exp(m * math.log(w) - u * w + log_levy_intensity(levy_measure, w)))
    tolerance = 1e-6
    if getattr(levy_measure, "sigma", 0.0) > 0.99 and m == 1:
        # What jumps below exp(-700) add.
        tolerance = 1.0
    assert math.exp(log_tilted_moment(levy_measure, m, u)) == pytest.approx(exact, rel=tolerance)


@pytest.mark.parametrize("u", [0.3, 20.0])
def test_tilted_moments_are_derivatives_of_the_laplace_exponent(levy_measure, u):
    h = 1e-5 * u
    slope = (laplace_exponent(levy_measure, u + h) - laplace_exponent(levy_measure, u - h)) / (2 * h)
    assert math.exp(log_tilted_moment(levy_measure, 1, u)) == pytest.approx(slope, rel=1e-6)
    second = (log_tilted_moment(levy_measure, 1, u + h) - log_tilted_moment(levy_measure, 1, u - h)) / (2 * h)
    ratio = math.exp(log_tilted_moment(levy_measure, 2, u) - log_tilted_moment(levy_measure, 1, u))
    assert ratio == pytest.approx(-second, rel=1e-6)


@pytest.mark.parametrize("log_u", [-40.0, 0.0, 3.0, 300.0])
def test_weights_are_tilted_moments(levy_measure, log_u):
    n = 30
    table = weights(levy_measure, n, log_u)
    # In units of 1 / (1 + u).
    moments = [
        log_tilted_moment(levy_measure, m, math.exp(log_u)) + m * np.logaddexp(0.0, log_u) for m in range(1, n + 2)
    ]
    assert table.moment[0] == 0.0
    assert table.join.shape == table.moment.shape == (n + 1,)
    np.testing.assert_allclose(table.moment[1:], moments[:n], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(table.join, [moments[0], *np.diff(moments)], rtol=1e-9, atol=1e-10)


def test_weights_are_finite_where_u_overflows(measure):
    table = weights(measure, 5, 1e6)
    assert np.isfinite(table.join).all() and np.isfinite(table.moment).all()


@pytest.mark.parametrize(
    "n, k, alpha, sigma",
    [
        (1, 1, 1.0, 0.5),
        (10, 3, 1.0, 0.0),
        (10, 3, 1.0, 1e-9),
        (10, 10, 0.01, 0.25),
        (1000, 40, 5.0, 0.5),
        (1000, 1, 1e-6, 0.0),
        (1000, 1, 1e-6, 0.9),
        (100_000, 200, 1.0, 0.25),
        (5, 2, 1e6, 0.5),
        (100_000, 99_999, 1e-6, 0.999),
    ],
)
def test_log_u_has_the_conditional_law(n, k, alpha, sigma):
    def f(s):
        L = np.logaddexp(0.0, s)
        growth = np.expm1(np.minimum(sigma * L, 500.0)) / sigma if sigma > 0.0 else L
        return -n * np.logaddexp(0.0, -s) + k * sigma * L - alpha * growth

    rng = np.random.default_rng(41)
    n_draws = 4000
    coarse = np.concatenate([-np.geomspace(200, 1e-3, 20001), np.geomspace(1e-3, 1e10, 40001)])
    kept = coarse[f(coarse) > f(coarse).max() - 40.0]
    grid = np.linspace(kept[0], kept[-1], 400_001)
    cdf = np.cumsum(np.exp(f(grid) - f(grid).max()))
    targets = [NormalizedGeneralizedGamma(alpha, sigma)]
    targets += [DirichletProcess(alpha)] if sigma == 0.0 else []
    targets += [NormalizedInverseGaussian(alpha)] if sigma == 0.5 else []
    for measure in targets:
        draws = np.array([draw_log_auxiliary(measure, n, k, rng) for _ in range(n_draws)])
        assert stats.kstest(np.interp(draws, grid, cdf / cdf[-1]), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0, 1e6])
@pytest.mark.parametrize("sigma", [0.0, 1e-12, 1e-5, 0.5, 1.0 - 1e-6])
@pytest.mark.parametrize("n, k", [(1, 1), (2, 2), (100_000, 1), (100_000, 100_000)])
def test_draws_of_log_u_are_finite_for_extreme_hyperparameters(alpha, sigma, n, k):
    rng = np.random.default_rng(3)
    assert all(
        math.isfinite(draw_log_auxiliary(NormalizedGeneralizedGamma(alpha, sigma), n, k, rng)) for _ in range(50)
    )
    assert math.isfinite(draw_log_auxiliary(DirichletProcess(alpha), n, k, rng))
