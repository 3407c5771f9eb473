"""Two components in the place of one, and back: the mixture of two parts has the moments of the whole.

The whole, and random variables v whose density is known, make two parts of shares p and q = 1 - p.  Parts determine the
whole and v.  If the parameters of the whole have density f, the parameters of the parts have ``f(whole) g(v | whole)
|d(whole, v) / d(parts)|``.  The items of a large cluster determine its moments sharply: parts with other moments would
have no chance against the whole.

Beta variables of mean m have a standard deviation of about m or 1 - m, whichever is less: small parts differ from the
whole as much as large ones do.
"""

import math

from pymc_nrm.families.conjugate import log_density, log_marginal, parameters_size
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.special import draw_beta, log_rising_factorial

# Shapes of beta variables stay below 1e13, at which doubles resolve their densities.
_LEAST_MEAN = 1e-12


@generic(agrees_with=[log_marginal, log_density, parameters_size])
def split_parameters(family, parameters, p, q, rng, first, second):
    """Draw the parameters of two parts, of shares p and q = 1 - p, given the whole, and write them into rows."""
    raise NotImplementedError


@generic(agrees_with=[log_marginal, log_density, parameters_size, split_parameters])
def join_parameters(family, p, q, first, second, parameters):
    """Write the parameters of the whole given two parts, and return ``log g(v | whole) |d(whole, v) / d(parts)|``.

    Densities are with respect to the parameters of which ``log_parameter_density`` is one.
    """
    raise NotImplementedError


@kernel
def beta_shapes(least, p, q):
    """Shapes, the smaller of them ``least``, of a beta variable of mean p = 1 - q."""
    if p < q:
        p = max(p, _LEAST_MEAN)
        return least, least * (1.0 - p) / p
    q = max(q, _LEAST_MEAN)
    return least * (1.0 - q) / q, least


@kernel
def log_beta_function(a, b):
    """Logarithm of ``Gamma(a) Gamma(b) / Gamma(a + b)``, without cancellation."""
    return math.lgamma(min(a, b)) - log_rising_factorial(max(a, b), min(a, b))


@kernel
def log_beta_density(x, y, a, b):
    """Log density of a beta variable at x = 1 - y."""
    return (a - 1.0) * math.log(x) + (b - 1.0) * math.log(y) - log_beta_function(a, b)


@kernel
def independent_cells(p, q, here, later, least):
    """Table of rows p, q and columns ``here``, ``later`` whose entries are products of their margins.

    With these margins, p_here and q_later may fall by the fifth number, and q_here and p_later by the sixth. The last
    two are the shapes of the place of a table between these bounds.
    """
    total = p + q
    p, q = p / total, q / total
    p_here, p_later, q_here, q_later = p * here, p * later, q * here, q * later
    fall, rise = min(p_here, q_later), min(q_here, p_later)
    a, b = beta_shapes(least, fall / (fall + rise), rise / (fall + rise))
    return p_here, p_later, q_here, q_later, fall, rise, a, b


@kernel
def split_probabilities(probabilities, alpha, p, q, rng, first, second):
    """Draw probabilities of two parts given the whole, level by level; levels of alpha 0 have probability 0.

    With the shares of the parts as rows and levels as columns, they are a random table whose margins are given.
    """
    # Sums of later levels stand in the rows for a while.
    later = later_alpha = 0.0
    for k in range(alpha.shape[0] - 1, -1, -1):
        first[k], second[k] = later, later_alpha
        later += probabilities[k]
        later_alpha += alpha[k]
    p_left, q_left = p, q
    for k in range(alpha.shape[0]):
        here, later, later_alpha = probabilities[k], first[k], second[k]
        p_here = q_here = 0.0
        if later_alpha == 0.0 and alpha[k] > 0.0:
            p_here, q_here = p_left, q_left
        elif alpha[k] > 0.0:
            least = min(2.0, alpha[k], later_alpha)
            p_here, p_left, q_here, q_left, fall, rise, a, b = independent_cells(p_left, q_left, here, later, least)
            x, y = draw_beta(rng, a, b)
            x, y = (fall + rise) * x, (fall + rise) * y
            p_here, q_left = (p_here - fall) + x, (q_left - fall) + x
            q_here, p_left = (q_here - rise) + y, (p_left - rise) + y
        first[k], second[k] = p_here / p, q_here / q


@kernel
def join_probabilities(alpha, p, q, first, second, probabilities):
    """Write the probabilities of the whole, and return the log density of :func:`join_parameters`."""
    total, started = 0.0, False
    p_later, q_later, later_alpha = 0.0, 0.0, 0.0
    # From the last level to the first, so that sums of later levels do not cancel.
    for k in range(alpha.shape[0] - 1, -1, -1):
        p_here, q_here = p * first[k], q * second[k]
        probabilities[k] = p_here + q_here
        if alpha[k] > 0.0:
            if started:
                least = min(2.0, alpha[k], later_alpha)
                p_left, q_left, here, later = p_here + p_later, q_here + q_later, p_here + q_here, p_later + q_later
                _, _, _, _, _, _, a, b = independent_cells(p_left, q_left, here, later, least)
                # The lowest and the highest value of p_here are as far away as these.
                x, y = min(p_here, q_later), min(q_here, p_later)
                total += log_beta_density(x / (x + y), y / (x + y), a, b) - math.log(x + y)
                total += math.log(p) + math.log(q)
            started = True
            later_alpha += alpha[k]
        p_later += p_here
        q_later += q_here
    return total
