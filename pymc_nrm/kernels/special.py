"""Numerics for kernels: sums and draws from logarithms, and rank-one updates of Cholesky factors.

Every function except :func:`symbolic_log_rising_factorial` can be called from Python and from a kernel.
"""

import math

import numpy as np
import pytensor.tensor as pt
import scipy

from pymc_nrm.kernels.generic import generic, kernel


@generic
def log_gamma(x):
    """Logarithm of the gamma function."""
    return math.lgamma(x)


@log_gamma.register(np.ndarray)
def _(x):
    return scipy.special.gammaln(x)


@kernel
def softplus(x):
    """Logarithm of ``1 + exp(x)``, without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@kernel
def log_rising_factorial(a, n):
    """Logarithm of ``Gamma(a + n) / Gamma(a)``, ``a (a + 1) ... (a + n - 1)`` for whole n, without cancellation."""
    return math.lgamma(a + n) - math.lgamma(a) if a < 100.0 else _stirling_ratio(a, n)


@kernel
def log_gamma_ratio(a, n, log_gamma_a):
    """The value of :func:`log_rising_factorial` to about eleven decimals, faster because ``log Gamma(a)`` is given."""
    return math.lgamma(a + n) - log_gamma_a if a < 1e4 else _stirling_ratio(a, n)


@kernel
def _stirling_ratio(a, n):
    # For a of at least 100, the fourth term of the series is below 1e-17.
    return (a + n - 0.5) * math.log1p(n / a) + n * (math.log(a) - 1.0) + stirling_series(a + n) - stirling_series(a)


@kernel
def stirling_series(x):
    """The part of ``log Gamma(x)`` beyond ``(x - 1/2) log x - x + log(2 pi) / 2``, for a large number or tensor."""
    inverse = 1.0 / x
    square = inverse * inverse
    return inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))


@kernel
def digamma(x):
    """Derivative of ``log Gamma`` at a positive number; NaN at any other."""
    if not x > 0.0:
        return math.nan
    # Move the argument to at least 10, where the next term of the series is below 1e-15.
    shift = 0.0
    while x < 10.0:
        shift += 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = 1 / 252 - square * (1 / 240 - square * (1 / 132 - square * (691 / 32760)))
    return math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square * series)) - shift


def symbolic_log_rising_factorial(a, n):
    """Symbolic :func:`log_rising_factorial`."""
    # With equal ranks constants are merged, and fused operations have fewer operands.
    a, n = pt.as_tensor(a), pt.as_tensor(n)
    a = pt.shape_padleft(a, max(n.ndim - a.ndim, 0))
    small, large = pt.minimum(a, 100.0), pt.maximum(a, 100.0)
    end = large + n
    stirling = (end - 0.5) * pt.log1p(n / large) + n * (pt.log(large) - 1.0)
    stirling += stirling_series.__wrapped__(end) - stirling_series.__wrapped__(large)
    return pt.switch(pt.lt(a, 100.0), pt.gammaln(small + n) - pt.gammaln(small), stirling)


@kernel
def log_sum_exp(x):
    """Logarithm of the sum of exponentials. It is -inf if no entry is above -inf."""
    largest = -math.inf
    for value in x:
        if value > largest or math.isnan(value):
            largest = value
    if math.isinf(largest):
        return largest
    total = 0.0
    for value in x:
        total += math.exp(value - largest)
    return largest + math.log(total)


@kernel
def draw_gamma(rng, shape):
    """Draw a gamma variable of rate 1; NaN if the shape is NaN or below 0, where numba may never return."""
    return rng.standard_gamma(shape) if shape >= 0.0 else math.nan


# Variances of prior draws of tiny shapes overflow; in either case doubles cannot hold a density of items under them.
_LARGEST_VARIANCE = 1e300


@kernel
def draw_variance(rng, shape, scale):
    """Draw an inverse gamma variable, at most 1e300."""
    variance = scale / draw_gamma(rng, shape)
    return _LARGEST_VARIANCE if variance > _LARGEST_VARIANCE else variance


@kernel
def draw_log_gamma(rng, shape):
    """Draw the logarithm of a gamma variable of rate 1, which does not underflow however small the shape is."""
    # A gamma variable of shape a is G_(a+1) U^(1/a).
    return math.log(draw_gamma(rng, shape + 1.0)) + math.log1p(-rng.random()) / shape


@kernel
def draw_beta(rng, a, b):
    """Draw a beta variable x; return x and 1 - x, both to full precision."""
    if max(a, b) < 1e-290:
        # The variable is 0 or 1 to full precision; the logarithms of gamma variables must not overflow.
        a, b = 1e10 * a, 1e10 * b
    log_x, log_y = draw_log_gamma(rng, a), draw_log_gamma(rng, b)
    return 1.0 / (1.0 + math.exp(log_y - log_x)), 1.0 / (1.0 + math.exp(log_x - log_y))


@kernel
def draw_probability(rng, a, b):
    """Draw a beta variable."""
    # numba's sampler hardly ever returns if powers of both shapes underflow, and never if a shape is NaN.
    return rng.beta(a, b) if a > 0.0 and b > 0.0 and a + b > 1e-3 else draw_beta(rng, a, b)[0]


@kernel
def index_at(weights, n, threshold):
    """The first of n indices up to which weights sum to more than a threshold, a uniform variable times their sum. If a
    weight is NaN or infinite, the index is arbitrary; such proposals are then rejected.
    """
    chosen = n - 1
    for k in range(n):
        if weights[k] > 0.0:
            chosen = k
            threshold -= weights[k]
            if threshold < 0.0:
                break
    return chosen


@kernel
def draw_index(rng, weights):
    """Draw an index from unnormalised weights, as in :func:`index_at`."""
    total = 0.0
    for weight in weights:
        total += weight
    return index_at(weights, weights.shape[0], rng.random() * total)


@kernel
def exponentiate(values, n):
    """Replace n values by their exponentials divided by the largest one; return the largest value and the sum."""
    largest, total = values[0], 0.0
    for k in range(1, n):
        largest = max(largest, values[k])
    for k in range(n):
        values[k] = math.exp(values[k] - largest)
        total += values[k]
    return largest, total


@kernel
def draw_categorical(rng, log_weights):
    """Draw an index from unnormalised log weights."""
    weights = log_weights.copy()
    _, total = exponentiate(weights, weights.shape[0])
    if not 0.0 < total < math.inf:
        raise ValueError("log weights must be below infinity, not NaN, and at least one above -infinity")
    return draw_index(rng, weights)


@kernel
def cholesky_update(L, x):
    """Update the Cholesky factor of ``A`` to ``A + x x'``, in place. Shapes: ``L`` (d, d), ``x`` (d,)."""
    d = x.shape[0]
    for k in range(d):
        diagonal = math.hypot(L[k, k], x[k])
        cosine = L[k, k] / diagonal
        sine = x[k] / diagonal
        L[k, k] = diagonal
        for i in range(k + 1, d):
            below = L[i, k]
            L[i, k] = cosine * below + sine * x[i]
            x[i] = cosine * x[i] - sine * below


@kernel
def copy_row(target, source):
    """Copy a row by a plain loop, which compiles many times faster than an assignment that may broadcast."""
    for k in range(target.shape[0]):
        target[k] = source[k]


@kernel
def sum_rows(target, first, second):
    """Write the sum of two rows."""
    for k in range(target.shape[0]):
        target[k] = first[k] + second[k]


@kernel
def shuffle(rng, items):
    """Shuffle items, in place."""
    for i in range(items.shape[0] - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        items[i], items[j] = items[j], items[i]
