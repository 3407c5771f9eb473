"""The Pitman-Yor process against rational arithmetic, the Dirichlet process, and gamma laws."""

import math
from fractions import Fraction

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError
from scipy import special, stats
from test_laws import PITMAN_YOR, log_of

from pymc_nrm.measures import DirichletProcess, PitmanYorProcess, base
from pymc_nrm.measures.jumps import draw_jumps
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
