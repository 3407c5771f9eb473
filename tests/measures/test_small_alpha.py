"""Hyperparameters from 1e-300 to 1e8, and sigma from 1e-300 to the last number below 1, against exact formulas."""

import math
from fractions import Fraction

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import stats
from test_laws import ALPHAS, GENERALIZED_GAMMA, log_of

from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma
from pymc_nrm.measures.base import draw_log_auxiliary, log_eppf, log_joint_term, symbolic_log_eppf, weights
from pymc_nrm.measures.jumps import draw_jumps


def ewens(alpha, counts):
    """Log of Ewens' formula in rational arithmetic."""
    alpha = Fraction(alpha)
    value = alpha ** len(counts)
    for m in counts:
        value *= math.factorial(m - 1)
    for i in range(sum(counts)):
        value /= alpha + i
    return log_of(value)


@pytest.fixture(scope="module")
def symbolic():
    alpha, counts = pt.dscalar("alpha"), pt.lvector("counts")
    value = symbolic_log_eppf(DirichletProcess(alpha), counts)
    return pytensor.function([alpha, counts], [value, alpha * pt.grad(value, alpha)], mode="FAST_COMPILE")


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("counts", [[1], [2], [1, 1], [6], [3, 2, 1], [1] * 6, [40, 9, 1]], ids=str)
def test_dirichlet_process_in_rational_arithmetic(alpha, counts, symbolic):
    exact, sizes = ewens(alpha, counts), np.array(counts)
    assert log_eppf(DirichletProcess(alpha), sizes) == pytest.approx(exact, rel=1e-13, abs=1e-13)
    assert log_eppf(NormalizedGeneralizedGamma(alpha, 0.0), sizes) == pytest.approx(exact, rel=1e-13, abs=1e-13)
    value, slope = symbolic(alpha, sizes)
    assert value == pytest.approx(exact, rel=1e-13, abs=1e-13)
    exact_slope = len(counts) - float(sum(Fraction(alpha) / (Fraction(alpha) + i) for i in range(sum(counts))))
    assert slope == pytest.approx(exact_slope, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("measure", GENERALIZED_GAMMA, ids=repr)
def test_weights_given_u_do_not_cancel(measure):
    rng = np.random.default_rng(4)
    alpha, sigma = measure
    for n_clusters in (1, 3, 50):
        log_u = draw_log_auxiliary(measure, 50, n_clusters, rng)
        table = weights(measure, 50, log_u)
        sizes = np.arange(1, 51)
        expected = np.log(sizes - sigma)
        np.testing.assert_allclose(table.join[1:], expected, rtol=1e-14, atol=1e-300)
        np.testing.assert_allclose(np.diff(table.moment), table.join[:-1], rtol=1e-12, atol=1e-12)
        if sigma == 0.0:
            assert table.join[0] == math.log(alpha)
        assert math.isfinite(log_joint_term(measure, 50, log_u) + table.moment[50])


@pytest.mark.parametrize("alpha", [1e-300, 1e-17])
@pytest.mark.parametrize("sigma, k", [(0.0, 3), (1e-300, 1), (1e-12, 2), (0.5, 1), (0.5, 20), (1.0 - 1e-6, 3)])
def test_u_has_its_limit_law(alpha, sigma, k):
    """As alpha tends to 0, psi(u) is gamma, of shape k where sigma is far above alpha and of shape 1 far below."""
    rng, measure = np.random.default_rng(5), NormalizedGeneralizedGamma(alpha, sigma)
    log_u = np.array([draw_log_auxiliary(measure, 30, k, rng) for _ in range(2000)])
    assert np.isfinite(log_u).all()
    if sigma > 1e4 * alpha:
        psi = np.exp(math.log(alpha) - math.log(sigma) + sigma * log_u)
    else:
        psi = alpha * (np.expm1(sigma * log_u) / sigma if sigma > 0.0 else log_u)
    assert stats.kstest(psi, stats.gamma(k if sigma > 1e4 * alpha else 1).cdf).pvalue > 1e-3


@pytest.mark.parametrize("measure", GENERALIZED_GAMMA, ids=repr)
def test_jumps_of_the_random_measure(measure):
    rng, counts = np.random.default_rng(6), np.array([30, 15, 5])
    drawn = draw_jumps(measure, counts, rng, 0.05, 20)
    assert np.isfinite(drawn.clusters).all() and np.isfinite(drawn.remaining).all()
    assert math.isfinite(drawn.log_tail_mass) and math.isfinite(drawn.log_u)
    if measure.alpha < 1e-7 and measure.sigma == 0.0:
        assert len(drawn.remaining) == 0


def test_shares_of_clusters_are_dirichlet_for_any_alpha():
    rng, counts = np.random.default_rng(7), np.array([30, 15, 5])
    shares = np.exp([draw_jumps(DirichletProcess(1e-17), counts, rng, 0.05, 1).clusters for _ in range(4000)])
    shares /= shares.sum(axis=1, keepdims=True)
    for share, count in zip(shares.T, counts, strict=True):
        assert stats.kstest(share, stats.beta(count, 50 - count).cdf).pvalue > 1e-3
