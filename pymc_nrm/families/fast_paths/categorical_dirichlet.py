"""Fast densities of :class:`CategoricalDirichlet`, and their gradient."""

import math

import numpy as np

from pymc_nrm.families.base import add_item, cache_size
from pymc_nrm.families.components import write_logarithms
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.categorical_dirichlet import CategoricalDirichlet
from pymc_nrm.families.fast import add_row, fast_paths, multiply_quotient
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import digamma


@fast_paths(CategoricalDirichlet)
class FastCategoricalDirichlet:
    """A row of the cache: sum of log totals, prior totals A (d), log totals (d), log(alpha + counts) (d, L).

    The total of a feature is A + N.
    """

    def cache_size(self):
        return 1 + 2 * self.alpha.shape[0] + self.alpha.size

    def refresh_cache(self, statistics, cache):
        d, width = self.alpha.shape
        cache[0] = 0.0
        for j in range(d):
            prior_total = 0.0
            for x in range(width):
                k = j * width + x
                prior_total += self.alpha[j, x]
                weight = self.alpha[j, x] + statistics[k]
                cache[1 + 2 * d + k] = math.log(weight) if weight > 0.0 else -math.inf
            cache[1 + j] = prior_total
            cache[1 + d + j] = math.log(prior_total + statistics[d * width + j])
            cache[0] += cache[1 + d + j]

    def update_cache(self, statistics, cache, data, item, sign):
        # Only one level and one total of each feature change.
        add_item(self, statistics, data, item, sign)
        d, width = self.alpha.shape
        cache[0] = 0.0
        for j in range(d):
            x = data.values[item, j]
            if x >= 0:
                k = j * width + x
                cache[1 + 2 * d + k] = math.log(self.alpha[j, x] + statistics[k])
                cache[1 + d + j] = math.log(cache[1 + j] + statistics[d * width + j])
            cache[0] += cache[1 + d + j]

    def log_predictive(self, cache, data, item):
        d, width = self.alpha.shape
        total = -cache[0]
        for j in range(d):
            x = data.values[item, j]
            total += cache[1 + 2 * d + j * width + x] if x >= 0 else cache[1 + d + j]
        return total

    def log_predictive_without(self, statistics, cache, data, item):
        d, width = self.alpha.shape
        total, above, below = 0.0, 1.0, 1.0
        for j in range(d):
            x = data.values[item, j]
            if x >= 0:
                others = self.alpha[j, x] + (statistics[j * width + x] - 1.0)
                of_all = cache[1 + j] + (statistics[d * width + j] - 1.0)
                total, above, below = multiply_quotient(total, above, below, others, of_all)
        return total + math.log(above / below)

    # A panel is the transposed cache, a column of which changes only in the levels of an item and their totals.
    def panel_shape(self):
        return cache_size(self), 0, 0

    def update_panel(self, cache, rows, lanes, column, data, item):
        d, width = self.alpha.shape
        rows[0, column] = cache[0]
        for j in range(d):
            x = data.values[item, j]
            if x >= 0:
                for k in (1 + d + j, 1 + 2 * d + j * width + x):
                    rows[k, column] = cache[k]

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        d, n_levels = self.alpha.shape
        for k in range(width // LANES * LANES):
            values[k] -= rows[0, k]
        for j in range(d):
            x = data.values[item, j]
            add_row(rows[1 + 2 * d + j * n_levels + x if x >= 0 else 1 + d + j], width, values)

    def log_marginals_with_gradient(self, statistics, gradient):
        d, width = self.alpha.shape
        total = 0.0
        for k in range(statistics.shape[0]):
            total += log_marginal(self, statistics[k])
            for j in range(d):
                n = statistics[k, d * width + j]
                if n > 0.0:
                    prior_total = 0.0
                    for x in range(width):
                        prior_total += self.alpha[j, x]
                    of_total = digamma(prior_total) - digamma(prior_total + n)
                    for x in range(width):
                        alpha, count = self.alpha[j, x], statistics[k, j * width + x]
                        gradient[j * width + x] += of_total
                        if count > 0.0 and alpha > 0.0:
                            gradient[j * width + x] += digamma(alpha + count) - digamma(alpha)
        return total

    def component_panel(self, n_columns):
        return np.empty((self.alpha.size, n_columns))

    def write_component(self, parameters, panel, column):
        write_logarithms(parameters, panel, column)

    def add_component_densities(self, panel, data, item, width, values):
        d, n_levels = self.alpha.shape
        for j in range(d):
            x = data.values[item, j]
            if x >= 0:
                add_row(panel[j * n_levels + x], width, values)
