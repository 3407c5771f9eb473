"""Rows of regressions: sums of products of covariates and responses, and factors of what they say about coefficients.

With v = (w, y), the matrix ``A_n = A + sum of v v'`` over the items of a cluster, where A has the blocks Lambda,
``Lambda mu`` and ``mu' Lambda mu + 2 beta``, is the whole posterior: its first p rows and columns are Lambda_n, and the
last pivot of ``A_n = L D L'`` is ``2 beta_n``.
"""

import math

import numpy as np

from pymc_nrm.families.shared.factors import invert_factored
from pymc_nrm.families.shared.wishart_rows import cholesky_of_factored, factor_ldl, factor_pairs, log_product_of_pivots
from pymc_nrm.kernels.generic import exact_kernel, kernel
from pymc_nrm.kernels.pairs import add_pairs, multiply_pairs, split_product
from pymc_nrm.kernels.special import digamma, draw_variance, log_rising_factorial


@kernel
def add_products(statistics, v, grid, sign):
    """Add the products of the entries of v to a row of statistics, each in two parts."""
    q = v.shape[0]
    size = q * (q + 1) // 2
    statistics[0] += sign
    k = 1
    for i in range(q):
        large = 1.5 * grid[1, i]
        for j in range(i + 1):
            high, low = split_product(v[i], v[j], large * grid[1, j])
            statistics[k] += sign * high
            statistics[k + size] += sign * low
            k += 1


@kernel
def factor_moments(family, statistics, work):
    """Factor ``A_n = L D L'`` into a workspace (p + 2, p + 1).

    Afterwards ``work[i, j]`` is ``L_ij D_j`` for j < i and ``D_i`` for j = i; the last row has the reciprocals of D.
    """
    p = family.mu.shape[0]
    size = (p + 1) * (p + 2) // 2
    k = 1
    last = 2.0 * family.beta
    for i in range(p):
        product = 0.0
        for j in range(p):
            product += family.Lambda[i, j] * family.mu[j]
        work[p, i] = product
        last += product * family.mu[i]
        for j in range(i + 1):
            work[i, j] = family.Lambda[i, j] + (statistics[k] + statistics[k + size])
            k += 1
    for j in range(p):
        work[p, j] += statistics[k] + statistics[k + size]
        k += 1
    work[p, p] = last + (statistics[k] + statistics[k + size])
    if not factor_ldl(work, work[p + 1]):
        _factor_moments_in_pairs(family, statistics, work)


@exact_kernel
def _factor_moments_in_pairs(family, statistics, work):
    p = family.mu.shape[0]
    size = (p + 1) * (p + 2) // 2
    high_part, low_part = np.zeros((p + 2, p + 1)), np.zeros((p + 2, p + 1))
    high_part[p, p] = 2.0 * family.beta
    for i in range(p):
        a, a_low = 0.0, 0.0
        for j in range(p):
            b, b_low = multiply_pairs(family.Lambda[i, j], 0.0, family.mu[j], 0.0)
            a, a_low = add_pairs(a, a_low, b, b_low)
            high_part[i, j] = family.Lambda[i, j]
        high_part[p, i], low_part[p, i] = a, a_low
        b, b_low = multiply_pairs(a, a_low, family.mu[i], 0.0)
        high_part[p, p], low_part[p, p] = add_pairs(high_part[p, p], low_part[p, p], b, b_low)
    k = 1
    for i in range(p + 1):
        for j in range(i + 1):
            a, a_low = add_pairs(high_part[i, j], low_part[i, j], statistics[k], 0.0)
            high_part[i, j], low_part[i, j] = add_pairs(a, a_low, statistics[k + size], 0.0)
            k += 1
    factor_pairs(high_part, low_part, work)


@kernel
def leverage_and_residual(cache, v):
    """Squared length of W v without its last entry, and that entry; W is the triangle of a row of the cache."""
    leverage, last, k = 0.0, 0.0, 2
    for i in range(v.shape[0]):
        leverage += last * last
        last = 0.0
        for j in range(i + 1):
            last += cache[k + j] * v[j]
        k += i + 1
    return leverage, last


@kernel
def factored_log_marginal(family, n, work, prior_log_determinant):
    """Log marginal of a cluster of n items from the factor of :func:`factor_moments`."""
    p = family.mu.shape[0]
    alpha, beta, beta_n = family.alpha, family.beta, 0.5 * work[p, p]
    log_beta_n, growth = math.log(beta_n), beta_n / beta
    log_growth = math.log(growth) if growth < 1e300 else log_beta_n - math.log(beta)
    total = log_rising_factorial(alpha, 0.5 * n) - alpha * log_growth
    total -= 0.5 * n * (log_beta_n + math.log(2.0 * math.pi))
    return total + 0.5 * (prior_log_determinant - log_product_of_pivots(work, p))


@kernel
def write_coefficients(work, noise, coefficients):
    """Write the solution b of ``L' b = D^(-1/2) noise + (posterior mean in these coordinates)``.

    Without noise it is the posterior mean; with standard normal noise times a standard deviation it is a draw.
    """
    p = coefficients.shape[0]
    inverse = work[p + 1]
    for i in range(p - 1, -1, -1):
        total = work[p, i] * inverse[i] + math.sqrt(inverse[i]) * noise[i]
        for j in range(i + 1, p):
            total -= work[j, i] * inverse[i] * coefficients[j]
        coefficients[i] = total


@kernel
def draw_coefficients_and_variance(family, statistics, rng, parameters):
    """Draw the coefficients and the variance of a cluster given its statistics and write them into a row."""
    p = family.mu.shape[0]
    work, noise = np.empty((p + 2, p + 1)), np.empty(p)
    factor_moments(family, statistics, work)
    variance = draw_variance(rng, family.alpha + 0.5 * statistics[0], 0.5 * work[p, p])
    for i in range(p):
        noise[i] = math.sqrt(variance) * rng.standard_normal()
    write_coefficients(work, noise, parameters[:p])
    parameters[p] = variance


@kernel
def add_marginal_gradients(family, statistics, gradient):
    """Sum of the log marginals of clusters, whose derivatives in all fields but the covariates are added."""
    p = family.mu.shape[0]
    start = gradient.shape[0] - p - p * p - 2
    of_mu, of_Lambda = gradient[start : start + p], gradient[start + p : start + p + p * p].reshape((p, p))
    of_alpha, of_beta = start + p + p * p, start + p + p * p + 1
    alpha, beta = family.alpha, family.beta
    work, mean, noise = np.empty((p + 2, p + 1)), np.empty(p), np.zeros(p)
    prior_inverse, inverse = np.empty((p, p)), np.empty((p, p))
    factor_moments(family, np.zeros(statistics.shape[1]), work)
    cholesky_of_factored(work, p + 1, work[p + 1])
    prior_log_determinant = invert_factored(work, prior_inverse)
    total = 0.0
    for k in range(statistics.shape[0]):
        n = statistics[k, 0]
        if n <= 0.0:
            continue
        factor_moments(family, statistics[k], work)
        total += factored_log_marginal(family, n, work, prior_log_determinant)
        write_coefficients(work, noise, mean)
        beta_n = 0.5 * work[p, p]
        precision = (alpha + 0.5 * n) / beta_n
        cholesky_of_factored(work, p + 1, work[p + 1])
        invert_factored(work, inverse)
        for i in range(p):
            for j in range(p):
                of_mu[i] += precision * family.Lambda[i, j] * (mean[j] - family.mu[j])
                product = (mean[i] - family.mu[i]) * (mean[j] - family.mu[j])
                of_Lambda[i, j] += 0.5 * (prior_inverse[i, j] - inverse[i, j] - precision * product)
        gradient[of_alpha] += digamma(alpha + 0.5 * n) - digamma(alpha) + math.log(beta / beta_n)
        gradient[of_beta] += alpha / beta - precision
    return total
