"""Numerics of kernels, each against an independent computation."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp, psi

from pymc_nrm.kernels import special


@pytest.mark.parametrize(
    "x", [[0.0, 1.0, -2.0], [-1e5, -1e5 + 3.0], [1e300, 0.0], [-np.inf, 2.0], [-np.inf, -np.inf], [], [np.inf, 1.0]]
)
def test_log_sum_exp(x):
    x = np.array(x)
    expected = logsumexp(x) if x.size else -np.inf
    assert special.log_sum_exp(x) == pytest.approx(expected, rel=1e-14)


def test_log_sum_exp_keeps_nan():
    assert math.isnan(special.log_sum_exp(np.array([1.0, np.nan, 2.0])))


@pytest.mark.parametrize("x", [1e-300, 1e-8, 0.3, 1.0, 1.4616321449683623, 9.999, 10.0, 1e3, 1e17])
def test_digamma(x):
    assert special.digamma(x) == pytest.approx(psi(x), rel=1e-13, abs=1e-14)


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
def test_cholesky_update(d):
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d + 2))
    A = root @ root.T
    x = 3.0 * rng.normal(size=d)
    L = np.linalg.cholesky(A)
    special.cholesky_update(L, x.copy())
    np.testing.assert_allclose(L, np.linalg.cholesky(A + np.outer(x, x)), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("a", [1e-6, 0.5, 99.0, 101.0, 1e4, 1e9])
@pytest.mark.parametrize("n", [1, 5, 1000])
def test_log_rising_factorial(a, n):
    exact = math.fsum(math.log(a + i) for i in range(n))
    assert special.log_rising_factorial(a, n) == pytest.approx(exact, rel=1e-12, abs=1e-12)


def test_softplus_and_log_gamma():
    for x in (-1000.0, -3.0, 0.0, 3.0, 1000.0):
        assert special.softplus(x) == pytest.approx(np.logaddexp(0.0, x), rel=1e-14)
    np.testing.assert_allclose(special.log_gamma(np.array([3.0, 4.0])), np.log([2.0, 6.0]))
