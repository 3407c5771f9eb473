"""Fast densities of :class:`NormalWishart`, their gradient, and draws of missing entries."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, refresh_cache
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.fast import fast_paths
from pymc_nrm.families.shared import wishart_rows
from pymc_nrm.families.shared.wishart_gaps import draw_missing_entries, log_predictive_of_observed, student_of_one
from pymc_nrm.kernels.lanes import LANES, log_above_one, squared_lengths, squared_lengths_of_items
from pymc_nrm.kernels.special import log_rising_factorial

_LOG_2_PI = math.log(2.0 * math.pi)

# If removing an item leaves less than this share of the determinant, fewer than about ten digits are right.
_LEAST_DETERMINANT_SHARE = 1e-6


class NormalPanel(NamedTuple):
    """Components as ``squared_lengths`` reads them (b = -W mean, W W' = precision), as ``factors``, and memory."""

    lanes: Any
    constants: Any
    distances: Any
    factors: Any
    values: Any


@fast_paths(NormalWishart)
class FastNormalWishart:
    """A row of the cache: log constant, (nu_n + 1)/2, kappa_n/(kappa_n + 1), mean (d), W by rows, workspace (2 d).

    W is the inverse of the lower Cholesky factor of Psi_n.  The log predictive is
    ``constant - (nu_n + 1)/2 log(1 + kappa_n/(kappa_n + 1) |W (x - m_n)|^2)``,  ``W' W = inverse(Psi_n)``.
    """

    def cache_size(self):
        d = self.mu.shape[0]
        return 3 + 3 * d + d * (d + 1) // 2

    def refresh_cache(self, statistics, cache):
        d = self.mu.shape[0]
        factor = wishart_rows.new_workspace(d)
        weight = wishart_rows.posterior_factor(self, statistics, cache[3 : 3 + d], factor)
        rows = cache[3 + d :]
        wishart_rows.write_inverse_factor(factor, d, rows)
        for j in range(d):
            rows[d * (d + 1) // 2 + j] = factor[d + 3, j]
        wishart_rows.add_rank_one(rows, d, weight)
        wishart_rows.set_constants(self, statistics[0], d, cache)

    def update_cache(self, statistics, cache, data, item, sign):
        d = data.values.shape[1]
        kappa_n = self.kappa + statistics[0]
        add_item(self, statistics, data, item, sign)
        # Psi_n changes by a multiple of v v' with v = x - mean.
        step = sign / (kappa_n + sign)
        mean, v = cache[3 : 3 + d], cache[cache.shape[0] - 2 * d : cache.shape[0] - d]
        for j in range(d):
            v[j] = data.values[item, j] - mean[j]
        if not wishart_rows.add_rank_one(cache[3 + d :], d, kappa_n * step):
            refresh_cache(self, statistics, cache)
            return
        for j in range(d):
            mean[j] += step * v[j]
        wishart_rows.set_constants(self, statistics[0], d, cache)

    def log_predictive(self, cache, data, item):
        d = data.values.shape[1]
        distance = 0.0
        k = 3 + d
        for i in range(d):
            total = 0.0
            for j in range(i + 1):
                total += cache[k + j] * (data.values[item, j] - cache[3 + j])
            distance += total * total
            k += i + 1
        if math.isnan(distance):
            return log_predictive_of_observed(cache, data.values[item])
        return cache[0] - cache[1] * math.log(1.0 + cache[2] * distance)

    def draw_missing(self, cache, data, item, rng):
        draw_missing_entries(cache, data.values[item], rng)

    def log_predictive_without(self, statistics, cache, data, item):
        # Without x, Psi_n is Psi_n - kappa_n/(kappa_n - 1) (x - m_n) (x - m_n)', of determinant |Psi_n| times `left`.
        d = data.values.shape[1]
        kappa_n, nu_n = self.kappa + statistics[0], self.nu + statistics[0]
        ratio = (kappa_n - 1.0) / kappa_n
        distance, product = 0.0, 1.0
        k = 3 + d
        for i in range(d):
            total = 0.0
            for j in range(i + 1):
                total += cache[k + j] * (data.values[item, j] - cache[3 + j])
            distance += total * total
            product *= cache[k + i]
            k += i + 1
        left = 1.0 - distance / ratio
        if not left > _LEAST_DETERMINANT_SHARE:
            return math.nan
        # Gamma(nu_n/2) / Gamma(nu_n/2 - d/2) is a product of d/2 factors if d is even.
        total = 0.0
        if d % 2 == 1:
            total = log_rising_factorial(0.5 * (nu_n - d), 0.5 * d) + 0.5 * d * math.log(ratio / math.pi)
        else:
            for i in range(d // 2):
                product *= (0.5 * nu_n - 1.0 - i) * ratio / math.pi
        if not 1e-300 < product < 1e300:
            return math.nan
        return total + math.log(product) + 0.5 * (nu_n - 1.0) * math.log(left)

    def student_predictive(self, cache, data, item, feature, law):
        student_of_one(cache, data.values[item], feature, data.center[feature], law)

    # A column of a panel: in rows, the first three entries of the cache, and memory; in lanes, -(W m_n)_i and
    # W_i0 ... W_ii for each i.
    def panel_shape(self):
        d = self.mu.shape[0]
        return 4, 1, d + d * (d + 1) // 2

    def write_panel(self, cache, rows, lanes, column):
        d = self.mu.shape[0]
        for i in range(3):
            rows[i, column] = cache[i]
        wishart_rows.write_lanes(lanes[0], column, cache[3 + d :], cache[3 : 3 + d])

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        lengths = rows[3]
        squared_lengths(lanes[0], data.values[item], width // LANES, lengths)
        for k in range(width // LANES * LANES):
            values[k] += rows[0, k] - rows[1, k] * log_above_one(1.0 + rows[2, k] * lengths[k])

    def log_marginals_with_gradient(self, statistics, gradient):
        return wishart_rows.add_marginal_gradients(self, statistics, gradient)

    def component_panel(self, n_columns):
        d = self.mu.shape[0]
        lanes = np.zeros((n_columns // LANES, d + d * (d + 1) // 2, LANES))
        factors, values = np.empty((n_columns, lanes.shape[1])), np.empty((d, LANES))
        return NormalPanel(lanes, np.empty(n_columns), np.empty(n_columns), factors, values)

    def write_component(self, parameters, panel, column):
        d = self.mu.shape[0]
        factor = np.linalg.cholesky(parameters[d:].copy().reshape((d, d)))
        rows = np.empty(d * (d + 1) // 2)
        wishart_rows.write_inverse_factor(factor, d, rows)
        wishart_rows.write_lanes(panel.lanes, column, rows, parameters[:d])
        for row in range(panel.lanes.shape[1]):
            panel.factors[column, row] = panel.lanes[column // LANES, row, column % LANES]
        panel.constants[column] = -0.5 * d * _LOG_2_PI
        for i in range(d):
            panel.constants[column] -= math.log(factor[i, i])

    def add_component_densities(self, panel, data, item, width, values):
        squared_lengths(panel.lanes, data.values[item], width // LANES, panel.distances)
        for k in range(width // LANES * LANES):
            values[k] += panel.constants[k] - 0.5 * panel.distances[k]

    def add_densities_of_items(self, panel, data, items, n_components, values):
        for lane in range(LANES):
            for j in range(self.mu.shape[0]):
                panel.values[j, lane] = data.values[items[lane], j]
        for k in range(n_components):
            squared_lengths_of_items(panel.factors[k], panel.values, panel.distances)
            for lane in range(LANES):
                values[k, lane] += panel.constants[k] - 0.5 * panel.distances[lane]
