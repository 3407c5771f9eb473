"""The operation behind priors on covariances, against products of matrices."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_nrm.families.random_covariance import CovarianceGradient, random_covariance, symbolic_covariance


@pytest.fixture(params=[1, 2, 4])
def point(request, rng):
    """Scale, squared diagonal and entries below it."""
    d = request.param
    scale = np.linalg.cholesky(np.cov(rng.normal(size=(d, 9))).reshape(d, d))
    return scale, rng.chisquare(4.0, size=d), rng.normal(size=d * (d - 1) // 2)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("NUMBA", marks=pytest.mark.slow)])
def test_value_and_gradient(point, mode, rng):
    scale, *values = point
    weights = rng.normal(size=scale.shape)
    squares, below = (pt.vector(name, shape=value.shape) for name, value in zip("ab", values, strict=True))
    results = []
    for function in (random_covariance, symbolic_covariance):
        covariance = function(pt.constant(scale), squares, below)
        gradient = pt.grad((covariance * weights).sum(), [squares, below])
        results.append(pytensor.function([squares, below], [covariance, *gradient], mode=mode)(*values))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("of_below", [3.0, None])
def test_second_derivatives(point, of_below, rng):
    scale, *values = point
    squares, below = pt.vector("a"), pt.vector("b")
    # The weights may depend on the same variables.
    weights = pt.constant(rng.normal(size=scale.shape)) * (1.0 + (squares**2).sum())
    of_op = CovarianceGradient()(pt.constant(scale), squares, below, weights)
    covariance = symbolic_covariance(pt.constant(scale), squares, below)
    of_symbols = pt.grad((covariance * weights).sum(), [squares, below], consider_constant=[weights])
    results = []
    for first in (of_op, of_symbols):
        weighted = (first[0] ** 2).sum() + (0.0 if of_below is None else (first[1] * of_below).sum())
        second = pt.grad(weighted, [squares, below], disconnected_inputs="ignore")
        results.append(
            pytensor.function([squares, below], second, mode="FAST_COMPILE", on_unused_input="ignore")(*values)
        )
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
