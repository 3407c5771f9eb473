"""Fast densities of :class:`NormalGamma`, and their gradient."""

import math

import numpy as np

from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.normal_gamma import NormalGamma, pooling_weights, posterior_location_scale
from pymc_nrm.families.fast import fast_paths
from pymc_nrm.kernels.lanes import LANES, log_above_one
from pymc_nrm.kernels.special import digamma, log_rising_factorial

# If removing an item leaves less than this share of beta_n, fewer than about ten digits are right.
_LEAST_SHARE_LEFT = 1e-6

_LOG_2_PI = math.log(2.0 * math.pi)


@fast_paths(NormalGamma)
class FastNormalGamma:
    """A row of the cache, feature by feature: mean m_n, scale kappa_n / (2 beta_n (kappa_n + 1)), power alpha_n + 1/2,
    constant.  The log predictive of a feature is  constant - power log(1 + scale (x - m_n)^2).
    """

    def cache_size(self):
        return 4 * self.mu.shape[0]

    def refresh_cache(self, statistics, cache):
        n = kappa = alpha = math.nan
        inverse_count = shrinkage = ratio = of_powers = math.nan
        for j in range(self.mu.shape[0]):
            # Without missing values, features with equal kappa and alpha share all terms that depend on the count.
            if statistics[j] != n or self.kappa[j] != kappa or self.alpha[j] != alpha:
                n, kappa, alpha = statistics[j], self.kappa[j], self.alpha[j]
                inverse_count, shrinkage = pooling_weights(kappa, n)
                ratio = 0.5 * (kappa + n) / (kappa + n + 1.0)
                of_powers = log_rising_factorial(alpha + 0.5 * n, 0.5)
            mean, beta_n = posterior_location_scale(self, statistics, j, inverse_count, shrinkage)
            scale = ratio / beta_n
            cache[4 * j] = mean
            cache[4 * j + 1] = scale
            cache[4 * j + 2] = alpha + 0.5 * n + 0.5
            cache[4 * j + 3] = of_powers + 0.5 * math.log(scale / math.pi)

    def log_predictive(self, cache, data, item):
        # Features with equal powers, usually all of them, share one logarithm of a product.
        total = 0.0
        power, product = cache[2], 1.0
        for j in range(data.values.shape[1]):
            x = data.values[item, j]
            if not math.isnan(x):
                if cache[4 * j + 2] != power or product > 1e100:
                    total -= power * math.log(product)
                    power, product = cache[4 * j + 2], 1.0
                distance = x - cache[4 * j]
                product *= 1.0 + cache[4 * j + 1] * distance * distance
                total += cache[4 * j + 3]
        return total - power * math.log(product)

    def log_predictive_without(self, statistics, cache, data, item):
        # Without x, beta is beta_n times `left` = 1 - kappa_n/(kappa_n - 1) (x - m_n)^2 / (2 beta_n).
        total, product, power = 0.0, 1.0, 0.0
        n = kappa = alpha = constant = ratio = shrinkage = math.nan
        for j in range(data.values.shape[1]):
            x = data.values[item, j]
            if math.isnan(x):
                continue
            if statistics[j] != n or self.kappa[j] != kappa or self.alpha[j] != alpha:
                total += power * math.log(product)
                n, kappa, alpha = statistics[j], self.kappa[j], self.alpha[j]
                power, product = alpha + 0.5 * n - 0.5, 1.0
                # A tiny kappa beside the other items is lost, but not beside none.
                shrinkage = (kappa + (n - 1.0)) / (kappa + n)
                ratio = 0.5 * (kappa + n) / (kappa + n + 1.0)
                constant = log_rising_factorial(power, 0.5) + 0.5 * math.log(0.5 * shrinkage / math.pi)
            inverse_beta = cache[4 * j + 1] / ratio
            distance = x - cache[4 * j]
            left = 1.0 - 0.5 * inverse_beta * distance * distance / shrinkage
            if not left > _LEAST_SHARE_LEFT:
                return math.nan
            product *= left
            total += constant + 0.5 * math.log(inverse_beta)
            if product < 1e-100:
                total += power * math.log(product)
                product = 1.0
        return total + power * math.log(product)

    def student_predictive(self, cache, data, item, feature, law):
        law[0] = 2.0 * cache[4 * feature + 2] - 1.0
        law[1] = cache[4 * feature] + data.center[feature]
        law[2] = 1.0 / math.sqrt(law[0] * cache[4 * feature + 1])

    def panel_shape(self):
        return 4 * self.mu.shape[0], 0, 0

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        for j in range(data.values.shape[1]):
            x = data.values[item, j]
            if math.isnan(x):
                continue
            mean, scale, power, constant = rows[4 * j], rows[4 * j + 1], rows[4 * j + 2], rows[4 * j + 3]
            for k in range(width // LANES * LANES):
                distance = x - mean[k]
                values[k] += constant[k] - power[k] * log_above_one(1.0 + scale[k] * distance * distance)

    def log_marginals_with_gradient(self, statistics, gradient):
        d = self.mu.shape[0]
        total = 0.0
        for k in range(statistics.shape[0]):
            total += log_marginal(self, statistics[k])
            for j in range(d):
                n = statistics[k, j]
                if n > 0.0:
                    alpha, beta, kappa = self.alpha[j], self.beta[j], self.kappa[j]
                    inverse_count, shrinkage = pooling_weights(kappa, n)
                    mean, beta_n = posterior_location_scale(self, statistics[k], j, inverse_count, shrinkage)
                    # The posterior mean is mu plus share times the shift s; beta_n has the term kappa share s^2 / 2.
                    share, precision = n / (kappa + n), (alpha + 0.5 * n) / beta_n
                    shift = (mean - self.mu[j]) / share
                    gradient[j] += precision * kappa * share * shift
                    gradient[d + j] += 0.5 * (share / kappa - precision * (share * shift) ** 2)
                    gradient[2 * d + j] += digamma(alpha + 0.5 * n) - digamma(alpha) + math.log(beta / beta_n)
                    gradient[3 * d + j] += alpha / beta - precision
        return total

    def component_panel(self, n_columns):
        return np.empty((3 * self.mu.shape[0], n_columns))

    def write_component(self, parameters, panel, column):
        # Means, factors of squared distances, constants.
        d = self.mu.shape[0]
        for j in range(d):
            variance = parameters[d + j]
            panel[j, column] = parameters[j]
            panel[d + j, column] = -0.5 / variance
            panel[2 * d + j, column] = -0.5 * (_LOG_2_PI + math.log(variance))

    def add_component_densities(self, panel, data, item, width, values):
        d = data.values.shape[1]
        for j in range(d):
            x = data.values[item, j]
            if math.isnan(x):
                continue
            mean, scale, constant = panel[j], panel[d + j], panel[2 * d + j]
            for k in range(width // LANES * LANES):
                distance = x - mean[k]
                values[k] += constant[k] + scale[k] * distance * distance
