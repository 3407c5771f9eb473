"""Kernels of the normal-Wishart family: posterior factors, determinants and constants of predictive densities."""

import math

import numpy as np

from pymc_nrm.generic import kernel


@kernel
def posterior_factor(family, statistics, mean, factor):
    """Write the posterior mean (d,) and the lower Cholesky factor of Psi_n (d, d); a numerically lost pivot is nan."""
    d = mean.shape[0]
    n = statistics[0]
    kappa_n = family.kappa + n
    for i in range(d):
        mean[i] = (family.kappa * family.mu[i] + statistics[1 + i]) / kappa_n
    k = 1 + d
    for i in range(d):
        for j in range(i + 1):
            total = family.Psi[i, j] + statistics[k + j]
            total += family.kappa * family.mu[i] * family.mu[j] - kappa_n * mean[i] * mean[j]
            for m in range(j):
                total -= factor[i, m] * factor[j, m]
            factor[i, j] = math.sqrt(total) if i == j else total / factor[j, j]
        k += i + 1


@kernel
def log_determinant(family, statistics, prior):
    """Log determinant of Psi (``prior``), or of Psi_n; nan where a pivot is lost numerically."""
    d = family.mu.shape[0]
    n = 0.0 if prior else statistics[0]
    kappa_n = family.kappa + n
    if d <= 2:
        # Psi_n is Psi plus the scatter about the mean plus a rank-one term; sums of second moments cancel as in
        # posterior_factor.
        first, last, cross = family.Psi[0, 0], family.Psi[d - 1, d - 1], family.Psi[d - 1, 0]
        if not prior:
            mu = family.mu[0]
            mean = (family.kappa * mu + statistics[1]) / kappa_n
            first += statistics[1 + d] + family.kappa * mu * mu - kappa_n * mean * mean
            if d == 2:
                mu_2 = family.mu[1]
                mean_2 = (family.kappa * mu_2 + statistics[2]) / kappa_n
                cross += statistics[4] + family.kappa * mu * mu_2 - kappa_n * mean * mean_2
                last += statistics[5] + family.kappa * mu_2 * mu_2 - kappa_n * mean_2 * mean_2
        if d == 1:
            return math.log(first)
        return math.log(first) + math.log(last - cross * cross / first)
    # L D L' without square roots: row i of the workspace holds the entries L_ij D_j, its diagonal D_i.
    work = np.empty((d + 2, d))
    mean, inverse = work[d], work[d + 1]
    for i in range(d):
        mean[i] = 0.0 if prior else (family.kappa * family.mu[i] + statistics[1 + i]) / kappa_n
    total, product = 0.0, 1.0
    k = 1 + d
    for i in range(d):
        for j in range(i + 1):
            value = family.Psi[i, j]
            if not prior:
                value += statistics[k + j] + family.kappa * family.mu[i] * family.mu[j] - kappa_n * mean[i] * mean[j]
            for m in range(j):
                value -= work[i, m] * work[j, m] * inverse[m]
            work[i, j] = value
        inverse[i] = 1.0 / work[i, i]
        product *= work[i, i]
        if not 1e-100 < product < 1e100:
            total += math.log(product)
            product = 1.0
        k += i + 1
    return total + math.log(product)


@kernel
def set_constants(family, n, d, cache):
    """Compute the first three entries of the cache from the count and the inverse factor in it."""
    kappa_n, half = family.kappa + n, 0.5 * (family.nu + n + 1.0)
    ratio = kappa_n / (kappa_n + 1.0)
    # Gamma(half) / Gamma(half - d/2) is a product of d/2 factors for even d: one logarithm of one product, taken in
    # parts before it can overflow.
    total = 0.0
    product = 1.0
    if d % 2 == 1:
        total += math.lgamma(half) - math.lgamma(half - 0.5 * d) + 0.5 * d * math.log(ratio / math.pi)
    else:
        for i in range(d // 2):
            product *= (half - 1.0 - i) * ratio / math.pi
            if not 1e-100 < product < 1e100:
                total += math.log(product)
                product = 1.0
    k = 3 + d
    for i in range(d):
        product *= cache[k + i]
        k += i + 1
        if not 1e-100 < product < 1e100:
            total += math.log(product)
            product = 1.0
    cache[0] = total + math.log(product)
    cache[1] = half
    cache[2] = ratio


@kernel
def update_plane(family, statistics, cache, x_1, x_2, sign):
    """Rank-one change of statistics and cache for d = 2, without loops; False where the cache would lose digits."""
    kappa_n = family.kappa + statistics[0]
    statistics[0] += sign
    statistics[1] += sign * x_1
    statistics[2] += sign * x_2
    statistics[3] += sign * x_1 * x_1
    statistics[4] += sign * x_1 * x_2
    statistics[5] += sign * x_2 * x_2
    step = sign / (kappa_n + sign)
    weight = kappa_n * step
    kappa_n += sign
    mean_1, mean_2, w_11, w_21, w_22 = cache[3], cache[4], cache[5], cache[6], cache[7]
    v_1, v_2 = x_1 - mean_1, x_2 - mean_2
    y_1, y_2 = w_11 * v_1, w_21 * v_1 + w_22 * v_2
    s_1 = 1.0 + weight * y_1 * y_1
    s_2 = s_1 + weight * y_2 * y_2
    if not (s_1 > 1e-10 and s_2 > 1e-10 * s_1):
        return False
    root_1, root_2 = math.sqrt(1.0 / s_1), math.sqrt(1.0 / (s_1 * s_2))
    w_11, w_21, w_22 = w_11 * root_1, (w_21 * s_1 - weight * y_2 * y_1 * w_11) * root_2, w_22 * s_1 * root_2
    half, ratio = 0.5 * (family.nu + statistics[0] + 1.0), kappa_n / (kappa_n + 1.0)
    cache[0] = math.log((half - 1.0) * ratio / math.pi * (w_11 * w_22))
    cache[1], cache[2] = half, ratio
    cache[3], cache[4] = mean_1 + step * v_1, mean_2 + step * v_2
    cache[5], cache[6], cache[7] = w_11, w_21, w_22
    return True
