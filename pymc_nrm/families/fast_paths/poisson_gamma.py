"""Fast densities of :class:`PoissonGamma`, and their gradient."""

import math

import numpy as np

from pymc_nrm.families.components import write_logarithms
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.poisson_gamma import PoissonGamma
from pymc_nrm.families.fast import add_log_rising_factorials, add_logarithms, fast_paths, multiply_rising_factorial
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import digamma


@fast_paths(PoissonGamma)
class FastPoissonGamma:
    """A row of the cache: constant, alpha_n (d), log(beta_n + 1) (d), alpha_n log(beta_n / (beta_n + 1)) (d).

    The constant is the sum of the last entries.
    """

    def cache_size(self):
        return 1 + 3 * self.alpha.shape[0]

    def refresh_cache(self, statistics, cache):
        d = self.alpha.shape[0]
        constant = log_odds = log_next = 0.0
        n = beta = math.nan
        for j in range(d):
            # Without missing values, features with equal beta share logarithms.
            if statistics[d + j] != n or self.beta[j] != beta:
                n, beta = statistics[d + j], self.beta[j]
                log_next = math.log(beta + n + 1.0)
                log_odds = -math.log1p(1.0 / (beta + n))
            cache[1 + j] = self.alpha[j] + statistics[j]
            cache[1 + d + j] = log_next
            cache[1 + 2 * d + j] = cache[1 + j] * log_odds
            constant += cache[1 + j] * log_odds
        cache[0] = constant

    def log_predictive(self, cache, data, item):
        # Gamma(alpha_n + x) / Gamma(alpha_n) is a product of x factors: all small counts of an item share a logarithm.
        d = data.values.shape[1]
        total, product = cache[0] - data.log_factorials[item], 1.0
        for j in range(d):
            x = data.values[item, j]
            if math.isnan(x):
                total -= cache[1 + 2 * d + j]
                continue
            total -= x * cache[1 + d + j]
            total, product = multiply_rising_factorial(total, product, cache[1 + j], x)
        return total + math.log(product)

    def log_predictive_without(self, statistics, cache, data, item):
        # Gamma(alpha_n) / Gamma(alpha_n - x) is a product of x factors.
        d = data.values.shape[1]
        total = -data.log_factorials[item]
        product, log_odds, log_rate = 1.0, 0.0, 0.0
        n = beta = math.nan
        for j in range(d):
            x = data.values[item, j]
            if math.isnan(x):
                continue
            if statistics[d + j] != n or self.beta[j] != beta:
                n, beta = statistics[d + j], self.beta[j]
                log_rate = math.log(beta + n)
                log_odds = -math.log1p(1.0 / (beta + (n - 1.0)))
            others = self.alpha[j] + (statistics[j] - x)
            total += others * log_odds - x * log_rate
            total, product = multiply_rising_factorial(total, product, others, x)
        return total + math.log(product)

    # Rows of a panel: constant, log alpha_n (d), the other rows of the cache (3 d), and memory.
    def panel_shape(self):
        return 2 + 4 * self.alpha.shape[0], 0, 0

    def write_panel(self, cache, rows, lanes, column):
        d = self.alpha.shape[0]
        rows[0, column] = cache[0]
        for j in range(d):
            rows[1 + j, column] = math.log(cache[1 + j])
            rows[1 + d + j, column] = cache[1 + j]
            rows[1 + 2 * d + j, column] = cache[1 + d + j]
            rows[1 + 3 * d + j, column] = cache[1 + 2 * d + j]

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        d = data.values.shape[1]
        product = rows[1 + 4 * d]
        for k in range(width // LANES * LANES):
            values[k] += rows[0, k] - data.log_factorials[item]
            product[k] = 1.0
        n_factors = 0
        for j in range(d):
            x = data.values[item, j]
            if x > 0.0:
                log_rate = rows[1 + 2 * d + j]
                for k in range(width // LANES * LANES):
                    values[k] -= x * log_rate[k]
                n_factors = add_log_rising_factorials(
                    rows[1 + j], rows[1 + d + j], x, n_factors, product, width, values
                )
            elif math.isnan(x):
                of_feature = rows[1 + 3 * d + j]
                for k in range(width // LANES * LANES):
                    values[k] -= of_feature[k]
        add_logarithms(product, width, values)

    def log_marginals_with_gradient(self, statistics, gradient):
        d = self.alpha.shape[0]
        total = 0.0
        for k in range(statistics.shape[0]):
            total += log_marginal(self, statistics[k])
            for j in range(d):
                alpha, beta, count, n = self.alpha[j], self.beta[j], statistics[k, j], statistics[k, d + j]
                gradient[j] += digamma(alpha + count) - digamma(alpha) - math.log1p(n / beta)
                gradient[d + j] += alpha / beta - (alpha + count) / (beta + n)
        return total

    def component_panel(self, n_columns):
        return np.empty((2 * self.alpha.shape[0] + 1, n_columns))

    def write_component(self, parameters, panel, column):
        # Logarithms of the rates, the sum of the rates, then the rates.
        d = parameters.shape[0]
        write_logarithms(parameters, panel, column)
        panel[d, column] = parameters.sum()
        for j in range(d):
            panel[d + 1 + j, column] = parameters[j]

    def add_component_densities(self, panel, data, item, width, values):
        d = data.values.shape[1]
        for k in range(width // LANES * LANES):
            values[k] -= data.log_factorials[item] + panel[d, k]
        for j in range(d):
            x = data.values[item, j]
            if x > 0.0:
                log_rate = panel[j]
                for k in range(width // LANES * LANES):
                    values[k] += x * log_rate[k]
            elif math.isnan(x):
                rate = panel[d + 1 + j]
                for k in range(width // LANES * LANES):
                    values[k] += rate[k]
