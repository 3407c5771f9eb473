"""The integral over u in the partition probabilities of generalized gamma measures, numerically and symbolically.

With ``L = log(1 + u)``,

    I(n, k) = int u^(n-1) (1+u)^(k sigma - n) exp(-psi(u)) du
            = int exp{(n-1) log(1 - e^-L) + sigma k L - alpha expm1(sigma L) / sigma} dL
        = int (1 - e^-L)^(n-1) (1 + sigma x)^(k-1) e^(-alpha x) dx,    x = expm1(sigma L) / sigma.

The last integrand is log-concave in x, and nothing in it overflows.  We integrate over t, where ``log x = t - e^-t``
(Takahasi & Mori 1974, "Double exponential formulas for numerical integration").  The integrand in t is unimodal and
decays doubly exponentially on both sides.  The trapezoid rule therefore converges exponentially, over a window that is
short for any ``alpha`` and ``sigma``.
"""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp
from pymc_nrm.kernels.special import log_sum_exp

N_NODES = 320

# The window contains all nodes where the integrand is above exp(-_DEPTH) times its maximum.
_DEPTH = 40.0

# Largest t at which x is a double, and x there.
_LARGEST_T = 709.0
_LARGEST_X = math.exp(_LARGEST_T)


@kernel
def expm1_ratio(sigma, x):
    """``expm1(sigma x) / sigma``, which tends to x as sigma tends to 0."""
    if sigma == 0.0:
        return x
    # If sigma x is tiny, it may be subnormal and have few digits: use the series.
    return np.expm1(sigma * x) / sigma if abs(sigma * x) > 1e-8 else x * (1.0 + 0.5 * sigma * x)


@kernel
def log_growth(alpha, sigma, L):
    """``log alpha + sigma L``, the logarithm of ``alpha (1 + u)^sigma``."""
    return math.log(alpha) + sigma * L


@kernel
def laplace_exponent_at(alpha, sigma, L):
    """Laplace exponent ``alpha expm1(sigma L) / sigma`` at ``u = expm1(L)``; inf if it is above exp(700)."""
    if sigma * L < 200.0:
        return alpha * expm1_ratio(sigma, L)
    log_value = log_growth(alpha, sigma, L) - math.log(sigma)
    return math.exp(log_value) if log_value < 700.0 else math.inf


@kernel
def log1mexp(x):
    """Logarithm of ``1 - exp(-x)`` for x > 0."""
    return math.log(-math.expm1(-x)) if x < 0.7 else math.log1p(-math.exp(-x))


@kernel
def log_integrand(n, k, alpha, sigma, t):
    """Points x and L at t, and the logarithms of ``(1 - e^-L)^(n-1) dL/dt`` and of the whole integrand."""
    e = math.exp(-t)
    x = math.exp(t - e)
    growth = math.log1p(sigma * x)
    L = growth / sigma if sigma * x > 1e-8 else x * (1.0 - 0.5 * sigma * x)
    # Below 1e-300, L is x up to rounding, whose logarithm is t - e even where x itself underflows.
    log_decay = log1mexp(L) if x > 1e-300 else t - e
    fixed = (n - 1.0) * log_decay + t - e + math.log1p(e) - growth
    return x, L, fixed, fixed + k * growth - alpha * x


@kernel
def find_window(n, k, alpha, sigma):
    """Ends of an interval of t outside which the integrand is negligible.

    At the mode, log x is at most a few units below ``-log(1 + alpha)``, and x is below ``1000 n / alpha``, where
    ``alpha x`` exceeds ``n log(1 + sigma x)`` for any alpha.  The first grid therefore contains the mode.  Since the
    integrand is unimodal, each further grid needs to reach only one node beyond the nodes that are not negligible.

    The factor ``x^(k-1) e^(-alpha x)`` bounds the integrand for large x.  Where it is negligible beyond all doubles,
    the window ends with these; otherwise, with alpha below about 1e-308 k, the integral is NaN.
    """
    low = -math.log(math.log1p(alpha) + 10.0 + _DEPTH)
    high = max(math.log(1000.0 * n + 1000.0) - math.log(alpha), 0.0) + 1.0
    if alpha * _LARGEST_X > k + 10.0 * math.sqrt(k) + 2.0 * _DEPTH:
        high = min(high, _LARGEST_T)
    n_grid = 65
    values = np.empty(n_grid)
    for _ in range(20):
        spacing = (high - low) / (n_grid - 1)
        largest = -math.inf
        for j in range(n_grid):
            values[j] = log_integrand(n, k, alpha, sigma, low + j * spacing)[3]
            largest = max(largest, values[j])
        first, last = 0, n_grid - 1
        while first < n_grid - 1 and values[first] < largest - _DEPTH:
            first += 1
        while last > 0 and values[last] < largest - _DEPTH:
            last -= 1
        first, last = max(first - 1, 0), min(last + 1, n_grid - 1)
        low, high = low + first * spacing, low + last * spacing
        if last - first > n_grid - 8:
            break
    return low, high


@kernel
def log_integral(n, k, alpha, sigma):
    """Logarithm of I(n, k). The relative error of I is about 1e-11, apart from the rounding of terms as large as n."""
    low, high = find_window(n, k, alpha, sigma)
    spacing = (high - low) / (N_NODES - 1)
    values = np.empty(N_NODES)
    for j in range(N_NODES):
        values[j] = log_integrand(n, k, alpha, sigma, low + j * spacing)[3]
    # The trapezoid rule, for an integrand that vanishes at both ends.
    return log_sum_exp(values) + math.log(spacing)


@kernel
def quadrature_nodes(n, k, alpha, sigma):
    """Nodes L, the part ``offset`` of each log summand that is free of alpha and sigma, and the largest log summand;
    arguments are arrays without dimensions.

    The largest log summand is subtracted from ``offset``, so that nothing overflows in
    ``log I = largest + log sum exp(offset + sigma k L - alpha expm1(sigma L) / sigma)``.
    """
    n, k, alpha, sigma = n.item(), k.item(), alpha.item(), sigma.item()
    low, high = find_window(n, k, alpha, sigma)
    spacing = (high - low) / (N_NODES - 1)
    log_spacing = math.log(spacing)
    L = np.empty(N_NODES)
    offset = np.empty(N_NODES)
    largest = -math.inf
    for j in range(N_NODES):
        _, L[j], offset[j], value = log_integrand(n, k, alpha, sigma, low + j * spacing)
        largest = max(largest, value + log_spacing)
    for j in range(N_NODES):
        offset[j] += log_spacing - largest
    return L, offset, np.asarray(largest)


class QuadratureNodes(KernelOp):
    """Nodes of the quadrature, which differentiation treats as constants.

    The trapezoid rule on any fixed nodes near these is as accurate, so the derivatives of I(n, k) are the derivatives
    of the sum over fixed nodes.
    """

    kernel = quadrature_nodes
    constant = (0, 1, 2, 3)
    gufunc_signature = f"(),(),(),()->({N_NODES}),({N_NODES}),()"

    def make_node(self, n, k, alpha, sigma):
        inputs = [pt.as_tensor(value).astype("float64") for value in (n, k, alpha, sigma)]
        nodes = pt.TensorType("float64", shape=(N_NODES,))
        return Apply(self, inputs, [nodes(), nodes(), pt.dscalar()])

    def infer_shape(self, node, input_shapes):
        return [(N_NODES,), (N_NODES,), ()]


def symbolic_log_integral(n, k, alpha, sigma):
    """Logarithm of I(n, k), differentiable in alpha and sigma."""
    L, offset, largest = QuadratureNodes()(n, k, alpha, sigma)
    exponent = offset + sigma * k * L - alpha * L * _expm1_over_x(sigma * L)
    return pt.log(pt.exp(exponent).sum()) + largest


def _expm1_over_x(x):
    """``expm1(x) / x`` for x >= 0, with derivatives that lose no digits near 0."""
    small = pt.lt(x, 0.1)
    near = pt.switch(small, x, 0.0)
    far = pt.switch(small, 1.0, x)
    series = 1.0
    for order in range(10, 1, -1):
        series = 1.0 + near / order * series
    return pt.switch(small, series, pt.expm1(far) / far)
