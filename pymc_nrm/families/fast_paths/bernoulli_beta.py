"""Fast densities of :class:`BernoulliBeta`, and their gradient."""

import math

import numpy as np

from pymc_nrm.families.base import cache_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.bernoulli_beta import BernoulliBeta
from pymc_nrm.families.fast import add_row, fast_paths, multiply_quotient
from pymc_nrm.kernels.lanes import LANES, log_positive
from pymc_nrm.kernels.special import digamma


@fast_paths(BernoulliBeta)
class FastBernoulliBeta:
    """A row of the cache: sum of log(1 - p), log p / (1 - p) (d), log(1 - p) (d); p is the predictive mean."""

    def cache_size(self):
        return 1 + 2 * self.alpha.shape[0]

    def refresh_cache(self, statistics, cache):
        d = self.alpha.shape[0]
        ones, zeros, log_odds, log_rest = statistics[:d], statistics[d:], cache[1 : 1 + d], cache[1 + d :]
        total = 0.0
        for j in range(d):
            a, b = self.alpha[j] + ones[j], self.beta[j] + zeros[j]
            log_b = log_positive(b)
            log_odds[j] = log_positive(a) - log_b
            log_rest[j] = log_b - log_positive(a + b)
            total += log_rest[j]
        cache[0] = total

    def log_predictive(self, cache, data, item):
        d = data.values.shape[1]
        total = cache[0]
        for j in range(d):
            x = data.values[item, j]
            if x == 1.0:
                total += cache[1 + j]
            elif math.isnan(x):
                total -= cache[1 + d + j]
        return total

    def log_predictive_without(self, statistics, cache, data, item):
        d = data.values.shape[1]
        total, above, below = 0.0, 1.0, 1.0
        for j in range(d):
            x, a, b, ones, zeros = data.values[item, j], self.alpha[j], self.beta[j], statistics[j], statistics[d + j]
            if not math.isnan(x):
                others = a + (ones - 1.0) if x == 1.0 else b + (zeros - 1.0)
                total, above, below = multiply_quotient(total, above, below, others, a + b + (ones + zeros - 1.0))
        return total + math.log(above / below)

    def panel_shape(self):
        return cache_size(self), 0, 0

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        # A branch for each feature would often be predicted wrongly, so first list the rows.
        d = data.values.shape[1]
        places, n_places, has_gaps = np.empty(1 + d, dtype=np.int64), 1, False
        places[0] = 0
        for j in range(d):
            x = data.values[item, j]
            places[n_places] = 1 + j
            n_places += x == 1.0
            has_gaps |= math.isnan(x)
        for i in range(n_places):
            add_row(rows[places[i]], width, values)
        if has_gaps:
            for j in range(d):
                if math.isnan(data.values[item, j]):
                    log_rest = rows[1 + d + j]
                    for k in range(width // LANES * LANES):
                        values[k] -= log_rest[k]

    def log_marginals_with_gradient(self, statistics, gradient):
        d = self.alpha.shape[0]
        total = 0.0
        for k in range(statistics.shape[0]):
            total += log_marginal(self, statistics[k])
            for j in range(d):
                a, b, ones, zeros = self.alpha[j], self.beta[j], statistics[k, j], statistics[k, d + j]
                both = digamma(a + b) - digamma(a + b + (ones + zeros))
                gradient[j] += digamma(a + ones) - digamma(a) + both
                gradient[d + j] += digamma(b + zeros) - digamma(b) + both
        return total

    def component_panel(self, n_columns):
        return np.empty((2 * self.alpha.shape[0], n_columns))

    def write_component(self, parameters, panel, column):
        d = parameters.shape[0]
        for j in range(d):
            p = parameters[j]
            panel[j, column] = math.log(p) if p > 0.0 else -math.inf
            panel[d + j, column] = math.log1p(-p) if p < 1.0 else -math.inf

    def add_component_densities(self, panel, data, item, width, values):
        d = data.values.shape[1]
        for j in range(d):
            x = data.values[item, j]
            if not math.isnan(x):
                add_row(panel[j if x == 1.0 else d + j], width, values)
