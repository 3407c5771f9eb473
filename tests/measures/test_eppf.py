"""Partition probabilities: their sum, known figures, limits, and the agreement of numbers and graphs."""

import math
import pickle

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma, NormalizedInverseGaussian
from pymc_nrm.measures.base import log_eppf, symbolic_log_eppf
from pymc_nrm.measures.quadrature import QuadratureNodes


@pytest.fixture(scope="module")
def symbolic():
    """Value, derivative in alpha and derivative in sigma of the symbolic log EPPF as functions of numbers."""
    alpha, sigma = pt.dscalars("alpha", "sigma")
    counts = pt.lvector("counts")
    value = symbolic_log_eppf(NormalizedGeneralizedGamma(alpha, sigma), counts)
    return pytensor.function([alpha, sigma, counts], [value, *pt.grad(value, [alpha, sigma])])


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 1.0, 300.0, 1e6])
@pytest.mark.parametrize("counts", [[1], [3], [1, 1, 1, 1], [60, 30, 9, 1], [99_000, 999, 1]])
@pytest.mark.parametrize("sigma, tolerance", [(0.0, 1e-9), (1e-10, 1e-2)])
def test_sigma_zero_is_the_dirichlet_process(alpha, counts, sigma, tolerance, symbolic):
    counts = np.array(counts)
    exact = len(counts) * math.log(alpha) - math.fsum(np.log(alpha + np.arange(counts.sum())))
    exact += math.fsum(math.lgamma(m) for m in counts)
    # With sigma = 1e-10 the first-order term, about sigma k / alpha, is what remains.
    assert log_eppf(DirichletProcess(alpha), counts) == pytest.approx(exact, abs=1e-9, rel=1e-13)
    assert log_eppf(NormalizedGeneralizedGamma(alpha, sigma), counts) == pytest.approx(exact, abs=tolerance, rel=1e-13)
    assert symbolic(alpha, sigma, counts)[0] == pytest.approx(exact, abs=tolerance, rel=1e-13)


def test_inverse_gaussian_is_generalized_gamma_with_sigma_one_half():
    counts = np.array([5, 2, 2, 1])
    half = log_eppf(NormalizedGeneralizedGamma(0.7, 0.5), counts)
    assert log_eppf(NormalizedInverseGaussian(0.7), counts) == pytest.approx(half, abs=1e-12)


@pytest.mark.parametrize("alpha", [1e-6, 0.05, 1.0, 50.0, 1e6])
@pytest.mark.parametrize("sigma", [0.0, 1e-10, 1e-4, 0.2, 0.5, 0.9, 1.0 - 1e-6])
@pytest.mark.parametrize("counts", [[1], [2], [1, 1], [6, 3, 1], [40] * 10, [50_000, 49_998, 1, 1]])
def test_gradient_is_the_slope(symbolic, alpha, sigma, counts):
    counts = np.array(counts)
    _, slope_alpha, slope_sigma = symbolic(alpha, sigma, counts)

    def at(log_factor, shift):
        return log_eppf(NormalizedGeneralizedGamma(alpha * math.exp(log_factor), sigma + shift), counts)

    # Five-point differences; rounding of values as large as n limits what they can tell.
    size = abs(at(0.0, 0.0))
    h = 1e-3
    numeric = (8 * (at(h, 0) - at(-h, 0)) - at(2 * h, 0) + at(-2 * h, 0)) / (12 * h)
    assert alpha * slope_alpha == pytest.approx(numeric, rel=1e-7, abs=1e-8 + 1e-11 * size)
    # The scale of sigma on which the probabilities change, shorter for small alpha: growth by e^(sigma / alpha).
    h = 1e-3 * min(alpha, 1.0, 1.0 - sigma) / len(counts)
    if sigma >= 2 * h:
        numeric = (8 * (at(0, h) - at(0, -h)) - at(0, 2 * h) + at(0, -2 * h)) / (12 * h)
    else:
        numeric = (-25 * at(0, 0) + 48 * at(0, h) - 36 * at(0, 2 * h) + 16 * at(0, 3 * h) - 3 * at(0, 4 * h)) / (12 * h)
    assert slope_sigma == pytest.approx(numeric, rel=1e-5, abs=1e-6 + (1e-14 * size + 1e-13) / h)


def test_second_derivatives_are_finite_and_right():
    alpha = pt.dscalar("alpha")
    value = symbolic_log_eppf(NormalizedGeneralizedGamma(alpha, 0.3), pt.as_tensor(np.array([5, 3, 1])))
    slope = pt.grad(value, alpha)
    first, second = (pytensor.function([alpha], f) for f in (slope, pt.grad(slope, alpha)))
    assert second(0.8) == pytest.approx((first(0.8 + 1e-5) - first(0.8 - 1e-5)) / 2e-5, rel=1e-6)


def test_graph_of_nodes_survives_pickling_and_runs_without_numba():
    op = pickle.loads(pickle.dumps(QuadratureNodes()))
    assert op == QuadratureNodes()
    outputs = op(10, 3, 0.7, 0.2)
    for python, compiled in zip(
        pytensor.function([], outputs, mode="FAST_COMPILE")(), pytensor.function([], outputs)(), strict=True
    ):
        np.testing.assert_allclose(python, compiled, rtol=1e-12)
