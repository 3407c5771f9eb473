"""Functions of all priors of Gibbs type: given the auxiliary variable, a cluster of m items has weight ``m - sigma``.

For mixtures of finitely many components, sigma is negative.  Generalized Stirling numbers give the distribution of the
number of clusters.
"""

import math

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_index
from pymc_nrm.measures.base import Weights

_MOST_PROPOSALS = 64


@kernel
def gibbs_type_weights(n, sigma, log_new):
    """Tables of weights."""
    join = np.empty(n + 1)
    moment = np.empty(n + 1)
    join[0] = log_new
    moment[0] = 0.0
    for m in range(1, n + 1):
        join[m] = math.log(m - sigma)
        moment[m] = moment[m - 1] + join[m - 1]
    return Weights(join, moment)


@kernel
def draw_cluster(rng, labels, counts, i, sigma):
    """Draw one of the clusters of the first i items with probabilities proportional to ``m - sigma``."""
    # Propose a cluster of m items with probability m / i, accept it with probability (m - sigma) / m.
    for _ in range(_MOST_PROPOSALS):
        label = labels[rng.integers(0, i)]
        if not rng.random() * counts[label] > counts[label] - sigma:
            return label
    # With sigma close to 1, single items are hardly ever accepted: draw an item with these probabilities.
    weights = np.empty(i)
    for j in range(i):
        weights[j] = 1.0 - sigma / counts[labels[j]]
    return labels[draw_index(rng, weights)]


@kernel
def size_factors(counts, sigma):
    """Number of items, and the log of the product of ``(1 - sigma)_(m - 1)`` over the sizes m of clusters."""
    n, total = 0, 0.0
    for m in counts:
        n += m
        # The second term of log Gamma(m - sigma) - log Gamma(1 - sigma) diverges as sigma tends to 1.
        if m > 1:
            total += math.lgamma(m - sigma) - math.lgamma(2.0 - sigma) + math.log1p(-sigma)
    return n, total


def symbolic_size_factors(counts, sigma):
    """The logarithm of :func:`size_factors` as a symbolic scalar."""
    total = pt.gammaln(pt.maximum(counts, 2) - sigma).sum() - counts.shape[0] * pt.gammaln(2.0 - sigma)
    return total + pt.gt(counts, 1).sum() * pt.log1p(-sigma)


@kernel
def log_stirling_numbers(n, sigma):
    """Logarithms of the generalized Stirling numbers S(n, 1), ..., S(n, n).

    S(n, k) is the sum of ``prod_c (1 - sigma)_(n_c - 1)`` over partitions of n items into k clusters.  The recursion is
    ``S(i+1, k) = S(i, k-1) + (i - k sigma) S(i, k)``; each number is stored as ``mantissa * 2^(512 power)``. Entry k -
    1 of the result is ``log S(n, k)``.
    """
    mantissa = np.zeros(n + 1)
    power = np.zeros(n + 1, dtype=np.int64)
    shrink, limit = 2.0**-512, 2.0**256
    mantissa[1] = 1.0
    for i in range(1, n):
        mantissa[i + 1] = mantissa[i]
        power[i + 1] = power[i]
        for k in range(i, 0, -1):
            here, p = mantissa[k] * (i - k * sigma), power[k]
            left, q = mantissa[k - 1], power[k - 1]
            if left > 0.0 and q != p:
                if q > p:
                    here *= shrink if q == p + 1 else 0.0
                    p = q
                else:
                    left *= shrink if q == p - 1 else 0.0
            here += left
            if here > limit:
                here *= shrink
                p += 1
            elif here < 1.0 / limit:
                here /= shrink
                p -= 1
            mantissa[k], power[k] = here, p
    log_numbers = np.empty(n)
    log_unit = 512.0 * math.log(2.0)
    for k in range(1, n + 1):
        log_numbers[k - 1] = math.log(mantissa[k]) + power[k] * log_unit
    return log_numbers
