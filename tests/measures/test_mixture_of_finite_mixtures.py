"""Mixtures of finite mixtures against sums over the number of components in 60 decimal digits."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import stats
from test_laws import FINITE, LONG

from pymc_nrm.measures import MixtureOfFiniteMixtures
from pymc_nrm.measures.base import draw_log_auxiliary, log_eppf, symbolic_log_eppf, weights
from pymc_nrm.measures.mixture_of_finite_mixtures import LARGEST_RATE

ROWS = [pytest.param(*row, id=repr(row)) for row in FINITE]
ROWS += [pytest.param(*row, id=repr(row), marks=pytest.mark.slow) for row in LONG]
COUNTS = [[1], [2], [1, 1], [6], [3, 2, 1], [1] * 6, [20, 9, 1]]


class Exact:
    """Log EPPF and its derivatives in log gamma and log rate."""

    def __init__(self, gamma, rate, counts):
        with localcontext() as context:
            # As many digits more as exp(rate) - 1 loses.
            context.prec = 60 + max(0, -int(math.log10(rate)))
            gamma, rate, n, k = Decimal(gamma), Decimal(rate), sum(counts), len(counts)
            term, total, mean, slope = rate**k, Decimal(0), Decimal(0), Decimal(0)
            for m in range(int(float(rate) + 12.0 * math.sqrt(rate)) + 80):
                if m > 0:
                    term *= rate / m
                factors = [gamma * (k + m) + i for i in range(n)]
                share = term / math.prod(factors)
                total += share
                mean += share * (k + m)
                slope += share * sum(gamma * (k + m) / factor for factor in factors)
            sizes = math.prod(gamma + i for size in counts for i in range(size))
            self.log_eppf = float((sizes * total / (rate.exp() - 1)).ln())
            self.slope_gamma = float(sum(gamma / (gamma + i) for size in counts for i in range(size)) - slope / total)
            self.slope_rate = float(mean / total - rate / (1 - (-rate).exp()))


@pytest.fixture(scope="module")
def symbolic():
    """Value of the symbolic log EPPF, and its derivatives in log gamma and log rate."""
    gamma, rate = pt.dscalars("gamma", "rate")
    counts = pt.lvector("counts")
    value = symbolic_log_eppf(MixtureOfFiniteMixtures(gamma, rate), counts)
    slopes = pt.grad(value, [gamma, rate])
    return pytensor.function([gamma, rate, counts], [value, gamma * slopes[0], rate * slopes[1]])


@pytest.mark.parametrize("gamma, rate", ROWS)
def test_log_eppf_and_its_gradient_in_many_digits(gamma, rate, symbolic):
    for counts in COUNTS if rate < LARGEST_RATE else ([1], [1, 1], [3, 2, 1]):
        exact = Exact(gamma, rate, counts)
        tolerance = {"rel": 1e-12, "abs": 1e-10 if rate == LARGEST_RATE else 1e-12}
        sizes = np.array(counts)
        assert log_eppf(MixtureOfFiniteMixtures(gamma, rate), sizes) == pytest.approx(exact.log_eppf, **tolerance)
        value, slope_gamma, slope_rate = symbolic(gamma, rate, sizes)
        assert value == pytest.approx(exact.log_eppf, **tolerance)
        assert slope_gamma == pytest.approx(exact.slope_gamma, rel=1e-9, abs=1e-9), counts
        assert slope_rate == pytest.approx(exact.slope_rate, rel=1e-9, abs=1e-9), counts


@pytest.mark.parametrize(
    "gamma, rate, n, k",
    [
        (1.0, 3.0, 1, 1),
        (0.5, 1.0, 10, 3),
        (0.1, 40.0, 10, 3),
        (0.02, 300.0, 1000, 2),
        (0.3, 1e-8, 5, 2),
        (3.0, 20.0, 5, 5),
        (1e3, 5.0, 1000, 4),
        # Two modes: few components, or as many as the prior expects.
        (100.0, 30.0, 10, 1),
        # The sums have a hundred thousand terms.
        pytest.param(1.0, 1e5, 100, 30, marks=pytest.mark.slow),
    ],
)
def test_log_u_has_the_conditional_law(gamma, rate, n, k):
    measure, rng, n_draws = MixtureOfFiniteMixtures(gamma, rate), np.random.default_rng(41), 4000
    draws = np.array([draw_log_auxiliary(measure, n, k, rng) for _ in range(n_draws)])
    s = np.linspace(draws.min() - 20.0 - 3.0 * np.ptp(draws), draws.max() + 20.0 + 3.0 * np.ptp(draws), 1_000_001)
    L = np.logaddexp(0.0, s)
    log_density = n * (s - L) - gamma * k * L + rate * np.exp(-gamma * L)
    cdf = np.cumsum(np.exp(log_density - log_density.max()))
    assert stats.kstest(np.interp(draws, s, cdf / cdf[-1]), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("gamma, rate", ROWS)
@pytest.mark.parametrize("n, k", [(1, 1), (100_000, 1), (100_000, 1000)])
def test_draws_of_log_u_and_weights_are_finite_for_extreme_hyperparameters(gamma, rate, n, k):
    measure, rng = MixtureOfFiniteMixtures(gamma, rate), np.random.default_rng(3)
    for _ in range(5):
        log_u = draw_log_auxiliary(measure, n, k, rng)
        assert math.isfinite(log_u)
        assert all(np.isfinite(table).all() for table in weights(measure, 20, log_u))


@pytest.mark.slow
def test_second_derivatives_are_right():
    rate = pt.dscalar("rate")
    value = symbolic_log_eppf(MixtureOfFiniteMixtures(0.7, rate), pt.as_tensor(np.array([5, 3, 1])))
    slope = pt.grad(value, rate)
    first, second = (pytensor.function([rate], f) for f in (slope, pt.grad(slope, rate)))
    assert second(4.0) == pytest.approx((first(4.0 + 1e-5) - first(4.0 - 1e-5)) / 2e-5, rel=1e-6)


@pytest.mark.parametrize("rate", [-1.0, 0.0, 2.0 * LARGEST_RATE, math.inf, math.nan])
def test_graph_takes_values_outside_the_support(symbolic, rate):
    """A sampler may try them: the condition on the support then refuses them, at the cost of few terms."""
    assert len(symbolic(1.0, rate, np.array([2, 1]))) == 3
