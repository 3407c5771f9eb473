"""Generalized Stirling numbers, which give the law of the number of clusters under any prior of Gibbs type."""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel


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
