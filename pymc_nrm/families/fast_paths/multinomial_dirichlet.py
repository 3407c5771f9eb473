"""Fast densities of :class:`MultinomialDirichlet`, and their gradient."""

import math

import numpy as np

from pymc_nrm.families.base import add_item, cache_size
from pymc_nrm.families.components import write_logarithms
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.multinomial_dirichlet import MultinomialDirichlet
from pymc_nrm.families.fast import add_log_rising_factorials, add_logarithms, fast_paths, multiply_rising_factorial
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import digamma, log_gamma_ratio, log_rising_factorial


@fast_paths(MultinomialDirichlet)
class FastMultinomialDirichlet:
    """A row of the cache: A, A_n, log Gamma(A_n), log alpha_n (v), alpha_n (v); A_n sums alpha_n = alpha + sums."""

    def cache_size(self):
        return 3 + 2 * self.alpha.shape[0]

    def refresh_cache(self, statistics, cache):
        v = self.alpha.shape[0]
        prior_total = 0.0
        last = log_last = 0.0
        for j in range(v):
            prior_total += self.alpha[j]
            alpha_n = self.alpha[j] + statistics[j]
            # Most words are absent from a cluster, and often share one alpha.
            if alpha_n != last:
                last = alpha_n
                log_last = math.log(alpha_n)
            cache[3 + j] = log_last
            cache[3 + v + j] = alpha_n
        cache[0] = prior_total
        cache[1] = prior_total + statistics[v]
        cache[2] = math.lgamma(cache[1])

    def update_cache(self, statistics, cache, data, item, sign):
        # Only the words of the item and the total change.
        add_item(self, statistics, data, item, sign)
        v = self.alpha.shape[0]
        for k in range(data.indptr[item], data.indptr[item + 1]):
            j = data.indices[k]
            alpha_n = self.alpha[j] + statistics[j]
            cache[3 + j] = math.log(alpha_n)
            cache[3 + v + j] = alpha_n
        cache[1] = cache[0] + statistics[v]
        cache[2] = math.lgamma(cache[1])

    def log_predictive(self, cache, data, item):
        # Gamma(alpha_n + x) / Gamma(alpha_n) is a product of x factors, mostly of a single one.
        v = self.alpha.shape[0]
        total = data.log_coefficients[item] - log_gamma_ratio(cache[1], data.totals[item], cache[2])
        product = 1.0
        for k in range(data.indptr[item], data.indptr[item + 1]):
            j, x = data.indices[k], data.values[k]
            if x == 1.0:
                total += cache[3 + j]
            else:
                total, product = multiply_rising_factorial(total, product, cache[3 + v + j], x)
        return total + math.log(product)

    def log_predictive_without(self, statistics, cache, data, item):
        v = self.alpha.shape[0]
        total = data.log_coefficients[item]
        total -= log_rising_factorial(cache[0] + (statistics[v] - data.totals[item]), data.totals[item])
        product = 1.0
        for k in range(data.indptr[item], data.indptr[item + 1]):
            j, x = data.indices[k], data.values[k]
            others = self.alpha[j] + (statistics[j] - x)
            total, product = multiply_rising_factorial(total, product, others, x)
        return total + math.log(product)

    # A panel is the transposed cache, a column of which changes only in the words of an item; the first row is memory.
    def panel_shape(self):
        return cache_size(self), 0, 0

    def update_panel(self, cache, rows, lanes, column, data, item):
        v = self.alpha.shape[0]
        for i in range(1, 3):
            rows[i, column] = cache[i]
        for k in range(data.indptr[item], data.indptr[item + 1]):
            j = 3 + data.indices[k]
            rows[j, column] = cache[j]
            rows[v + j, column] = cache[v + j]

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        v = self.alpha.shape[0]
        product = rows[0]
        for k in range(width // LANES * LANES):
            values[k] += data.log_coefficients[item] - log_gamma_ratio(rows[1, k], data.totals[item], rows[2, k])
            product[k] = 1.0
        n_factors = 0
        for place in range(data.indptr[item], data.indptr[item + 1]):
            j, x = 3 + data.indices[place], data.values[place]
            n_factors = add_log_rising_factorials(rows[j], rows[v + j], x, n_factors, product, width, values)
        add_logarithms(product, width, values)

    def log_marginals_with_gradient(self, statistics, gradient):
        v = self.alpha.shape[0]
        total = of_total = prior_total = 0.0
        for j in range(v):
            prior_total += self.alpha[j]
        for k in range(statistics.shape[0]):
            total += log_marginal(self, statistics[k])
            of_total += digamma(prior_total) - digamma(prior_total + statistics[k, v])
        for j in range(v):
            gradient[j] += of_total
            of_alpha = digamma(self.alpha[j])
            for k in range(statistics.shape[0]):
                if statistics[k, j] > 0.0:
                    gradient[j] += digamma(self.alpha[j] + statistics[k, j]) - of_alpha
        return total

    def component_panel(self, n_columns):
        return np.empty((self.alpha.shape[0], n_columns))

    def write_component(self, parameters, panel, column):
        write_logarithms(parameters, panel, column)

    def add_component_densities(self, panel, data, item, width, values):
        for k in range(width // LANES * LANES):
            values[k] += data.log_coefficients[item]
        for place in range(data.indptr[item], data.indptr[item + 1]):
            count, log_p = data.values[place], panel[data.indices[place]]
            for k in range(width // LANES * LANES):
                values[k] += count * log_p[k]
