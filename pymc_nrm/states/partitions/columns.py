"""How many tables serve one hidden state: transition counts, and the distribution of tables given a common weight.

Let ``N[j, k]`` be the number of transitions from row j to state k, ``kappa_jk = kappa`` if row j belongs to state k and
0 otherwise, and ``x = alpha beta_k``.  The transitions into state k contribute ``prod_j (x + kappa_jk)_(N[j, k])`` to
the probability of the labels given the common weights beta.  This is a polynomial in x with non-negative coefficients.
The coefficient of ``x^m`` collects all ways in which m tables serve state k in the Chinese restaurant franchise (Teh,
Jordan, Beal & Blei 2006); tables that the sticky mass serves are not counted (Fox, Sudderth, Jordan & Willsky 2011).

Divided by its value at one x, the polynomial generates the distribution of a sum of independent indicators of
probabilities ``x / (x + kappa_jk + i)``, i < N[j, k].  All numbers are then in [0, 1].
"""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import digamma

# Indicators that enter in one pass over the degrees.
_AT_ONCE = 4


@kernel
def count_transitions(labels, starts, n_states, counts):
    """Count transitions: ``counts[0, k]`` sequences start in state k, ``counts[j + 1, k]`` times k follows j.

    Shapes: ``labels`` and ``starts`` (n,), labels below ``n_states``; ``counts`` at least (n_states + 1, n_states).
    """
    for j in range(n_states + 1):
        for k in range(n_states):
            counts[j, k] = 0
    for t in range(labels.shape[0]):
        row = 0 if starts[t] else labels[t - 1] + 1
        counts[row, labels[t]] += 1


@kernel
def digamma_difference(a, n):
    """``digamma(a + n) - digamma(a)`` for whole n, without cancellation."""
    if n < 16:
        total = 0.0
        for i in range(n):
            total += 1.0 / (a + i)
        return total
    if a < 100.0:
        return digamma(a + n) - digamma(a)
    # The third term of the asymptotic series is below 1e-18, relatively.
    b = a + n
    return math.log1p(n / a) + 0.5 * (1.0 / a - 1.0 / b) + (1.0 / (a * a) - 1.0 / (b * b)) / 12.0


@kernel
def expected_tables(counts, k, n_states, x, kappa):
    """Expected number of tables of state k at ``alpha beta_k = x``."""
    total = 0.0
    for j in range(n_states + 1):
        if counts[j, k] > 0:
            total += x * digamma_difference(x + (kappa if j == k + 1 else 0.0), counts[j, k])
    return total


@kernel(inner_loop=True)
def _add_indicators(row, degree, x, base, n):
    """Add n independent indicators of probabilities ``x / (x + base + i)`` to a distribution; return its new degree.

    The distribution is stored from the largest value to 0, followed by four zeros, and is cut off at the largest value.
    """
    most = row.shape[0] - _AT_ONCE - 1
    for first in range(0, n, _AT_ONCE):
        c0, c1, c2, c3, c4 = 1.0, 0.0, 0.0, 0.0, 0.0
        for i in range(first, min(first + _AT_ONCE, n)):
            p = x / (x + base + i)
            q = (base + i) / (x + base + i)
            c4 = p * c3
            c3 = q * c3 + p * c2
            c2 = q * c2 + p * c1
            c1 = q * c1 + p * c0
            c0 = q * c0
        degree = min(degree + min(_AT_ONCE, n - first), most)
        for s in range(most - degree, most + 1):
            row[s] = c0 * row[s] + c1 * row[s + 1] + c2 * row[s + 2] + c3 * row[s + 3] + c4 * row[s + 4]
    return degree


@kernel
def certain_tables(counts, k, n_states):
    """Number of tables of state k that are certain: one for each other row from which it is reached."""
    certain = 0
    for j in range(n_states + 1):
        certain += j != k + 1 and counts[j, k] > 0
    return certain


@kernel
def table_distribution(counts, k, n_states, x, kappa, weights, slopes):
    """Distribution of the number of tables of state k beyond the certain ones, given ``alpha beta_k = x``.

    Writes probabilities of 0, 1, ... further tables, and derivatives of the coefficients in ``kappa``, in the same
    units, up to the last entry of ``weights`` and ``slopes``.
    """
    most = weights.shape[0] - 1
    rows = np.zeros((2, most + 1 + _AT_ONCE))
    rows[0, most] = rows[1, most] = 1.0
    self_terms, other_terms = rows[0], rows[1]
    self_degree = _add_indicators(self_terms, 0, x, kappa, counts[k + 1, k])
    degree = 0
    for j in range(n_states + 1):
        if j != k + 1 and counts[j, k] > 1:
            degree = _add_indicators(other_terms, degree, x, 1.0, counts[j, k] - 1)
    for r in range(most + 1):
        weight, slope = 0.0, 0.0
        # The self-transitions are a polynomial in x + kappa, so that its derivatives in x and in kappa are the same.
        for b in range(max(r - degree, 0), min(r, self_degree) + 1):
            other = other_terms[most - r + b]
            weight += self_terms[most - b] * other
            if b < self_degree:
                slope += (b + 1) * self_terms[most - b - 1] * other
        weights[r], slopes[r] = weight, slope / x
