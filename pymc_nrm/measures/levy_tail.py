"""Tails of the Levy intensity of generalized gamma measures: the number of jumps above a size, and the mass below it.

The intensity is ``x^(-1-sigma) e^-x / Gamma(1-sigma)`` on (0, inf); a change of units gives it to every measure of the
class and its tilted versions.  Sizes are given as logarithms, since most jumps would underflow if sigma is small.
"""

import math

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.quadrature import expm1_ratio

_EULER = 0.5772156649015329


@kernel
def _log_gamma_ratio(y):
    """``log Gamma(1 + y) / y`` for y > -1, accurate also as y tends to 0."""
    if abs(y) > 0.02:
        return math.lgamma(1.0 + y) / y
    # Minus Euler's constant, plus the sum over k >= 2 of zeta(k)/k (-1)^k y^(k-1).
    series = 0.14404989676884614 - y * (0.12550966952474304 - y * 0.11133426586956469)
    series = 0.27058080842778454 - y * (0.207385551028674 - y * (0.16955717699740822 - y * series))
    return y * (0.8224670334241132 - y * (0.40068563438653143 - y * series)) - _EULER


@kernel
def _log_upper_gamma(sigma, log_x):
    """Log of the upper incomplete gamma function ``Gamma(-sigma, x)``, sigma in [0, 1)."""
    x = math.exp(log_x)
    if x >= 1.0:
        # The continued fraction 1 / (x+1+sigma - 1(1+sigma) / (x+3+sigma - 2(2+sigma) / ...)) by modified Lentz.
        b = x + 1.0 + sigma
        d = 1.0 / b
        c = math.inf
        value = d
        for k in range(1, 500):
            term = -k * (k + sigma)
            b += 2.0
            d = 1.0 / (term * d + b)
            c = b + term / c
            value *= c * d
            if abs(c * d - 1.0) < 1e-16:
                break
        return math.log(value) - x - sigma * log_x
    if -sigma * log_x > 300.0:
        return -sigma * log_x - math.log(sigma)
    # Gamma(-sigma) - sum_k (-1)^k x^(k-sigma) / (k! (k - sigma)).  Gamma(-sigma) and the term of k = 0 diverge as sigma
    # tends to 0, Gamma(-sigma) and that of k = 1 as sigma tends to 1, so each pair is combined first.
    rest = 1.0 - sigma
    total = expm1_ratio(sigma, -log_x)
    if sigma <= 0.5:
        total -= expm1_ratio(sigma, -_log_gamma_ratio(-sigma))
        series = x / rest
    else:
        total += expm1_ratio(rest, log_x) - expm1_ratio(rest, _log_gamma_ratio(rest)) / sigma
        series = 0.0
    term = -x
    for k in range(2, 30):
        term *= -x / k
        series -= term / (k - sigma)
    return math.log(total + series * math.exp(-sigma * log_x))


@kernel
def log_tail(sigma, log_x):
    """Log of the expected number of jumps above x, ``Gamma(-sigma, x) / Gamma(1-sigma)``."""
    return _log_upper_gamma(sigma, log_x) - math.lgamma(1.0 - sigma)


@kernel
def log_tail_inverse(sigma, log_number, log_above):
    """Log of the size x above which there is a given expected number of jumps: the inverse of :func:`log_tail`.

    The tail is log-concave in log x, so Newton steps from the right never overshoot the root.
    """
    # The tail above x is less than exp(-x) if x > 1.
    log_x = log_above if log_above < math.inf else math.log(max(1.0, -log_number))
    log_gamma = math.lgamma(1.0 - sigma)
    for _ in range(500):
        log_value = _log_upper_gamma(sigma, log_x)
        excess = log_value - log_gamma - log_number
        step = excess * math.exp(log_value + sigma * log_x + math.exp(log_x))
        log_x += step
        if abs(step) <= 4e-15 * (1.0 + abs(log_x)):
            break
    return log_x


@kernel
def log_mass_below(sigma, log_x):
    """Log of the expected mass of jumps below x, the regularised incomplete gamma function ``P(1 - sigma, x)``."""
    rest, x = 1.0 - sigma, math.exp(log_x)
    if x < 1.0:
        total = term = 1.0
        for k in range(1, 30):
            term *= x / (k + rest)
            total += term
        return rest * log_x - x - math.lgamma(1.0 + rest) + math.log(total)
    # Gamma(1 - sigma, x) = x^-sigma e^-x - sigma Gamma(-sigma, x)
    above = math.exp(-sigma * log_x - x) - sigma * math.exp(_log_upper_gamma(sigma, log_x))
    return math.log1p(-above * math.exp(-math.lgamma(1.0 - sigma)))
