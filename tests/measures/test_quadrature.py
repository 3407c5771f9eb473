"""The integral I(n, k) against Gauss-Legendre quadrature of its definition in log u."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_nrm.measures.generalized_gamma import LogU
from pymc_nrm.measures.log_concave import log_density, log_density_derivative
from pymc_nrm.measures.quadrature import log_integral, symbolic_log_integral

CASES = [
    (n, k, alpha, sigma)
    for n in (1, 2, 10, 1000, 100_000)
    for k in sorted({1, max(1, n // 10), n})
    for alpha in (1e-6, 1e-2, 1.0, 1e3, 1e6)
    for sigma in (0.0, 1e-10, 1e-3, 0.25, 0.5, 0.9, 1.0 - 1e-6)
]


def growth(sigma, L):
    """``expm1(sigma L) / sigma``, truncated far beyond the point where the integrand vanishes."""
    return np.expm1(np.minimum(sigma * L, 500.0)) / sigma if sigma > 0.0 else L


def growth_slope(sigma, L):
    """Derivative of :func:`growth` in sigma, by its series near 0."""
    x = np.minimum(sigma * L, 500.0)
    safe = np.where(x > 0.02, x, 1.0)
    series = 1 / 2 + x / 3 + x**2 / 8 + x**3 / 30 + x**4 / 144 + x**5 / 840
    return L**2 * np.where(x > 0.02, (np.exp(safe) * safe - np.expm1(safe)) / safe**2, series)


def definition(n, k, alpha, sigma):
    """Log of ``u^(n-1) (1+u)^(k sigma - n) exp(-psi(u)) du/ds`` at ``s = log u``."""

    def f(s):
        L = np.logaddexp(0.0, s)
        return -n * np.logaddexp(0.0, -s) + k * sigma * L - alpha * growth(sigma, L)

    return f


@pytest.fixture(scope="module")
def symbolic():
    n, k = pt.lscalars("n", "k")
    alpha, sigma = pt.dscalars("alpha", "sigma")
    value = symbolic_log_integral(n, k, alpha, sigma)
    return pytensor.function([n, k, alpha, sigma], [value, *pt.grad(value, [alpha, sigma])])


def test_integral_and_slopes_on_a_wide_grid(integrate, symbolic):
    for n, k, alpha, sigma in CASES:
        case = f"n={n}, k={k}, alpha={alpha}, sigma={sigma}"
        exact, mean_growth, mean_slope, mean_L = integrate(
            definition(n, k, alpha, sigma),
            lambda s, sigma=sigma: growth(sigma, np.logaddexp(0.0, s)),
            lambda s, sigma=sigma: growth_slope(sigma, np.logaddexp(0.0, s)),
            lambda s: np.logaddexp(0.0, s),
        )
        value, slope_alpha, slope_sigma = symbolic(n, k, alpha, sigma)
        # Values as large as a million carry the rounding of their terms.
        assert log_integral(n, k, alpha, sigma) == pytest.approx(exact, abs=1e-9, rel=1e-13), case
        assert value == pytest.approx(exact, abs=1e-9, rel=1e-13), case
        assert slope_alpha == pytest.approx(-mean_growth, rel=1e-8), case
        exact_slope = k * mean_L - alpha * mean_slope
        assert slope_sigma == pytest.approx(exact_slope, rel=1e-7, abs=1e-8 * k * mean_L), case


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("s", [-50.0, -1.0, 0.0, 2.0, 30.0])
def test_density_of_log_u_is_the_integrand_and_has_the_derivative(sigma, s):
    target = LogU(20.0, 4.0, 0.8, sigma)
    f = definition(20, 4, 0.8, sigma)
    assert log_density(target, s) == pytest.approx(f(s), rel=1e-12)
    h = 1e-5
    numeric = (f(s + h) - f(s - h)) / (2 * h)
    assert log_density_derivative(target, s) == pytest.approx(numeric, rel=1e-5, abs=1e-8)
