"""Pitman-Yor processes and mixtures of finite mixtures against their own formulas."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError
from scipy import special, stats
from test_laws import FINITE, LONG, PITMAN_YOR, log_of

from pymc_nrm.measures import DirichletProcess, MixtureOfFiniteMixtures, PitmanYorProcess, base
from pymc_nrm.measures.base import draw_log_auxiliary, log_eppf, symbolic_log_eppf, weights
from pymc_nrm.measures.jumps import draw_jumps
from pymc_nrm.measures.mixture_of_finite_mixtures import LARGEST_RATE
from pymc_nrm.models.partition import Partition
from pymc_nrm.trees.bound_gradient import Block

COUNTS = [[1], [4], [1, 1, 1], [3, 2, 1], [30, 20, 5, 1, 1, 1]]


def exact_log_eppf(d, t, counts):
    d, t = Fraction(d), Fraction(t)
    value = Fraction(1)
    for i in range(1, len(counts)):
        value *= t + i * d
    for i in range(1, sum(counts)):
        value /= t + i
    for m in counts:
        for j in range(1, m):
            value *= j - d
    return log_of(value)


@pytest.fixture(scope="module")
def symbolic():
    d, t, counts = pt.dscalar("d"), pt.dscalar("t"), pt.lvector("counts")
    value = base.symbolic_log_eppf(PitmanYorProcess(d, t), counts)
    return pytensor.function([d, t, counts], [value, *pt.grad(value, [d, t])], mode="FAST_COMPILE")


@pytest.mark.parametrize(("d", "t"), PITMAN_YOR)
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_probabilities_and_gradients_in_rational_arithmetic(d, t, counts, symbolic):
    exact, sizes = exact_log_eppf(d, t, counts), np.array(counts)
    assert base.log_eppf(PitmanYorProcess(d, t), sizes) == pytest.approx(exact, rel=1e-12, abs=1e-12)
    value, slope_d, slope_t = symbolic(d, t, sizes)
    assert value == pytest.approx(exact, rel=1e-12, abs=1e-12)
    D, T, k, n = Fraction(d), Fraction(t), len(counts), sum(counts)
    in_d = sum(i / (T + i * D) for i in range(1, k)) - sum(1 / (j - D) for m in counts for j in range(1, m))
    in_t = sum(1 / (T + i * D) for i in range(1, k)) - sum(1 / (T + i) for i in range(1, n))
    assert slope_d == pytest.approx(float(in_d), rel=1e-9, abs=1e-9)
    assert slope_t == pytest.approx(float(in_t), rel=1e-9, abs=1e-9)


def test_discount_zero_is_the_dirichlet_process_in_every_function():
    zero, dirichlet, counts = PitmanYorProcess(0.0, 0.7), DirichletProcess(0.7), np.array([5, 2, 1])
    assert base.log_eppf(zero, counts) == pytest.approx(base.log_eppf(dirichlet, counts), rel=1e-14)
    assert base.log_joint_term(zero, 8, 1.3) == pytest.approx(base.log_joint_term(dirichlet, 8, 1.3), rel=1e-14)
    for one, other in zip(base.weights(zero, 8, 1.3), base.weights(dirichlet, 8, 1.3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
    np.testing.assert_allclose(base.n_clusters_log_pmf(zero, 50), base.n_clusters_log_pmf(dirichlet, 50), rtol=1e-12)
    assert base.n_clusters_mean(zero, 50) == pytest.approx(base.n_clusters_mean(dirichlet, 50), rel=1e-14)
    draws = [base.draw_log_auxiliary(measure, 8, 3, np.random.default_rng(1)) for measure in (zero, dirichlet)]
    assert draws[0] == draws[1]
    zero, dirichlet = (draw_jumps(m, counts, np.random.default_rng(1), 0.01, 100) for m in (zero, dirichlet))
    for one, other in zip(zero, dirichlet, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("d", [1e-6, 1e-12, 1e-18, 1e-300])
def test_small_discounts_are_near_the_dirichlet_process(d):
    near, dirichlet, counts = PitmanYorProcess(d, 0.7), DirichletProcess(0.7), np.array([5, 2, 1])
    assert base.log_eppf(near, counts) == pytest.approx(base.log_eppf(dirichlet, counts), abs=20.0 * d + 1e-13)
    rng = np.random.default_rng(2)
    logs = [base.weights(near, 8, base.draw_log_auxiliary(near, 8, 3, rng)).join[0] for _ in range(200)]
    np.testing.assert_allclose(logs, math.log(0.7), atol=7.0 * math.sqrt(d) + 1e-15)


@pytest.mark.parametrize("d, t, k", [(0.3, 1.0, 3), (0.5, -0.3, 1), (0.9, -0.8, 1), (0.2, 0.0, 9), (1e-3, 4.0, 2)])
def test_the_auxiliary_variable_is_a_gamma_variable(d, t, k):
    rng = np.random.default_rng(3)
    draws = np.array([base.draw_log_auxiliary(PitmanYorProcess(d, t), 10, k, rng) for _ in range(4000)])
    assert stats.kstest(np.exp(draws) / d, stats.gamma(t / d + k).cdf).pvalue > 1e-3


@pytest.mark.parametrize("ratio", [1e-6, 1.0, 99.999, 100.001, 1e4, 1e9, 1e14])
@pytest.mark.parametrize("k", [1, 4])
def test_the_joint_density_integrates_to_the_probability(ratio, k):
    d = 0.4 / max(ratio, 1.0)
    measure, counts = PitmanYorProcess(d, d * ratio), np.arange(1, k + 1)
    center, width = math.log(d * (ratio + k)), 1.0 / math.sqrt(ratio + k)
    grid = np.linspace(center - 45.0 * width, center + 12.0 * width, 6_001)
    moments = [base.weights(measure, 10, log_u).moment[counts].sum() for log_u in grid]
    values = np.array([base.log_joint_term(measure, int(counts.sum()), log_u) + log_u for log_u in grid]) + moments
    log_integral = np.logaddexp.reduce(values) + math.log(grid[1] - grid[0])
    assert log_integral == pytest.approx(base.log_eppf(measure, counts), abs=1e-7)


@pytest.mark.parametrize("bad", [-0.3, -0.31, -2.0])
def test_concentrations_outside_have_no_log_probability(bad):
    d, t = pt.dscalar("d"), pt.dscalar("t")
    labels = np.array([0, 0, 1])
    log_p = pm.logp(Partition.dist(PitmanYorProcess(d, t), 3), labels)
    assert log_p.eval({d: 0.3, t: -0.2}, mode="FAST_COMPILE") == pytest.approx(exact_log_eppf(0.3, -0.2, [2, 1]))
    with pytest.raises(ParameterValueError, match="concentration finite and greater than -discount"):
        log_p.eval({d: 0.3, t: bad}, mode="FAST_COMPILE")


def test_coordinates_of_both_parameters_keep_the_bound():
    block = Block(PitmanYorProcess(0.5, -0.3), ["concentration", "discount"], 1)
    assert block.at(block.start) == pytest.approx((0.5, -0.3))
    moved = block.at(block.start - np.array([1.0, 30.0]))
    assert moved.concentration > -moved.discount
    assert moved.discount == pytest.approx(special.expit(-1.0))


ROWS = [pytest.param(*row, id=repr(row)) for row in FINITE]
ROWS += [pytest.param(*row, id=repr(row), marks=pytest.mark.slow) for row in LONG]
SIZES = [[1], [2], [1, 1], [6], [3, 2, 1], [1] * 6, [20, 9, 1]]


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
def symbolic_mfm():
    """Value of the symbolic_mfm log EPPF, and its derivatives in log gamma and log rate."""
    gamma, rate = pt.dscalars("gamma", "rate")
    counts = pt.lvector("counts")
    value = symbolic_log_eppf(MixtureOfFiniteMixtures(gamma, rate), counts)
    slopes = pt.grad(value, [gamma, rate])
    return pytensor.function([gamma, rate, counts], [value, gamma * slopes[0], rate * slopes[1]])


@pytest.mark.parametrize("gamma, rate", ROWS)
def test_log_eppf_and_its_gradient_in_many_digits(gamma, rate, symbolic_mfm):
    for counts in SIZES if rate < LARGEST_RATE else ([1], [1, 1], [3, 2, 1]):
        exact = Exact(gamma, rate, counts)
        tolerance = {"rel": 1e-12, "abs": 1e-10 if rate == LARGEST_RATE else 1e-12}
        sizes = np.array(counts)
        assert log_eppf(MixtureOfFiniteMixtures(gamma, rate), sizes) == pytest.approx(exact.log_eppf, **tolerance)
        value, slope_gamma, slope_rate = symbolic_mfm(gamma, rate, sizes)
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


@pytest.mark.parametrize("rate", [-1.0, 0.0, 2.0 * LARGEST_RATE, math.inf, math.nan])
def test_graph_takes_values_outside_the_support(symbolic_mfm, rate):
    """A sampler may try them: the condition on the support then refuses them, at the cost of few terms."""
    assert len(symbolic_mfm(1.0, rate, np.array([2, 1]))) == 3
