"""Kernels of the normal-Wishart family: posterior factors, determinants and constants of predictive densities.

``Psi_n = A + w s s'``, where A is the sum of Psi and the scatter of the cluster, s the difference of its mean from mu
and ``w = kappa n / kappa_n``.  Only A is factored: far from mu the other term would swamp all digits of A.
"""

import math

import numpy as np

from pymc_nrm.families.shared.factors import draw_inverse_wishart, invert_factored
from pymc_nrm.families.shared.moments import centred_product, sample_location
from pymc_nrm.kernels.generic import exact_kernel, kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.pairs import add_pairs, divide_pairs, multiply_pairs
from pymc_nrm.kernels.special import cholesky_update, digamma, log_rising_factorial

# A pivot below this share of its diagonal entry has fewer than about ten digits, and is recomputed in pairs of doubles.
_LEAST_PIVOT = 1e-6
# If a removal leaves less than this share of the determinant, the cache is recomputed.
_LEAST_LEFT = 1e-6


@kernel
def low_offset(d):
    """Offset in a row of statistics from the high part of a sum to its low part."""
    return d + d * (d + 1) // 2


@kernel
def new_workspace(d):
    """Memory for :func:`factor_scatter`."""
    return np.empty((d + 4, d))


@kernel
def factor_scatter(family, statistics, work):
    """Factor A = L D L', and write the difference s of the mean from mu.

    Afterwards ``work[i, j]`` is ``L_ij D_j`` for j < i and ``D_i`` for j = i.  Rows d .. d + 3 hold the reciprocals of
    D, the sample mean, n times its rounding error, and s.  A pivot that is lost even in pairs of doubles is not above
    0.
    """
    d = family.mu.shape[0]
    n, low = statistics[0], low_offset(d)
    inverse_count = 1.0 / n if n > 0.0 else 0.0
    inverse, location, remainder, shift = work[d], work[d + 1], work[d + 2], work[d + 3]
    k = 1 + d
    for i in range(d):
        total, total_low = statistics[1 + i], statistics[1 + i + low]
        location[i], remainder[i] = sample_location(total, total_low, n, inverse_count)
        shift[i] = (location[i] - family.mu[i]) + remainder[i] * inverse_count
        row, row_low, entries = statistics[k : k + i + 1], statistics[k + low : k + low + i + 1], work[i, : i + 1]
        place = location[i]
        for j in range(entries.shape[0]):
            entries[j], _ = centred_product(row[j], row_low[j], place, total, total_low, location[j], remainder[j])
        k += i + 1
    for i in range(d):
        for j in range(i + 1):
            work[i, j] += family.Psi[i, j]
    if not factor_ldl(work, inverse):
        factor_in_pairs(family, statistics, work)


@kernel
def factor_ldl(work, inverse):
    """Factor a matrix as :func:`factor_scatter` describes; return False if a pivot loses digits."""
    right = True
    for i in range(inverse.shape[0]):
        diagonal = work[i, i]
        for j in range(i + 1):
            value = work[i, j]
            for m in range(j):
                value -= work[i, m] * work[j, m] * inverse[m]
            work[i, j] = value
        inverse[i] = 1.0 / work[i, i]
        right &= work[i, i] > _LEAST_PIVOT * diagonal
    return right


@exact_kernel
def factor_in_pairs(family, statistics, work):
    """Write the factor of A as :func:`factor_scatter` does, with every intermediate number in two parts."""
    d = family.mu.shape[0]
    low = low_offset(d)
    high_part, low_part = np.empty((d + 1, d)), np.empty((d + 1, d))
    location, remainder = work[d + 1], work[d + 2]
    k = 1 + d
    for i in range(d):
        total, total_low = statistics[1 + i], statistics[1 + i + low]
        for j in range(i + 1):
            product, product_low = statistics[k + j], statistics[k + j + low]
            a, a_low = centred_product(product, product_low, location[i], total, total_low, location[j], remainder[j])
            a, a_low = add_pairs(a, a_low, family.Psi[i, j], 0.0)
            high_part[i, j], low_part[i, j] = a, a_low
        k += i + 1
    factor_pairs(high_part, low_part, work)


@exact_kernel
def factor_pairs(high_part, low_part, work):
    """Factor a matrix of two parts in the first d of d + 1 rows, and write the factor as :func:`factor_ldl` does.

    Row d of the parts and of the workspace gets the reciprocals of the pivots.
    """
    d = high_part.shape[1]
    for i in range(d):
        for j in range(i + 1):
            a, a_low = high_part[i, j], low_part[i, j]
            for m in range(j):
                b, b_low = multiply_pairs(high_part[i, m], low_part[i, m], high_part[j, m], low_part[j, m])
                b, b_low = multiply_pairs(b, b_low, high_part[d, m], low_part[d, m])
                a, a_low = add_pairs(a, a_low, -b, -b_low)
            high_part[i, j], low_part[i, j] = a, a_low
            work[i, j] = a
        high_part[d, i], low_part[d, i] = divide_pairs(1.0, 0.0, high_part[i, i], low_part[i, i])
        work[d, i] = high_part[d, i]


@kernel
def cholesky_of_factored(work, d, inverse):
    """Turn the factors of :func:`factor_ldl` of the first d rows into the Cholesky factor and its inverse diagonal."""
    for i in range(d):
        for j in range(i):
            work[i, j] *= inverse[j]
        work[i, i] = math.sqrt(work[i, i])
        inverse[i] = 1.0 / work[i, i]


@kernel
def log_product_of_pivots(work, d):
    """Logarithm of the product of the first d pivots of :func:`factor_ldl`."""
    total, product = 0.0, 1.0
    for i in range(d):
        product *= work[i, i]
        if not 1e-100 < product < 1e100:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@kernel
def log_determinant_of(A):
    """Log determinant of a positive definite matrix."""
    d = A.shape[0]
    work = new_workspace(d)
    for i in range(d):
        for j in range(i + 1):
            work[i, j] = A[i, j]
    factor_ldl(work, work[d])
    return log_product_of_pivots(work, d)


@kernel
def posterior_factor(family, statistics, mean, work):
    """Write the posterior mean (d,), and the lower Cholesky factor of A to the first d rows of the workspace.

    The last row of the workspace is s, and the return value is w.  A numerically lost pivot is NaN.
    """
    d = mean.shape[0]
    n = statistics[0]
    factor_scatter(family, statistics, work)
    inverse, location, remainder, shift = work[d], work[d + 1], work[d + 2], work[d + 3]
    shrinkage = family.kappa / (family.kappa + n)
    for i in range(d):
        mean[i] = location[i] + ((remainder[i] / n if n > 0.0 else 0.0) - shrinkage * shift[i])
    cholesky_of_factored(work, d, inverse)
    return shrinkage * n


@kernel
def write_inverse_factor(factor, d, rows):
    """Write the inverse of a lower triangular matrix (d, d), by rows, into the first entries of ``rows``."""
    k = 0
    for i in range(d):
        for j in range(i):
            total = 0.0
            start = j * (j + 1) // 2 + j
            step = j + 1
            for m in range(j, i):
                total -= factor[i, m] * rows[start]
                start += step
                step += 1
            rows[k + j] = total / factor[i, i]
        rows[k + i] = 1.0 / factor[i, i]
        k += i + 1


@kernel
def write_lanes(lanes, column, rows, center):
    """Write -W m and the lower triangular W, by rows, of a cluster for ``lanes.squared_lengths``; m is ``center``."""
    block, lane = column // LANES, column % LANES
    row, k = 0, 0
    for i in range(center.shape[0]):
        total = 0.0
        for j in range(i + 1):
            total -= rows[k + j] * center[j]
            lanes[block, row + 1 + j, lane] = rows[k + j]
        lanes[block, row, lane] = total
        row += i + 2
        k += i + 1


@kernel
def log_determinant(family, statistics):
    """Log determinant of Psi_n; NaN if a pivot is lost numerically."""
    d = family.mu.shape[0]
    n = statistics[0]
    weight = family.kappa * n / (family.kappa + n)
    if d <= 2:
        low = low_offset(d)
        inverse_count = 1.0 / n if n > 0.0 else 0.0
        x, x_low = statistics[1], statistics[1 + low]
        m, r = sample_location(x, x_low, n, inverse_count)
        first, _ = centred_product(statistics[1 + d], statistics[1 + d + low], m, x, x_low, m, r)
        first += family.Psi[0, 0]
        s = (m - family.mu[0]) + r * inverse_count
        if d == 1:
            return math.log(first + weight * s * s)
        y, y_low = statistics[2], statistics[2 + low]
        m_2, r_2 = sample_location(y, y_low, n, inverse_count)
        cross, _ = centred_product(statistics[4], statistics[4 + low], m_2, y, y_low, m, r)
        last, _ = centred_product(statistics[5], statistics[5 + low], m_2, y, y_low, m_2, r_2)
        cross += family.Psi[1, 0]
        last += family.Psi[1, 1]
        slope = cross / first
        pivot = last - cross * slope
        if pivot > _LEAST_PIVOT * last:
            t = (m_2 - family.mu[1]) + r_2 * inverse_count - slope * s
            return math.log(first) + math.log(pivot * (1.0 + weight * (s * s / first + t * t / pivot)))
    work = new_workspace(d)
    factor_scatter(family, statistics, work)
    return factored_log_determinant(work, weight)


@kernel
def prior_log_determinant(family):
    """Log determinant of Psi."""
    d = family.mu.shape[0]
    if d == 1:
        return math.log(family.Psi[0, 0])
    if d == 2:
        first, last, cross = family.Psi[0, 0], family.Psi[1, 1], family.Psi[1, 0]
        return math.log(first) + math.log(last - cross * cross / first)
    return log_determinant_of(family.Psi)


@kernel
def factored_log_determinant(work, weight):
    """Log determinant of ``L D L' + weight s s'`` from the workspace: ``log |D| (1 + weight s' inverse(L D L') s)``."""
    d = work.shape[1]
    inverse, shift = work[d], work[d + 3]
    distance = 0.0
    for i in range(d):
        # The solution of L y = s, divided by D, replaces s.
        y = shift[i]
        for m in range(i):
            y -= work[i, m] * shift[m]
        shift[i] = y * inverse[i]
        distance += y * shift[i]
    return log_product_of_pivots(work, d) + math.log(1.0 + weight * distance)


@kernel
def add_rank_one(rows, d, weight):
    """Update the inverse factor W of A to ``A + weight v v'``, in place; return False if it would lose digits.

    W is the lower triangle, by rows, in the first entries of ``rows``; the last 2 d entries are v and memory.  With
    y = W v, the factor of I + weight y y' has the
    pivots sqrt(s_i / s_(i-1)), s_i = 1 + weight (y_1^2 + ... + y_i^2); dividing W by it row by row costs O(d^2).
    """
    size = rows.shape[0]
    v, carried = rows[size - 2 * d : size - d], rows[size - d :]
    for j in range(d):
        carried[j] = 0.0
    k = 0
    s = 1.0
    for i in range(d):
        row = rows[k : k + i + 1]
        y_i = 0.0
        for j in range(row.shape[0]):
            y_i += row[j] * v[j]
        s_next = s + weight * y_i * y_i
        if not s_next > _LEAST_LEFT * s:
            return False
        root = math.sqrt(1.0 / (s * s_next))
        inverse_pivot, carry = s * root, y_i * root
        change = weight * y_i * inverse_pivot
        for j in range(row.shape[0]):
            row[j] = row[j] * inverse_pivot - change * carried[j]
            carried[j] += carry * row[j]
        s = s_next
        k += i + 1
    return True


@kernel
def set_constants(family, n, d, cache):
    """Compute the first three entries of the cache from the count and the inverse factor in it."""
    kappa_n, half = family.kappa + n, 0.5 * (family.nu + n + 1.0)
    ratio = kappa_n / (kappa_n + 1.0)
    # Gamma(half) / Gamma(half - d/2) is a product of d/2 factors if d is even.  Take its logarithm once, or in parts
    # before the product can overflow.
    total = 0.0
    product = 1.0
    if d % 2 == 1:
        total += log_rising_factorial(half - 0.5 * d, 0.5 * d) + 0.5 * d * math.log(ratio / math.pi)
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
def add_marginal_gradients(family, statistics, gradient):
    """Sum of the log marginals of clusters; their derivatives in mu, kappa, Psi and nu are added to ``gradient``."""
    d = family.mu.shape[0]
    kappa, nu = family.kappa, family.nu
    work, inverse, z = new_workspace(d), np.empty((d, d)), np.empty(d)
    of_Psi, in_nu = gradient[d + 1 : d + 1 + d * d].reshape((d, d)), d + 1 + d * d
    posterior_factor(family, np.zeros(statistics.shape[1]), z, work)
    prior_log_determinant = invert_factored(work, inverse)
    of_Psi += 0.5 * nu * statistics.shape[0] * inverse
    total = 0.0
    for k in range(statistics.shape[0]):
        n = statistics[k, 0]
        # Psi_n is A + w s s'.  With z = inverse(A) s, its determinant is |A| (1 + w s'z), and its inverse is
        # inverse(A) - w z z' / (1 + w s'z).
        weight = posterior_factor(family, statistics[k], z, work)
        log_determinant = invert_factored(work, inverse)
        shift, distance = work[d + 3], 0.0
        for i in range(d):
            z[i] = 0.0
            for j in range(d):
                z[i] += inverse[i, j] * shift[j]
            distance += z[i] * shift[i]
        nu_n, share, growth = nu + n, n / (kappa + n), 1.0 + weight * distance
        log_ratio = prior_log_determinant - log_determinant - math.log(growth)
        total += 0.5 * (nu_n * log_ratio - n * prior_log_determinant - d * n * math.log(math.pi))
        total -= 0.5 * d * math.log1p(n / kappa)
        for i in range(d):
            total += log_rising_factorial(0.5 * (nu - i), 0.5 * n)
            log_ratio += digamma(0.5 * (nu_n - i)) - digamma(0.5 * (nu - i))
            gradient[i] += nu_n * weight / growth * z[i]
            for j in range(d):
                of_Psi[i, j] -= 0.5 * nu_n * (inverse[i, j] - weight / growth * z[i] * z[j])
        gradient[d] += 0.5 * (d * share / kappa - nu_n * share * share * distance / growth)
        gradient[in_nu] += 0.5 * log_ratio
    return total


@kernel
def draw_mean_and_covariance(family, statistics, rng, parameters):
    """Draw the mean and covariance of a cluster given its statistics and write them into a row."""
    d = family.mu.shape[0]
    factor, bartlett, root = new_workspace(d), np.zeros((d, d)), np.zeros((d, d))
    weight = posterior_factor(family, statistics, parameters[:d], factor)
    cholesky_update(factor, math.sqrt(weight) * factor[d + 3])
    nu_n, kappa_n = family.nu + statistics[0], family.kappa + statistics[0]
    draw_inverse_wishart(factor, nu_n, rng, bartlett, root)
    for i in range(d):
        for j in range(d):
            total = 0.0
            for m in range(d):
                total += root[i, m] * root[j, m]
            parameters[d + i * d + j] = total
    for j in range(d):
        noise = rng.standard_normal() / math.sqrt(kappa_n)
        for i in range(d):
            parameters[i] += root[i, j] * noise
