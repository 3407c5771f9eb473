"""Jumps of the random measure: total mass, fixed jumps, and the largest remaining jumps."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import special, stats

from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma, NormalizedInverseGaussian
from pymc_nrm.measures.generalized_gamma import stable_parameters
from pymc_nrm.predictions.jumps import draw_log_fixed_jumps, draw_log_remaining_jumps, draw_log_remaining_mass
from pymc_nrm.predictions.levy_tail import log_mass_below, log_tail, log_tail_inverse
from pymc_nrm.predictions.tilted_stable import draw_log_tilted_stable, zolotarev_exponent

SIGMAS = [0.0, 1e-12, 1e-4, 0.0199, 0.0201, 0.3, 0.4999, 0.5001, 0.9, 0.99, 1 - 1e-7]


def draw_masses(measure, log_u, n_draws, seed=1):
    rng = np.random.default_rng(seed)
    draws = np.array([draw_log_remaining_mass(rng, measure, log_u) for _ in range(n_draws)])
    return np.exp(draws) / (1.0 + math.exp(log_u))


def laplace_exponent(a, sigma, s):
    return a * (np.expm1(sigma * np.log1p(s)) / sigma if sigma > 0 else np.log1p(s))


# The total mass


@pytest.mark.parametrize("a", [1e-3, 0.1, 1.0, 30.0, 1e5])
@pytest.mark.parametrize("sigma", [0.0, 1e-300, 1e-9, 0.05, 0.25, 0.5, 0.8, 0.99])
def test_laplace_transform_and_moments_of_tilted_stable_variables(a, sigma):
    rng = np.random.default_rng(2)
    n_draws = 10_000
    y = np.exp([draw_log_tilted_stable(rng, a, sigma) for _ in range(n_draws)])
    z = [(y.mean() - a) / math.sqrt(a * (1 - sigma) / n_draws)]
    for s in np.array([0.1, 1.0, 5.0]) * min(1.0 / a, 1.0):
        mean = math.exp(-laplace_exponent(a, sigma, s))
        variance = math.exp(-laplace_exponent(a, sigma, 2 * s)) - mean**2
        if variance > 1e-6:
            z.append((np.exp(-s * y).mean() - mean) / math.sqrt(variance / n_draws))
    # The mean of rare large values converges slowly to a normal law.
    assert np.abs(z[1:]).max(initial=0) < 4.5
    assert abs(z[0]) < 4.5 or a * (1 - sigma) < 0.2


@pytest.mark.parametrize(("alpha", "log_u"), [(0.05, -3.0), (1.0, -math.inf), (1.0, 4.0), (40.0, 1.0)])
def test_mass_of_the_inverse_gaussian_measure_is_inverse_gaussian(alpha, log_u):
    rate = 1 + math.exp(log_u)
    a = alpha * math.sqrt(rate)
    law = stats.invgauss(mu=1 / (2 * a), scale=2 * a**2 / rate)
    assert stats.kstest(draw_masses(NormalizedInverseGaussian(alpha), log_u, 20_000), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("measure", [DirichletProcess(0.7), NormalizedGeneralizedGamma(0.7, 1e-10)])
def test_mass_of_the_dirichlet_process_is_gamma_and_so_is_the_limit(measure):
    law = stats.gamma(0.7, scale=1 / (1 + math.exp(2.0)))
    assert stats.kstest(draw_masses(measure, 2.0, 20_000), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("sigma", [0.3, pytest.param(0.75, marks=pytest.mark.slow)])
def test_mass_has_the_law_of_the_inverted_transform(sigma):
    """Gil-Pelaez inversion of the characteristic function."""
    alpha, log_u = 4.0, 1.0
    rate = 1 + math.exp(log_u)
    a = alpha * rate**sigma
    nodes, weights = np.polynomial.legendre.leggauss(2000)
    v = 8.0 * nodes - 2.0
    t = np.exp(v)
    transform = np.exp(-a / sigma * ((1 - 1j * t) ** sigma - 1))

    def cdf(mass):
        y = np.asarray(mass)[:, None] * rate
        return 0.5 - 8.0 / math.pi * ((np.exp(-1j * t * y) * transform).imag @ weights)

    masses = draw_masses(NormalizedGeneralizedGamma(alpha, sigma), log_u, 5000)
    assert stats.kstest(masses, cdf).pvalue > 1e-3


@pytest.mark.parametrize("sigma", [1e-4, 0.1, 0.5, 0.77, 0.999])
def test_zolotarev_exponent(sigma):
    """The formula agrees with itself in higher precision, and with the series near 0."""
    for angle in [0.03, 0.0999, 0.1001, 1.0, 2.5, 3.14]:
        s, x = np.longdouble(sigma), np.longdouble(angle)
        log_function = s * np.log(np.sin(s * x) / s) + (1 - s) * np.log(np.sin((1 - s) * x) / (1 - s))
        expected = (log_function - np.log(np.sin(x))) / (1 - s) / s
        assert zolotarev_exponent(sigma, angle) == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.parametrize("measure", [DirichletProcess(1e-4), NormalizedGeneralizedGamma(1e-12, 0.02)])
def test_masses_whose_u_overflows(measure):
    """If exp(log_u) is infinite, the law is that for another u with another scale."""
    _, sigma = stable_parameters(measure)
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    shifted = measure._replace(alpha=measure.alpha * math.exp(sigma * 500.0))
    expected = draw_log_remaining_mass(one, shifted, 400.0)
    assert draw_log_remaining_mass(other, measure, 900.0) == pytest.approx(expected, rel=1e-9)
    assert np.isfinite(draw_log_fixed_jumps(one, measure, [1, 2])).all()
    log_jumps, _ = draw_log_remaining_jumps(one, measure, 900.0, 0.0, 0.01, 50)
    assert np.isfinite(log_jumps).all()


def test_fixed_jumps_are_gamma_variables():
    rng = np.random.default_rng(4)
    measure = NormalizedGeneralizedGamma(1.0, 0.6)
    draws = np.exp([draw_log_fixed_jumps(rng, measure, [1, 7]) for _ in range(10_000)])
    for column, count in zip(draws.T, [1, 7], strict=True):
        law = stats.gamma(count - 0.6)
        assert stats.kstest(column, law.cdf).pvalue > 1e-3
    assert abs(stats.spearmanr(*draws.T).statistic) < 4 / math.sqrt(10_000)


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
        value = log_tail(sigma, log_x)
        assert value == pytest.approx(log_tail_by_quadrature(sigma, log_x), rel=1e-11, abs=1e-11)
        for start in [log_x + 5.0, math.inf]:
            assert log_tail_inverse(sigma, value, start) == pytest.approx(log_x, rel=1e-12, abs=1e-12)
        if log_x > -50.0:
            mass = special.gammainc(1 - sigma, math.exp(log_x))
            assert math.exp(log_mass_below(sigma, log_x)) == pytest.approx(mass, rel=1e-11)


def test_tails_in_closed_form():
    for x in [1e-8, 0.3, 0.999, 1.001, 20.0]:
        assert math.exp(log_tail(0.0, math.log(x))) == pytest.approx(special.exp1(x), rel=1e-13)
    for x in [1e-8, 0.3, 0.999, 1.001, 5.0]:
        half = 2 * (math.exp(-x) / math.sqrt(math.pi * x) - special.erfc(math.sqrt(x)))
        assert math.exp(log_tail(0.5, math.log(x))) == pytest.approx(half, rel=1e-11)


# The largest jumps

MEASURES = [DirichletProcess(3.0), NormalizedInverseGaussian(0.4), NormalizedGeneralizedGamma(1.0, 0.3)]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_numbers_of_jumps_above_a_size_are_poisson(measure):
    rng, log_u, n_draws = np.random.default_rng(5), 2.0, 4000
    alpha, sigma = stable_parameters(measure)
    rate = 1 + math.exp(log_u)
    sizes = np.array([0.04, 0.2, 0.8])
    expected = alpha * rate**sigma * np.exp([log_tail(sigma, math.log(size)) for size in sizes])
    counts = np.empty((n_draws, 3))
    for s in range(n_draws):
        log_jumps, _ = draw_log_remaining_jumps(rng, measure, log_u, -math.inf, 5e-3, 100_000)
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
        log_jumps, log_tail_mass = draw_log_remaining_jumps(rng, measure, log_u, -math.inf, 3e-3, 100_000)
        totals[s] = np.exp(log_jumps).sum() + math.exp(log_tail_mass)
    for s in [0.2, 1.0, 4.0]:
        mean = math.exp(-laplace_exponent(a, sigma, s / a))
        variance = math.exp(-laplace_exponent(a, sigma, 2 * s / a)) - mean**2
        z = (np.exp(-s / a * totals).mean() - mean) / math.sqrt(variance / n_draws)
        assert abs(z) < 4
    z = (totals.mean() - a) / math.sqrt(a * (1 - sigma) / n_draws)
    assert abs(z) < 4


def test_jumps_end_with_the_first_tail_that_is_small_enough():
    measure, log_other = NormalizedGeneralizedGamma(2.0, 0.4), math.log(0.3)
    for seed in range(20):
        log_jumps, log_tail_mass = draw_log_remaining_jumps(
            np.random.default_rng(seed), measure, 0.5, log_other, 0.01, 10_000
        )
        mass = 0.3 + np.exp(log_jumps).sum()
        assert math.exp(log_tail_mass) / (math.exp(log_tail_mass) + mass) <= 0.01
        shorter, larger_tail = draw_log_remaining_jumps(
            np.random.default_rng(seed), measure, 0.5, log_other, 0.01, len(log_jumps) - 1
        )
        np.testing.assert_array_equal(shorter, log_jumps[:-1])
        mass = 0.3 + np.exp(shorter).sum()
        assert math.exp(larger_tail) / (math.exp(larger_tail) + mass) > 0.01


class UnknownMeasure(NamedTuple):
    alpha: float = 1.0


def test_measures_of_another_class_are_refused():
    rng = np.random.default_rng(1)
    with pytest.raises(NotImplementedError, match="jumps of UnknownMeasure are not implemented"):
        draw_log_remaining_mass(rng, UnknownMeasure(), 0.0)
    with pytest.raises(NotImplementedError, match="generalized gamma"):
        draw_log_fixed_jumps(rng, UnknownMeasure(), [1])
    with pytest.raises(NotImplementedError, match="generalized gamma"):
        draw_log_remaining_jumps(rng, UnknownMeasure(), 0.0, 0.0, 0.1, 10)


def test_masses_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="finite positive mean"):
        draw_log_remaining_mass(np.random.default_rng(1), NormalizedInverseGaussian(1.0), 1e5)
