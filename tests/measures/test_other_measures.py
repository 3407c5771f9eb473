"""Measures whose laws have formulas of their own, against these in many digits."""

import functools
import math
from decimal import Decimal

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError
from pytest import approx
from scipy import special

import pymc_nrm as nrm
from pymc_nrm.measures import base
from pymc_nrm.measures.base import log_eppf, symbolic_log_eppf
from pymc_nrm.measures.jumps import draw_jumps
from pymc_nrm.measures.mixture_of_finite_mixtures import LARGEST_RATE
from pymc_nrm.trees.bound_gradient import Block
from tests.measures.test_laws import ALPHAS, FINITE, LONG, PITMAN_YOR
from tests.tools.attack.reference import LOG_EPPFS, digits

SIZES = [[1], [2], [1, 1], [6], [3, 2, 1], [1] * 6, [40, 9, 1]]
STEP = Decimal("1e-25")
EXACT = [
    *map(nrm.DirichletProcess, ALPHAS),
    *(nrm.NormalizedGeneralizedGamma(alpha, 0.0) for alpha in ALPHAS),
    *PITMAN_YOR,
]
ROWS = [pytest.param(row, id=repr(row)) for row in [*EXACT, *FINITE]]
ROWS += [pytest.param(row, id=repr(row), marks=pytest.mark.slow) for row in LONG]


@pytest.fixture(scope="module")
def symbolic():
    """Values of symbolic log EPPFs, and their derivatives in each parameter."""

    @functools.cache
    def compiled(measure_class):
        parameters, counts = [pt.dscalar(name) for name in measure_class._fields], pt.lvector("counts")
        value = symbolic_log_eppf(measure_class(*parameters), counts)
        return pytensor.function([*parameters, counts], [value, *pt.grad(value, parameters)], mode="FAST_COMPILE")

    return lambda measure, counts: compiled(type(measure))(*measure, counts)


@pytest.mark.every(3)
@pytest.mark.parametrize("measure", ROWS)
def test_probabilities_and_gradients_in_many_digits(measure, symbolic):
    """Slopes of the exact function are central differences in 60 digits."""
    # A generalized gamma process without a discount, of which the slope in sigma is another test.
    name = type(measure).__name__.replace("NormalizedGeneralizedGamma", "DirichletProcess")
    exact, parameters = LOG_EPPFS[name], [Decimal(x) for x in measure][: 1 if "Dirichlet" in name else 2]
    is_long, tolerance = getattr(measure, "rate", 0.0) == LARGEST_RATE, 1e-13 if "Dirichlet" in name else 1e-12
    for counts in SIZES if not is_long else ([1], [1, 1], [3, 2, 1]):
        sizes, expected = np.array(counts), float(exact(*parameters, counts))
        assert log_eppf(measure, sizes) == approx(expected, rel=tolerance, abs=1e-10 if is_long else tolerance), counts
        value, *slopes = symbolic(measure, sizes)
        assert value == approx(expected, rel=1e-12, abs=1e-10 if is_long else 1e-12), counts
        for k, x in enumerate(parameters):
            # Discounts and their concentrations may be 0.
            scale = Decimal(1) if isinstance(measure, nrm.PitmanYorProcess) else x
            with digits(*measure):
                ends = [[*parameters[:k], x + sign * STEP * scale, *parameters[k + 1 :]] for sign in (1, -1)]
                slope = (exact(*ends[0], counts) - exact(*ends[1], counts)) / (2 * STEP)
            assert float(scale) * slopes[k] == approx(float(slope), rel=1e-9, abs=1e-9), counts


def test_discount_zero_is_the_dirichlet_process_in_every_function():
    zero, dirichlet, counts = nrm.PitmanYorProcess(0.0, 0.7), nrm.DirichletProcess(0.7), np.array([5, 2, 1])
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
    near, dirichlet, counts = nrm.PitmanYorProcess(d, 0.7), nrm.DirichletProcess(0.7), np.array([5, 2, 1])
    assert base.log_eppf(near, counts) == pytest.approx(base.log_eppf(dirichlet, counts), abs=20.0 * d + 1e-13)
    rng = np.random.default_rng(2)
    logs = [base.weights(near, 8, base.draw_log_auxiliary(near, 8, 3, rng)).join[0] for _ in range(200)]
    np.testing.assert_allclose(logs, math.log(0.7), atol=7.0 * math.sqrt(d) + 1e-15)


@pytest.mark.parametrize("ratio", [1e-6, 1.0, 99.999, 100.001, 1e4, 1e9, 1e14])
@pytest.mark.parametrize("k", [1, 4])
def test_the_joint_density_integrates_to_the_probability(ratio, k):
    d = 0.4 / max(ratio, 1.0)
    measure, counts = nrm.PitmanYorProcess(d, d * ratio), np.arange(1, k + 1)
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
    log_p = pm.logp(nrm.Partition.dist(nrm.PitmanYorProcess(d, t), 3), labels)
    assert log_p.eval({d: 0.3, t: -0.2}, mode="FAST_COMPILE") == approx(
        float(LOG_EPPFS["PitmanYorProcess"](0.3, -0.2, [2, 1]))
    )
    with pytest.raises(ParameterValueError, match="concentration finite and greater than -discount"):
        log_p.eval({d: 0.3, t: bad}, mode="FAST_COMPILE")


def test_coordinates_of_both_parameters_keep_the_bound():
    block = Block(nrm.PitmanYorProcess(0.5, -0.3), ["concentration", "discount"], 1)
    assert block.at(block.start) == pytest.approx((0.5, -0.3))
    moved = block.at(block.start - np.array([1.0, 30.0]))
    assert moved.concentration > -moved.discount
    assert moved.discount == pytest.approx(special.expit(-1.0))


@pytest.mark.parametrize("rate", [-1.0, 0.0, 2.0 * LARGEST_RATE, math.inf, math.nan])
def test_graph_takes_values_outside_the_support(symbolic, rate):
    """A sampler may try them: the condition on the support then refuses them, at the cost of few terms."""
    assert len(symbolic(nrm.MixtureOfFiniteMixtures(1.0, rate), np.array([2, 1]))) == 3
