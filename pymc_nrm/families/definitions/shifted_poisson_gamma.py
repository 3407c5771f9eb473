"""Counts of at least one: Poisson observations of the count less one, with a Gamma base measure."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy

from pymc_nrm.families.arguments import LARGEST_COUNT, check_matrix
from pymc_nrm.families.base import Hyperparameter, conjugate_family, segment_sum
from pymc_nrm.families.components import write_logarithms
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.poisson_gamma import PoissonGamma
from pymc_nrm.families.fast import add_log_rising_factorials, add_logarithms, multiply_rising_factorial
from pymc_nrm.families.shared.moments import symbolic_log_growth
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import digamma, log_rising_factorial, symbolic_log_rising_factorial


class CountsWithGaps(NamedTuple):
    """Data of a kernel: counts y (n, d), NaN where they are missing, and the sum of log y! of an item, shape (n,)."""

    values: Any
    log_factorials: Any

    def features(self, rng):
        roots = np.sqrt(self.values)
        known = ~np.isnan(roots)
        means = np.where(known, roots, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.where(known, roots, means)

    def take_items(self, items):
        return CountsWithGaps(self.values[items], self.log_factorials[items])


@conjugate_family(
    hyperparameters={"alpha": Hyperparameter(("d",), "positive"), "beta": Hyperparameter(("d",), "positive")},
    parameters={"rate": ("d",)},
    continuous=False,
    missing_allowed=True,
)
class ShiftedPoissonGamma(NamedTuple):
    """Counts of at least one, each with its own Gamma distributed rate in every cluster.

    ``x[i, j] - 1 ~ Poisson(rate[c, j])``, ``rate[c, j] ~ Gamma(alpha[j], rate beta[j])``.  Missing values (NaN) are
    left out of the likelihood.

    Parameters
    ----------
    alpha, beta : positive float, tensor or random variable, scalar or shape (d,)
        Prior sum of counts less one, and the prior number of observations behind it.

    Notes
    -----
    The log marginal of a feature is that of :class:`PoissonGamma` for the n values that are known, with 1 subtracted.
    """

    alpha: Any = 1.0
    beta: Any = 1.0

    def prepare_data(self, X):
        values = check_matrix(self, X, integer=True, lower=1, upper=LARGEST_COUNT) - 1.0
        return CountsWithGaps(values, np.nansum(scipy.special.gammaln(values + 1.0), axis=1))

    # A row of statistics: sums of counts less one (d), numbers of values (d), sum of log (x - 1)!.
    # A row of the cache: alpha_n log(beta_n / (beta_n + 1)) (d), alpha_n (d), log(beta_n + 1) (d).
    def statistics_size(self):
        return 2 * self.alpha.shape[0] + 1

    def add_item(self, statistics, data, item, sign):
        d = data.values.shape[1]
        for j in range(d):
            y = data.values[item, j]
            if not math.isnan(y):
                statistics[j] += sign * y
                statistics[d + j] += sign
        statistics[2 * d] += sign * data.log_factorials[item]

    def cache_size(self):
        return 3 * self.alpha.shape[0]

    def refresh_cache(self, statistics, cache):
        d = self.alpha.shape[0]
        for j in range(d):
            alpha_n, beta_n = self.alpha[j] + statistics[j], self.beta[j] + statistics[d + j]
            cache[j] = -alpha_n * math.log1p(1.0 / beta_n)
            cache[d + j] = alpha_n
            cache[2 * d + j] = math.log(beta_n + 1.0)

    def log_predictive(self, cache, data, item):
        d = data.values.shape[1]
        total, product = -data.log_factorials[item], 1.0
        for j in range(d):
            y = data.values[item, j]
            if not math.isnan(y):
                total += cache[j] - y * cache[2 * d + j]
                total, product = multiply_rising_factorial(total, product, cache[d + j], y)
        return total + math.log(product)

    def log_predictive_without(self, statistics, cache, data, item):
        d = data.values.shape[1]
        total, product = -data.log_factorials[item], 1.0
        for j in range(d):
            y = data.values[item, j]
            if not math.isnan(y):
                others = self.alpha[j] + (statistics[j] - y)
                beta_n = self.beta[j] + statistics[d + j]
                total -= others * math.log1p(1.0 / (beta_n - 1.0)) + y * math.log(beta_n)
                total, product = multiply_rising_factorial(total, product, others, y)
        return total + math.log(product)

    # Rows of a panel: the cache, log alpha_n (d), and memory.
    def panel_shape(self):
        return 1 + 4 * self.alpha.shape[0], 0, 0

    def write_panel(self, cache, rows, lanes, column):
        d = self.alpha.shape[0]
        for i in range(3 * d):
            rows[i, column] = cache[i]
        for j in range(d):
            rows[3 * d + j, column] = math.log(cache[d + j])

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        d = data.values.shape[1]
        product = rows[4 * d]
        for k in range(width // LANES * LANES):
            values[k] -= data.log_factorials[item]
            product[k] = 1.0
        n_factors = 0
        for j in range(d):
            y = data.values[item, j]
            if math.isnan(y):
                continue
            constant, log_next = rows[j], rows[2 * d + j]
            for k in range(width // LANES * LANES):
                values[k] += constant[k] - y * log_next[k]
            if y > 0.0:
                n_factors = add_log_rising_factorials(
                    rows[3 * d + j], rows[d + j], y, n_factors, product, width, values
                )
        add_logarithms(product, width, values)

    def log_likelihood(self, X, labels):
        alpha, beta = self
        n_clusters, X = labels.max() + 1, X.astype("float64")
        known = pt.invert(pt.isnan(X))
        y = pt.switch(known, X - 1.0, 0.0)
        counts = segment_sum(known.astype("float64"), labels, n_clusters)
        sums = segment_sum(y, labels, n_clusters)
        terms = symbolic_log_rising_factorial(alpha, sums) - sums * pt.log(beta + counts)
        terms -= alpha * symbolic_log_growth(beta, counts)
        return terms.sum() - pt.gammaln(y + 1.0).sum()

    def log_marginal(self, statistics):
        d = self.alpha.shape[0]
        total = -statistics[2 * d]
        for j in range(d):
            alpha, beta, total_count, n = self.alpha[j], self.beta[j], statistics[j], statistics[d + j]
            if n > 0.0:
                total += log_rising_factorial(alpha, total_count) - total_count * math.log(beta + n)
                total -= alpha * math.log1p(n / beta)
        return total

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

    parameters_size = PoissonGamma.parameters_size

    def draw_parameters(self, statistics, rng, parameters):
        d = self.alpha.shape[0]
        for j in range(d):
            parameters[j] = rng.standard_gamma(self.alpha[j] + statistics[j]) / (self.beta[j] + statistics[d + j])

    def log_parameter_density(self, statistics, parameters):
        d = self.alpha.shape[0]
        total = 0.0
        for j in range(d):
            alpha, beta = self.alpha[j] + statistics[j], self.beta[j] + statistics[d + j]
            total += alpha * math.log(beta) - math.lgamma(alpha)
            total += (alpha - 1.0) * math.log(parameters[j]) - beta * parameters[j]
        return total

    split_parameters = PoissonGamma.split_parameters
    join_parameters = PoissonGamma.join_parameters

    def draw_item(self, parameters, rng, item, values):
        for j in range(values.shape[0]):
            values[j] = 1.0 + rng.poisson(parameters[j])

    def component_panel(self, n_columns):
        return np.empty((2 * self.alpha.shape[0], n_columns))

    def write_component(self, parameters, panel, column):
        # Logarithms of the rates, then the rates.
        write_logarithms(parameters, panel, column)
        d = parameters.shape[0]
        for j in range(d):
            panel[d + j, column] = parameters[j]

    def add_component_densities(self, panel, data, item, width, values):
        d = data.values.shape[1]
        for k in range(width // LANES * LANES):
            values[k] -= data.log_factorials[item]
        for j in range(d):
            y = data.values[item, j]
            if math.isnan(y):
                continue
            log_rate, rate = panel[j], panel[d + j]
            for k in range(width // LANES * LANES):
                values[k] += (y * log_rate[k] if y > 0.0 else 0.0) - rate[k]

    def component_mean(self, parameters):
        return 1.0 + parameters["rate"]

    def component_cdf(self, parameters, feature, x):
        return shifted_poisson_cdf(parameters["rate"][:, feature], x)

    log_affinities = PoissonGamma.log_affinities


def shifted_poisson_cdf(rate, x):
    """Distribution functions at x (m,) of one plus Poisson variables of some rates (n,), shape (n, m)."""
    x = np.floor(np.asarray(x, dtype="float64"))
    return np.where(x < 1.0, 0.0, scipy.special.pdtr(np.maximum(x - 1.0, 0.0), rate[:, None]))
