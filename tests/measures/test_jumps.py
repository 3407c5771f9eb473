"""Jumps of the random measure: those of clusters, and the largest others."""

import math

import numpy as np
import pytest
from scipy import special, stats

from pymc_nrm.kernels.special import softplus
from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma, NormalizedInverseGaussian, jumps
from pymc_nrm.measures.generalized_gamma import stable_parameters
from pymc_nrm.measures.quadrature import log_growth

SIGMAS = [0.0, 1e-12, 1e-4, 0.0199, 0.0201, 0.3, 0.4999, 0.5001, 0.9, 0.99, 1 - 1e-7]


def remaining_jumps(rng, measure, log_u, log_other_mass, tail_mass, max_jumps):
    """The largest jumps outside the clusters given u, times 1 + u."""
    alpha, sigma = (float(value) for value in stable_parameters(measure))
    log_a = log_growth(alpha, sigma, softplus(log_u))
    return jumps.draw_largest_log_jumps(rng, log_a, sigma, log_other_mass, tail_mass, max_jumps)


def laplace_exponent(a, sigma, s):
    return a * (np.expm1(sigma * np.log1p(s)) / sigma if sigma > 0 else np.log1p(s))


@pytest.mark.parametrize("measure", [DirichletProcess(1e-4), NormalizedGeneralizedGamma(1e-12, 0.02)])
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

MEASURES = [DirichletProcess(3.0), NormalizedInverseGaussian(0.4), NormalizedGeneralizedGamma(1.0, 0.3)]


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
        mean = math.exp(-laplace_exponent(a, sigma, s / a))
        variance = math.exp(-laplace_exponent(a, sigma, 2 * s / a)) - mean**2
        z = (np.exp(-s / a * totals).mean() - mean) / math.sqrt(variance / n_draws)
        assert abs(z) < 4
    z = (totals.mean() - a) / math.sqrt(a * (1 - sigma) / n_draws)
    assert abs(z) < 4


def test_jumps_end_with_the_first_tail_that_is_small_enough():
    measure, log_other = NormalizedGeneralizedGamma(2.0, 0.4), math.log(0.3)
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
