"""Fast predictive densities of :class:`NormalTrajectory`, and the gradient of its likelihood."""

import math

import numpy as np

from pymc_nrm.families.fast import fast_paths
from pymc_nrm.families.shared import regression_rows, wishart_rows
from pymc_nrm.families.shared.factors import invert_factored
from pymc_nrm.growth.families import trajectory_rows
from pymc_nrm.growth.families.normal_trajectory import NormalTrajectory
from pymc_nrm.kernels.lanes import LANES, log_above_one
from pymc_nrm.kernels.special import log_rising_factorial

_LOG_2_PI = math.log(2.0 * math.pi)

# If removing an item leaves less than this share of a determinant, fewer than about ten digits are right.
_LEAST_SHARE_LEFT = 1e-6


@fast_paths(NormalTrajectory)
class FastNormalTrajectory:
    """A row of the cache: alpha_n, inverse W of the Cholesky factor of A_n, constants for 1, ..., d responses.

    W is a lower triangle, by rows; ``shared/regression_rows.py`` has A_n.  An item has the rows v about its mean, and
    its mean with the weight ``1 / (1 + m ratio)``.  With D the pivots of ``M = I + sum of weight (W v)(W v)'``, the
    log predictive of its m responses is ``constant_m - log(D_1 ... D_p)/2 - (alpha_n + m/2) log D_(p+1)``.
    """

    def cache_size(self):
        q = self.mu.shape[0] + 1
        return 1 + q * (q + 1) // 2 + self.covariates.shape[1]

    def refresh_cache(self, statistics, cache):
        p, d = self.mu.shape[0], self.covariates.shape[1]
        work = np.empty((p + 2, p + 1))
        total, _ = trajectory_rows.combined(self, statistics)
        regression_rows.factor_moments(self, total, work)
        log_beta = math.log(0.5 * work[p, p])
        wishart_rows.cholesky_of_factored(work, p + 1, work[p + 1])
        wishart_rows.write_inverse_factor(work, p + 1, cache[1:])
        cache[0] = self.alpha + 0.5 * total[0]
        constants = cache[cache.shape[0] - d :]
        for m in range(1, d + 1):
            constants[m - 1] = log_rising_factorial(cache[0], 0.5 * m) - 0.5 * m * (_LOG_2_PI + log_beta)
            constants[m - 1] -= 0.5 * math.log1p(m * self.ratio)

    def log_predictive(self, cache, data, item):
        m, log_determinant, log_last = trajectory_rows.change_of_factors(self, cache[1:], data.values[item], 1.0)
        if m == 0:
            return 0.0
        constant = cache[cache.shape[0] - self.covariates.shape[1] + m - 1]
        return constant - 0.5 * log_determinant - (cache[0] + 0.5 * m) * log_last

    def log_predictive_without(self, statistics, cache, data, item):
        # Removal multiplies |Lambda_n| and beta_n by the pivots of I - sum of weight (W v)(W v)'.
        m, log_determinant, log_last = trajectory_rows.change_of_factors(self, cache[1:], data.values[item], -1.0)
        if m == 0:
            return 0.0
        if not log_determinant + log_last > math.log(_LEAST_SHARE_LEFT):
            return math.nan
        alpha, half = cache[0] - 0.5 * m, 0.5 * m
        constant = cache[cache.shape[0] - self.covariates.shape[1] + m - 1]
        constant += log_rising_factorial(alpha, half) - log_rising_factorial(cache[0], half)
        return constant + 0.5 * log_determinant + alpha * log_last

    # A column of a panel: the cache, then memory for W v and M.
    def panel_shape(self):
        q = self.mu.shape[0] + 1
        return 1 + q * (q + 1) + self.covariates.shape[1] + q + 2, 0, 0

    def write_panel(self, cache, rows, lanes, column):
        for i in range(cache.shape[0]):
            rows[i, column] = cache[i]

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        v = data.values[item]
        d, q = v.shape[0] - 1, v.shape[1]
        width = width // LANES * LANES
        n_pairs = q * (q + 1) // 2
        u, M = rows[1 + n_pairs + d : 1 + n_pairs + d + q], rows[1 + n_pairs + d + q :]
        product, m = M[n_pairs], 0
        M[: n_pairs + 1].fill(0.0)
        for t in range(d + 1):
            if math.isnan(v[t, q - 1]):
                continue
            weight = 1.0 if t < d else 1.0 / (1.0 + m * self.ratio)
            m += t < d
            place = 1
            for i in range(q):
                u[i].fill(0.0)
                for j in range(i + 1):
                    entries, x = rows[place], v[t, j]
                    for k in range(width):
                        u[i, k] += entries[k] * x
                    place += 1
            place = 0
            for i in range(q):
                for j in range(i + 1):
                    for k in range(width):
                        M[place, k] += weight * u[i, k] * u[j, k]
                    place += 1
        if m == 0:
            return
        # L D L' of I + M, whose pivots are at least 1; their product and the last one are what is wanted.
        product.fill(1.0)
        for i in range(q):
            row_i = i * (i + 1) // 2
            for j in range(i):
                row_j = j * (j + 1) // 2
                for before in range(j):
                    pivot = before * (before + 3) // 2
                    for k in range(width):
                        M[row_i + j, k] -= M[row_i + before, k] * M[row_j + before, k] / M[pivot, k]
            for k in range(width):
                M[row_i + i, k] += 1.0
            for before in range(i):
                pivot = before * (before + 3) // 2
                for k in range(width):
                    M[row_i + i, k] -= M[row_i + before, k] * M[row_i + before, k] / M[pivot, k]
            if i < q - 1:
                for k in range(width):
                    product[k] *= max(M[row_i + i, k], 1.0)
        last, constants = M[n_pairs - 1], rows[n_pairs + m]
        for k in range(width):
            values[k] += constants[k] - 0.5 * log_above_one(product[k])
            values[k] -= (rows[0, k] + 0.5 * m) * log_above_one(max(last[k], 1.0))

    def log_marginals_with_gradient(self, statistics, gradient):
        p, n_clusters = self.mu.shape[0], statistics.shape[0]
        q = p + 1
        size = 1 + q * (q + 1)
        totals, of_ratio, log_determinants = np.empty((n_clusters, size)), 0.0, 0.0
        work, mean, noise, inverse = np.empty((p + 2, p + 1)), np.empty(p), np.zeros(p), np.empty((p, p))
        for k in range(n_clusters):
            log_determinants += trajectory_rows.combine(self, statistics[k], totals[k])
            if totals[k, 0] <= 0.0:
                continue
            regression_rows.factor_moments(self, totals[k], work)
            regression_rows.write_coefficients(work, noise, mean)
            precision = (self.alpha + 0.5 * totals[k, 0]) / (0.5 * work[p, p])
            wishart_rows.cholesky_of_factored(work, p + 1, work[p + 1])
            invert_factored(work, inverse)
            for m in range(1, statistics.shape[1] // size):
                block = statistics[k, m * size : (m + 1) * size]
                if block[0] != 0.0:
                    # The derivatives of log(1 + m ratio), and of the weight of means, -m weight^2.
                    weight = 1.0 / (1.0 + m * self.ratio)
                    change = trajectory_rows.change_with_products(block, inverse, mean, precision)
                    of_ratio += 0.5 * m * weight * (weight * change - block[0])
        value = regression_rows.add_marginal_gradients(self, totals, gradient)
        gradient[gradient.shape[0] - p - p * p - 3] += of_ratio
        return value - 0.5 * log_determinants
