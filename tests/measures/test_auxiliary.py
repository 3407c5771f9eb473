"""The auxiliary variable, draws from log-concave densities, and quadrature."""

import math
from typing import NamedTuple

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import stats
from scipy.integrate import quad
from test_laws import FINITE, LONG

from pymc_nrm.measures import (
    DirichletProcess,
    MixtureOfFiniteMixtures,
    NormalizedGeneralizedGamma,
    NormalizedInverseGaussian,
    PitmanYorProcess,
    log_concave,
)
from pymc_nrm.measures.base import draw_log_auxiliary, laplace_exponent, log_levy_intensity, log_tilted_moment, weights
from pymc_nrm.measures.generalized_gamma import LogU, stable_parameters
from pymc_nrm.measures.log_concave import log_density, log_density_derivative
from pymc_nrm.measures.quadrature import log_integral, symbolic_log_integral


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


def log_density_of_log_u(measure, n, k):
    """Log density of s = log u given n items in k clusters."""

    def f(s):
        L = np.logaddexp(0.0, s)
        if isinstance(measure, PitmanYorProcess):
            # u is a gamma variable.
            d, t = measure
            return (t / d + k) * s - np.exp(np.minimum(s, 700.0)) / d
        if isinstance(measure, MixtureOfFiniteMixtures):
            gamma, rate = measure
            return n * (s - L) - gamma * k * L + rate * np.exp(-gamma * L)
        return definition(n, k, *map(float, stable_parameters(measure)))(s)

    return f


NGG, MFM, PY = NormalizedGeneralizedGamma, MixtureOfFiniteMixtures, PitmanYorProcess
OF_LOG_U = [
    *((NGG(1.0, 0.5), 1, 1), (NormalizedInverseGaussian(1.0), 1, 1), (NGG(1.0, 0.0), 10, 3), (NGG(1.0, 1e-9), 10, 3)),
    *((DirichletProcess(1.0), 10, 3), (NGG(0.01, 0.25), 10, 10), (NGG(5.0, 0.5), 1000, 40), (NGG(1e6, 0.5), 5, 2)),
    *((NGG(1e-6, 0.0), 1000, 1), (DirichletProcess(1e-6), 1000, 1), (NGG(1e-6, 0.9), 1000, 1)),
    *((NGG(1.0, 0.25), 100_000, 200), (NGG(1e-6, 0.999), 100_000, 99_999)),
    *((PY(0.3, 1.0), 10, 3), (PY(0.5, -0.3), 10, 1), (PY(0.9, -0.8), 10, 1), (PY(0.2, 0.0), 10, 9)),
    *((PY(1e-3, 4.0), 10, 2), (MFM(1.0, 3.0), 1, 1), (MFM(0.5, 1.0), 10, 3), (MFM(0.1, 40.0), 10, 3)),
    *((MFM(0.02, 300.0), 1000, 2), (MFM(0.3, 1e-8), 5, 2), (MFM(3.0, 20.0), 5, 5)),
    # Two modes: few components, or as many as the prior expects.
    *((MFM(1e3, 5.0), 1000, 4), (MFM(100.0, 30.0), 10, 1)),
    # The sums have a hundred thousand terms.
    pytest.param(MFM(1.0, 1e5), 100, 30, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("measure", "n", "k"), OF_LOG_U)
def test_log_u_has_the_conditional_law(measure, n, k):
    f, rng, n_draws = log_density_of_log_u(measure, n, k), np.random.default_rng(41), 4000
    coarse = np.concatenate([-np.geomspace(1e6, 1e-3, 30001), np.geomspace(1e-3, 1e10, 40001)])
    kept = coarse[f(coarse) > f(coarse).max() - 40.0]
    grid = np.linspace(kept[0], kept[-1], 400_001)
    cdf = np.cumsum(np.exp(f(grid) - f(grid).max()))
    draws = np.array([draw_log_auxiliary(measure, n, k, rng) for _ in range(n_draws)])
    assert stats.kstest(np.interp(draws, grid, cdf / cdf[-1]), "uniform").pvalue > 1e-3


EXTREMES = [
    *(NGG(alpha, sigma) for alpha in (1e-6, 1e-2, 1.0, 1e6) for sigma in (0.0, 1e-12, 1e-5, 0.5, 1.0 - 1e-6)),
    *map(DirichletProcess, (1e-6, 1e-2, 1.0, 1e6)),
]
EXTREMES = [*EXTREMES, *FINITE, *(pytest.param(row, marks=pytest.mark.slow) for row in LONG)]


@pytest.mark.parametrize("measure", EXTREMES, ids=str)
@pytest.mark.parametrize("n, k", [(1, 1), (2, 2), (100_000, 1), (100_000, 1000), (100_000, 100_000)])
def test_draws_of_log_u_and_weights_are_finite_for_extreme_hyperparameters(measure, n, k):
    rng = np.random.default_rng(3)
    log_u = np.array([draw_log_auxiliary(measure, n, k, rng) for _ in range(50)])
    assert np.isfinite(log_u).all()
    assert all(np.isfinite(table).all() for one in log_u[:5] for table in weights(measure, 20, one))


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


@pytest.mark.parametrize(("scale", "message"), [(1.0, "draw_log_concave"), (0.0, "no mode")])
def test_targets_that_are_not_concave_are_refused(scale, message):
    with pytest.raises(ValueError, match=message):
        log_concave.draw_log_concave(np.random.default_rng(1), Convex(scale))


CASES = [
    (n, k, alpha, sigma)
    for n in (1, 2, 10, 1000, 100_000)
    for k in sorted({1, max(1, n // 10), n})
    for alpha in (1e-6, 1e-2, 1.0, 1e3, 1e6)
    for sigma in (0.0, 1e-10, 1e-3, 0.25, 0.5, 0.9, 1.0 - 1e-6)
]


def growth(sigma, L):
    """``expm1(sigma L) / sigma``, truncated far beyond the point where the integrand vanishes."""
    return np.expm1(np.minimum(sigma * L, 500.0)) / sigma if sigma > 0.0 else L


def growth_slope(sigma, L):
    """Derivative of :func:`growth` in sigma, by its series near 0."""
    x = np.minimum(sigma * L, 500.0)
    safe = np.where(x > 0.02, x, 1.0)
    series = 1 / 2 + x / 3 + x**2 / 8 + x**3 / 30 + x**4 / 144 + x**5 / 840
    return L**2 * np.where(x > 0.02, (np.exp(safe) * safe - np.expm1(safe)) / safe**2, series)


def definition(n, k, alpha, sigma):
    """Log of ``u^(n-1) (1+u)^(k sigma - n) exp(-psi(u)) du/ds`` at ``s = log u``."""

    def f(s):
        L = np.logaddexp(0.0, s)
        return -n * np.logaddexp(0.0, -s) + k * sigma * L - alpha * growth(sigma, L)

    return f


@pytest.fixture(scope="module")
def symbolic():
    n, k = pt.lscalars("n", "k")
    alpha, sigma = pt.dscalars("alpha", "sigma")
    value = symbolic_log_integral(n, k, alpha, sigma)
    return pytensor.function([n, k, alpha, sigma], [value, *pt.grad(value, [alpha, sigma])])


def test_integral_and_slopes_on_a_wide_grid(integrate, symbolic):
    for n, k, alpha, sigma in CASES:
        case = f"n={n}, k={k}, alpha={alpha}, sigma={sigma}"
        exact, mean_growth, mean_slope, mean_L = integrate(
            definition(n, k, alpha, sigma),
            lambda s, sigma=sigma: growth(sigma, np.logaddexp(0.0, s)),
            lambda s, sigma=sigma: growth_slope(sigma, np.logaddexp(0.0, s)),
            lambda s: np.logaddexp(0.0, s),
        )
        value, slope_alpha, slope_sigma = symbolic(n, k, alpha, sigma)
        # Values as large as a million carry the rounding of their terms.
        assert log_integral(n, k, alpha, sigma) == pytest.approx(exact, abs=1e-9, rel=1e-13), case
        assert value == pytest.approx(exact, abs=1e-9, rel=1e-13), case
        assert slope_alpha == pytest.approx(-mean_growth, rel=1e-8), case
        exact_slope = k * mean_L - alpha * mean_slope
        assert slope_sigma == pytest.approx(exact_slope, rel=1e-7, abs=1e-8 * k * mean_L), case


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("s", [-50.0, -1.0, 0.0, 2.0, 30.0])
def test_density_of_log_u_is_the_integrand_and_has_the_derivative(sigma, s):
    target = LogU(20.0, 4.0, 0.8, sigma)
    f = definition(20, 4, 0.8, sigma)
    assert log_density(target, s) == pytest.approx(f(s), rel=1e-12)
    h = 1e-5
    numeric = (f(s + h) - f(s - h)) / (2 * h)
    assert log_density_derivative(target, s) == pytest.approx(numeric, rel=1e-5, abs=1e-8)
