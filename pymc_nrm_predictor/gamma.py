"""Ratios of gamma functions without cancellation."""

import numpy as np
import scipy

# From here on, the fourth term of Stirling's series is below 1e-17.
_LARGE = 100.0


def log_rising_factorial(a, x):
    """Logarithm of ``Gamma(a + x) / Gamma(a)``; arrays of shapes that broadcast, a > 0 and x >= 0."""
    a, x = np.broadcast_arrays(a, x)
    result = np.empty(a.shape)
    small = a < _LARGE
    result[small] = scipy.special.gammaln(a[small] + x[small]) - scipy.special.gammaln(a[small])
    a, x = a[~small], x[~small]
    change = _stirling_series(a + x) - _stirling_series(a)
    result[~small] = (a + x - 0.5) * np.log1p(x / a) + x * (np.log(a) - 1.0) + change
    return result


def log_factorial(x):
    """Logarithm of ``x!``."""
    return scipy.special.gammaln(x + 1.0)


def _stirling_series(x):
    """The part of ``log Gamma(x)`` beyond ``(x - 1/2) log x - x + log(2 pi) / 2``."""
    inverse = 1.0 / x
    square = inverse * inverse
    return inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
