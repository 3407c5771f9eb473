"""The auxiliary variable, jumps of the random measure, draws from log-concave densities, and quadrature."""

import math
from typing import NamedTuple

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import special, stats
from scipy.integrate import quad

import pymc_nrm as nrm
from pymc_nrm.kernels.special import softplus
from pymc_nrm.measures import jumps, log_concave
from pymc_nrm.measures.base import draw_log_auxiliary, laplace_exponent, log_levy_intensity, log_tilted_moment, weights
from pymc_nrm.measures.eppf_operation import log_eppf_with_slopes, symbolic_log_eppf_by_nodes
from pymc_nrm.measures.generalized_gamma import LogU, stable_parameters
from pymc_nrm.measures.log_concave import log_density, log_density_derivative
from pymc_nrm.measures.quadrature import log_growth, log_integral, symbolic_log_integral
from tests.measures.test_laws import FINITE, LONG


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
        if isinstance(measure, nrm.PitmanYorProcess):
            # u is a gamma variable.
            d, t = measure
            return (t / d + k) * s - np.exp(np.minimum(s, 700.0)) / d
        if isinstance(measure, nrm.MixtureOfFiniteMixtures):
            gamma, rate = measure
            return n * (s - L) - gamma * k * L + rate * np.exp(-gamma * L)
        return definition(n, k, *map(float, stable_parameters(measure)))(s)

    return f


NGG, MFM, PY = nrm.NormalizedGeneralizedGamma, nrm.MixtureOfFiniteMixtures, nrm.PitmanYorProcess
OF_LOG_U = [
    *(
        (NGG(1.0, 0.5), 1, 1),
        (nrm.NormalizedInverseGaussian(1.0), 1, 1),
        (NGG(1.0, 0.0), 10, 3),
        (NGG(1.0, 1e-9), 10, 3),
    ),
    *((nrm.DirichletProcess(1.0), 10, 3), (NGG(0.01, 0.25), 10, 10), (NGG(5.0, 0.5), 1000, 40), (NGG(1e6, 0.5), 5, 2)),
    *((NGG(1e-6, 0.0), 1000, 1), (nrm.DirichletProcess(1e-6), 1000, 1), (NGG(1e-6, 0.9), 1000, 1)),
    *((NGG(1.0, 0.25), 100_000, 200), (NGG(1e-6, 0.999), 100_000, 99_999)),
    *((PY(0.3, 1.0), 10, 3), (PY(0.5, -0.3), 10, 1), (PY(0.9, -0.8), 10, 1), (PY(0.2, 0.0), 10, 9)),
    *((PY(1e-3, 4.0), 10, 2), (MFM(1.0, 3.0), 1, 1), (MFM(0.5, 1.0), 10, 3), (MFM(0.1, 40.0), 10, 3)),
    *((MFM(0.02, 300.0), 1000, 2), (MFM(0.3, 1e-8), 5, 2), (MFM(3.0, 20.0), 5, 5)),
    # Two modes: few components, or as many as the prior expects.
    *((MFM(1e3, 5.0), 1000, 4), (MFM(100.0, 30.0), 10, 1)),
    # The sums have a hundred thousand terms.
    pytest.param(MFM(1.0, 1e5), 100, 30, marks=pytest.mark.slow),
]


@pytest.mark.every(3)
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
    *map(nrm.DirichletProcess, (1e-6, 1e-2, 1.0, 1e6)),
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


@pytest.mark.quick(*(repr(TARGETS[k][0]) for k in (1, 6, 9)))
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


@pytest.mark.parametrize(("scale", "message"), [(1.0, "draw_log_concave"), (0.0, "must have a mode")])
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


@pytest.mark.parametrize("alpha", [1e-298, 1e-300, 1e-302])
def test_integral_at_the_end_of_doubles(alpha):
    """As alpha tends to 0, only large x matter: I(n, k) tends to sigma^(k-1) Gamma(k) / alpha^k."""
    for n, k, sigma in [(10, 1, 0.5), (10**6, 1, 0.5), (10**6, 3, 0.3), (10**6, 1000, 0.9)]:
        exact = (k - 1) * np.log(sigma) + special.gammaln(k) - k * np.log(alpha)
        assert log_integral(n, k, alpha, sigma) == pytest.approx(exact, rel=1e-12)
    # A mode beyond all doubles.
    assert np.isnan(log_integral(10**6, 10**5, 1e-305, 0.5))


@pytest.mark.parametrize("counts", [[1], [5, 1], [1] * 20, [40, 9, 1], [50_000, 49_998, 1, 1]])
def test_operation_has_the_derivatives_of_the_graph(counts, eppf_by_nodes):
    counts = np.array(counts)
    for alpha in (1e-6, 0.03, 1.0, 1e3):
        for sigma in (0.0, 1e-12, 0.05, 0.3, 0.999):
            own, expected = log_eppf_with_slopes(counts, np.array(alpha), np.array(sigma)), eppf_by_nodes
            for found, right in zip(own, expected(counts, alpha, sigma), strict=True):
                np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-8 * (1.0 + 1e-6 / alpha))


@pytest.fixture(scope="module")
def eppf_by_nodes():
    counts, (alpha, sigma) = pt.lvector(), pt.dscalars(2)
    value = symbolic_log_eppf_by_nodes(counts, alpha, sigma)
    return pytensor.function([counts, alpha, sigma], [value, *pt.grad(value, [alpha, sigma])], mode="FAST_COMPILE")


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("s", [-50.0, -1.0, 0.0, 2.0, 30.0])
def test_density_of_log_u_is_the_integrand_and_has_the_derivative(sigma, s):
    target = LogU(20.0, 4.0, 0.8, sigma)
    f = definition(20, 4, 0.8, sigma)
    assert log_density(target, s) == pytest.approx(f(s), rel=1e-12)
    h = 1e-5
    numeric = (f(s + h) - f(s - h)) / (2 * h)
    assert log_density_derivative(target, s) == pytest.approx(numeric, rel=1e-5, abs=1e-8)


SIGMAS = [0.0, 1e-12, 1e-4, 0.0199, 0.0201, 0.3, 0.4999, 0.5001, 0.9, 0.99, 1 - 1e-7]


def remaining_jumps(rng, measure, log_u, log_other_mass, tail_mass, max_jumps):
    """The largest jumps outside the clusters given u, times 1 + u."""
    alpha, sigma = (float(value) for value in stable_parameters(measure))
    log_a = log_growth(alpha, sigma, softplus(log_u))
    return jumps.draw_largest_log_jumps(rng, log_a, sigma, log_other_mass, tail_mass, max_jumps)


def exponent_given(a, sigma, s):
    return a * (np.expm1(sigma * np.log1p(s)) / sigma if sigma > 0 else np.log1p(s))


@pytest.mark.parametrize("measure", [nrm.DirichletProcess(1e-4), nrm.NormalizedGeneralizedGamma(1e-12, 0.02)])
def test_jumps_whose_u_overflows(measure):
    """If exp(log_u) is infinite, the law is that for another u with another scale."""
    _, sigma = stable_parameters(measure)
    shifted = measure._replace(alpha=measure.alpha * math.exp(sigma * 500.0))
    found, expected = (
        remaining_jumps(np.random.default_rng(3), one, log_u, 0.0, 1e-6, 50)[0]
        for one, log_u in ((measure, 900.0), (shifted, 400.0))
    )
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# Tails of the Levy intensity


def log_tail_by_quadrature(sigma, log_x):
    end = max(log_x, 0.0) + (8.0 if log_x < 2.0 else 40.0 * math.exp(-log_x))
    edges = np.linspace(log_x, end, 200)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half = np.diff(edges)[:, None] / 2
    t = edges[:-1, None] + half * (1 + nodes)
    log_values = -sigma * t - np.exp(t)
    top = log_values.max()
    return top + math.log((np.exp(log_values - top) * weights * half).sum()) - math.lgamma(1 - sigma)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_tails_and_their_inverse(sigma):
    for log_x in [-300.0, -30.0, -2.0, -1e-9, 0.0, 0.7, 2.0, 5.0]:
        value = jumps.log_tail(sigma, log_x)
        assert value == pytest.approx(log_tail_by_quadrature(sigma, log_x), rel=1e-11, abs=1e-11)
        for start in [log_x + 5.0, math.inf]:
            assert jumps.log_tail_inverse(sigma, value, start) == pytest.approx(log_x, rel=1e-12, abs=1e-12)
        if log_x > -50.0:
            mass = special.gammainc(1 - sigma, math.exp(log_x))
            assert math.exp(jumps.log_mass_below(sigma, log_x)) == pytest.approx(mass, rel=1e-11)


# The largest jumps

MEASURES = [nrm.DirichletProcess(3.0), nrm.NormalizedInverseGaussian(0.4), nrm.NormalizedGeneralizedGamma(1.0, 0.3)]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_numbers_of_jumps_above_a_size_are_poisson(measure):
    rng, log_u, n_draws = np.random.default_rng(5), 2.0, 4000
    alpha, sigma = stable_parameters(measure)
    rate = 1 + math.exp(log_u)
    sizes = np.array([0.04, 0.2, 0.8])
    expected = alpha * rate**sigma * np.exp([jumps.log_tail(sigma, math.log(size)) for size in sizes])
    counts = np.empty((n_draws, 3))
    for s in range(n_draws):
        log_jumps, _ = remaining_jumps(rng, measure, log_u, -math.inf, 5e-3, 100_000)
        assert (np.diff(log_jumps) < 0).all() and log_jumps[-1] < math.log(sizes[0])
        counts[s] = [(log_jumps > math.log(size)).sum() for size in sizes]
    z = (counts.mean(axis=0) - expected) / np.sqrt(expected / n_draws)
    assert np.abs(z).max() < 4
    # The dispersion of Poisson counts is chi-squared.
    dispersion = ((counts - expected) ** 2).sum(axis=0) / expected
    assert np.abs((dispersion - n_draws) / np.sqrt(n_draws * (2 + 1 / expected))).max() < 4


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_jumps_and_expected_tail_add_up_to_the_total_mass(measure):
    rng, log_u, n_draws = np.random.default_rng(6), 1.0, 4000
    alpha, sigma = stable_parameters(measure)
    rate = 1 + math.exp(log_u)
    a = alpha * rate**sigma
    totals = np.empty(n_draws)
    for s in range(n_draws):
        log_jumps, log_tail_mass = remaining_jumps(rng, measure, log_u, -math.inf, 3e-3, 100_000)
        totals[s] = np.exp(log_jumps).sum() + math.exp(log_tail_mass)
    for s in [0.2, 1.0, 4.0]:
        mean = math.exp(-exponent_given(a, sigma, s / a))
        variance = math.exp(-exponent_given(a, sigma, 2 * s / a)) - mean**2
        z = (np.exp(-s / a * totals).mean() - mean) / math.sqrt(variance / n_draws)
        assert abs(z) < 4
    z = (totals.mean() - a) / math.sqrt(a * (1 - sigma) / n_draws)
    assert abs(z) < 4


def test_jumps_end_with_the_first_tail_that_is_small_enough():
    measure, log_other = nrm.NormalizedGeneralizedGamma(2.0, 0.4), math.log(0.3)
    for seed in range(20):
        log_jumps, log_tail_mass = remaining_jumps(np.random.default_rng(seed), measure, 0.5, log_other, 0.01, 10_000)
        mass = 0.3 + np.exp(log_jumps).sum()
        assert math.exp(log_tail_mass) / (math.exp(log_tail_mass) + mass) <= 0.01
        shorter, larger_tail = remaining_jumps(
            np.random.default_rng(seed), measure, 0.5, log_other, 0.01, len(log_jumps) - 1
        )
        np.testing.assert_array_equal(shorter, log_jumps[:-1])
        mass = 0.3 + np.exp(shorter).sum()
        assert math.exp(larger_tail) / (math.exp(larger_tail) + mass) > 0.01


def test_measures_of_another_class_are_refused():
    with pytest.raises(NotImplementedError, match="float .* draw_jumps"):
        jumps.draw_jumps(1.0, [1], np.random.default_rng(1), 0.1, 10)


def test_jumps_of_clusters_are_gamma_variables():
    rng = np.random.default_rng(4)
    draws = np.exp([jumps.draw_log_gamma_jumps(rng, 0.6, np.array([1, 7])) for _ in range(10_000)])
    for column, count in zip(draws.T, [1, 7], strict=True):
        assert stats.kstest(column, stats.gamma(count - 0.6).cdf).pvalue > 1e-3
    assert abs(stats.spearmanr(*draws.T).statistic) < 4 / math.sqrt(10_000)
