"""Rows of trajectories: sums of products within items, and between items by their number of responses.

Let v = (w, y) be the rows of an item with m responses and V = I + ratio 1 1' the covariance of their errors relative to
the noise, an intercept of the item integrated out.  Then ``V^-1 = (I - 1 1'/m) + (1 1'/m) / (1 + m ratio)`` and ``|V| =
1 + m ratio`` (Searle, Casella & McCulloch 1992, "Variance components", section 3.3).  Sums of products about the means
of items, and of the means of items with m responses for each m, thus determine the likelihood for all ratios.

A row of statistics has, first for the rows within items and then for m = 1, ..., d, what ``regression_rows`` has.
"""

import math

import numpy as np

from pymc_nrm.families.shared import regression_rows
from pymc_nrm.kernels.generic import exact_kernel, kernel
from pymc_nrm.kernels.pairs import add_pairs, multiply_pairs


def rows_of_items(W, y):
    """Rows (n, d + 1, p + 1) of kernels: about the mean of the item, and the mean times the root of their number.

    Responses are NaN in rows that are missing. Shapes: ``W`` (n, d, p), ``y`` (n, d).
    """
    v, present = np.concatenate([W, y[..., None]], axis=2), ~np.isnan(y)[..., None]
    counts = present.sum(axis=1, keepdims=True)
    means = np.where(present, v, 0.0).sum(axis=1, keepdims=True) / np.maximum(counts, 1)
    return np.concatenate([np.where(present, v - means, np.nan), np.where(counts, np.sqrt(counts) * means, np.nan)], 1)


@kernel
def add_rows(statistics, rows, grid, sign):
    """Add the rows (d + 1, p + 1) of an item to a row of statistics."""
    d, q = rows.shape[0] - 1, rows.shape[1]
    size = 1 + q * (q + 1)
    m = 0
    for t in range(d):
        if not math.isnan(rows[t, q - 1]):
            regression_rows.add_products(statistics[:size], rows[t], grid, sign)
            m += 1
    if m > 0:
        regression_rows.add_products(statistics[m * size : (m + 1) * size], rows[d], grid, sign)


@exact_kernel
def combine(family, statistics, total):
    """Write the statistics of a regression with independent rows; return the sum of log(1 + m ratio) of the items."""
    size = total.shape[0]
    n_products = size // 2
    for k in range(size):
        total[k] = statistics[k]
    log_determinant = 0.0
    for m in range(1, statistics.shape[0] // size):
        block = statistics[m * size : (m + 1) * size]
        if block[0] != 0.0:
            weight = 1.0 / (1.0 + m * family.ratio)
            log_determinant -= block[0] * math.log(weight)
            for k in range(1, 1 + n_products):
                high, low = multiply_pairs(block[k], block[k + n_products], weight, 0.0)
                total[k], total[k + n_products] = add_pairs(total[k], total[k + n_products], high, low)
    return log_determinant


@kernel
def change_of_factors(family, W, rows, sign):
    """Number of responses of an item, and the logarithms of the factors of |Lambda_n| and of beta_n if it joins.

    W is the inverse of the Cholesky factor of A_n, a lower triangle by rows; with a sign of -1 the item leaves, and a
    determinant that is not positive has the logarithm -inf.
    """
    d, q = rows.shape[0] - 1, rows.shape[1]
    M, u, m = np.eye(q), np.empty(q), 0
    for t in range(d + 1):
        if math.isnan(rows[t, q - 1]):
            continue
        weight = sign if t < d else sign / (1.0 + m * family.ratio)
        m += t < d
        k = 0
        for i in range(q):
            u[i] = 0.0
            for j in range(i + 1):
                u[i] += W[k] * rows[t, j]
                k += 1
        for i in range(q):
            for j in range(i + 1):
                M[i, j] += weight * u[i] * u[j]
    determinant = 1.0
    for i in range(q):
        for j in range(i + 1):
            for k in range(j):
                M[i, j] -= M[i, k] * M[j, k] / M[k, k]
        if not M[i, i] > 0.0:
            return m, -math.inf, -math.inf
        if i < q - 1:
            determinant *= M[i, i]
    return m, math.log(determinant), math.log(M[q - 1, q - 1])


@kernel
def change_with_products(block, inverse, mean, precision):
    """Trace of the inverse of Lambda_n times sums of products, plus the precision times their squares at the mean."""
    p = mean.shape[0]
    n_products, k, total = (p + 1) * (p + 2) // 2, 1, 0.0
    for i in range(p + 1):
        for j in range(i + 1):
            product = block[k] + block[k + n_products]
            u_i, u_j = -mean[i] if i < p else 1.0, -mean[j] if j < p else 1.0
            factor = precision * u_i * u_j
            if i < p:
                factor += inverse[i, j]
            total += product * factor if i == j else 2.0 * product * factor
            k += 1
    return total


@kernel
def combined(family, statistics):
    """The same statistics, as a new row, and the sum of the logarithms."""
    q = family.mu.shape[0] + 1
    total = np.empty(1 + q * (q + 1))
    log_determinant = combine(family, statistics, total)
    return total, log_determinant


@kernel
def log_density_of_rows(family, parameters, rows):
    """Log density of the responses of an item given the coefficients and the variance of its cluster."""
    d, p = rows.shape[0] - 1, rows.shape[1] - 1
    m, squares, residual = 0, 0.0, 0.0
    for t in range(d + 1):
        if not math.isnan(rows[t, p]):
            residual = rows[t, p]
            for j in range(p):
                residual -= parameters[j] * rows[t, j]
            squares += residual * residual if t < d else residual * residual / (1.0 + m * family.ratio)
            m += t < d
    if m == 0:
        return 0.0
    log_scale = m * math.log(2.0 * math.pi * parameters[p]) + math.log1p(m * family.ratio)
    return -0.5 * (log_scale + squares / parameters[p])
