"""Fast densities of :class:`NormalRegression`, and their gradient."""

import math

import numpy as np

from pymc_nrm.families.base import add_item, refresh_cache
from pymc_nrm.families.definitions.normal_regression import NormalRegression
from pymc_nrm.families.fast import fast_paths
from pymc_nrm.families.shared import regression_rows, wishart_rows
from pymc_nrm.kernels.lanes import LANES, log_above_one, squared_lengths
from pymc_nrm.kernels.special import log_rising_factorial

_LOG_2_PI, _LOG_PI = math.log(2.0 * math.pi), math.log(math.pi)

# If removing an item leaves less than this share of the determinant, fewer than about ten digits are right.
_LEAST_SHARE_LEFT = 1e-6


@fast_paths(NormalRegression)
class FastNormalRegression:
    """A row of the cache: constant, alpha_n, inverse W of the Cholesky factor of A_n, workspace (2 p + 2).

    W is a lower triangle, by rows; ``shared/regression_rows.py`` has A_n.  With h the sum of the squares of the first p
    entries of W v, and e the last one, the log predictive is
    ``constant - log(1 + h)/2 - (alpha_n + 1/2) log(1 + e^2 / (1 + h))``.
    """

    def cache_size(self):
        q = self.mu.shape[0] + 1
        return 2 + q * (q + 1) // 2 + 2 * q

    def refresh_cache(self, statistics, cache):
        p = self.mu.shape[0]
        work = np.empty((p + 2, p + 1))
        regression_rows.factor_moments(self, statistics, work)
        wishart_rows.cholesky_of_factored(work, p + 1, work[p + 1])
        wishart_rows.write_inverse_factor(work, p + 1, cache[2:])
        last = cache[1 + (p + 1) * (p + 2) // 2]
        cache[1] = self.alpha + 0.5 * statistics[0]
        cache[0] = log_rising_factorial(cache[1], 0.5) + math.log(last) - 0.5 * _LOG_PI

    def update_cache(self, statistics, cache, data, item, sign):
        v = data.values[item]
        q = v.shape[0]
        if math.isnan(v[q - 1]):
            return
        add_item(self, statistics, data, item, sign)
        workspace = cache[cache.shape[0] - 2 * q :]
        for j in range(q):
            workspace[j] = v[j]
        if not wishart_rows.add_rank_one(cache[2:], q, sign):
            refresh_cache(self, statistics, cache)
            return
        cache[1] = self.alpha + 0.5 * statistics[0]
        cache[0] = log_rising_factorial(cache[1], 0.5) + math.log(cache[1 + q * (q + 1) // 2]) - 0.5 * _LOG_PI

    def log_predictive(self, cache, data, item):
        v = data.values[item]
        q = v.shape[0]
        if math.isnan(v[q - 1]):
            return 0.0
        leverage, last = regression_rows.leverage_and_residual(cache, v)
        growth = 1.0 + leverage
        return cache[0] - 0.5 * math.log(growth) - (cache[1] + 0.5) * math.log(1.0 + last * last / growth)

    def log_predictive_without(self, statistics, cache, data, item):
        # Without v, |Lambda_n| has the factor 1 - h, and |A_n| the factor 1 - h - e^2.
        v = data.values[item]
        q = v.shape[0]
        if math.isnan(v[q - 1]):
            return 0.0
        leverage, last = regression_rows.leverage_and_residual(cache, v)
        left = 1.0 - leverage
        if not left - last * last > _LEAST_SHARE_LEFT:
            return math.nan
        power = cache[1] - 0.5
        constant = log_rising_factorial(power, 0.5) + math.log(cache[1 + q * (q + 1) // 2]) - 0.5 * _LOG_PI
        return constant + 0.5 * math.log(left) + power * math.log(1.0 - last * last / left)

    def student_predictive(self, cache, data, item, feature, law):
        # The last row of W is (-m_n, 1) / sqrt(2 beta_n).
        v = data.values[item]
        p = v.shape[0] - 1
        leverage, _ = regression_rows.leverage_and_residual(cache, v)
        k = 2 + p * (p + 1) // 2
        law[1] = 0.0
        for j in range(p):
            law[1] += v[j] * (data.center[j] - cache[k + j] / cache[k + p])
        law[0] = 2.0 * cache[1]
        law[2] = math.sqrt((1.0 + leverage) / law[0]) / cache[k + p]

    # A column of a panel: in rows, the first two entries of the cache, the last row of W, and memory for h and e; in
    # lanes, 0 and W_i0 ... W_ii for each of the other i.
    def panel_shape(self):
        p = self.mu.shape[0]
        return p + 5, 1, p + p * (p + 1) // 2

    def write_panel(self, cache, rows, lanes, column):
        p = self.mu.shape[0]
        rows[0, column], rows[1, column] = cache[0], cache[1]
        wishart_rows.write_lanes(lanes[0], column, cache[2:], np.zeros(p))
        last = 2 + p * (p + 1) // 2
        for j in range(p + 1):
            rows[2 + j, column] = cache[last + j]

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        v = data.values[item]
        q = v.shape[0]
        if math.isnan(v[q - 1]):
            return
        leverage, last = rows[2 + q], rows[3 + q]
        squared_lengths(lanes[0], v[: q - 1], width // LANES, leverage)
        last.fill(0.0)
        for j in range(q):
            entries, x = rows[2 + j], v[j]
            for k in range(width // LANES * LANES):
                last[k] += entries[k] * x
        for k in range(width // LANES * LANES):
            growth = 1.0 + leverage[k]
            distance = log_above_one(1.0 + last[k] * last[k] / growth)
            values[k] += rows[0, k] - 0.5 * log_above_one(growth) - (rows[1, k] + 0.5) * distance

    def log_marginals_with_gradient(self, statistics, gradient):
        return regression_rows.add_marginal_gradients(self, statistics, gradient)

    # Coefficients, factor of the squared residual, constant, and memory for the residual.
    def component_panel(self, n_columns):
        return np.zeros((self.mu.shape[0] + 3, n_columns))

    def write_component(self, parameters, panel, column):
        p = self.mu.shape[0]
        for j in range(p):
            panel[j, column] = parameters[j]
        panel[p, column] = -0.5 / parameters[p]
        panel[p + 1, column] = -0.5 * (_LOG_2_PI + math.log(parameters[p]))

    def add_component_densities(self, panel, data, item, width, values):
        v = data.values[item]
        p = v.shape[0] - 1
        if math.isnan(v[p]):
            return
        residual = panel[p + 2]
        residual.fill(v[p])
        for j in range(p):
            coefficient, x = panel[j], v[j]
            for k in range(width // LANES * LANES):
                residual[k] -= coefficient[k] * x
        for k in range(width // LANES * LANES):
            values[k] += panel[p + 1, k] + panel[p, k] * residual[k] * residual[k]
