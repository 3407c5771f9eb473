"""Poisson observations with a Gamma base measure, independent across features."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy

from pymc_nrm.families.arguments import LARGEST_COUNT, check_matrix, check_total, on_grid
from pymc_nrm.families.base import Hyperparameter, conjugate_family, segment_sum, whole_numbers
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text
from pymc_nrm.families.shared.moments import symbolic_log_growth
from pymc_nrm.families.shared.two_components import beta_shapes, log_beta_density
from pymc_nrm.kernels.special import (
    draw_beta,
    draw_gamma,
    log_gamma_ratio,
    log_rising_factorial,
    symbolic_log_rising_factorial,
)

# Draws of Poisson variables are whole numbers of 64 bits.
_LARGEST_RATE = 9e18


@conjugate_family(
    hyperparameters={"alpha": Hyperparameter(("d",), "positive"), "beta": Hyperparameter(("d",), "positive")},
    parameters={"rate": ("d",)},
    continuous=False,
    missing_allowed=True,
)
class PoissonGamma(NamedTuple):
    """Counts up to 1e9; each feature has its own Gamma distributed rate in every cluster.

    ``x[i, j] ~ Poisson(rate[c, j])``, ``rate[c, j] ~ Gamma(alpha[j], rate beta[j])``.  The likelihood leaves out
    missing values (NaN).

    Parameters
    ----------
    alpha, beta : positive float, tensor or random variable, scalar or shape (d,)
        Prior sum of counts, and the prior number of observations behind it.

    Notes
    -----
    The log marginal of a cluster with n values of sum s in each feature is
    ``sum_j log Gamma(alpha + s) / Gamma(alpha) + alpha log beta - (alpha + s) log(beta + n)`` minus the sum of all
    ``log x!``.  The predictive is negative binomial.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[[0, 3], [1, 4], [7, 0]])
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](3, 1)
    z_n_clusters = Deterministic(f(z))
    x ~ Mixture[PoissonGamma](z, <constant>, <constant>)
    """

    alpha: Any = 1.0
    beta: Any = 1.0

    @classmethod
    @shared_text()
    def learned(cls, name: str, X: Any) -> "PoissonGamma":
        """Hyperparameters learned with the partition: hyperpriors in the model at hand, centred at the mean counts.

        With m_j the mean count of feature j, half a count added::

            alpha_j = concentration_j,   beta_j = concentration_j / m_j,   concentration_j ~ LogNormal(0, 1)

        Rates of clusters have mean m_j and coefficient of variation ``1 / sqrt(concentration_j)``.

        Examples
        --------
        >>> import pymc as pm
        >>> X = [[0, 3], [1, 4], [7, 0]]
        >>> with pm.Model() as model:
        ...     family = PoissonGamma.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_concentration']
        """
        prior = Hyperpriors(name, X)
        values = prior.prepared(cls()).values
        # Half a count in each feature keeps means above 0.
        means = (np.nansum(values, axis=0) + 0.5) / np.maximum((~np.isnan(values)).sum(axis=0), 1)
        return cls(**cls.learned_fields(prior.concentrations(), means=means))

    @staticmethod
    @as_operations
    def learned_fields(concentration, *, means):
        """Hyperparameters given the concentrations that ``learned`` adds, and mean counts (d,)."""
        return {"alpha": concentration, "beta": concentration / means}

    def prepare_data(self, X):
        values = check_matrix(self, X, integer=True, lower=0, upper=LARGEST_COUNT)
        check_total(self, np.nansum(values, axis=0))
        return Counts(values, on_grid(np.nansum(scipy.special.gammaln(values + 1), axis=1)))

    # A row of statistics: sums (d), numbers of values (d), sum of log x!.
    def statistics_size(self):
        return 2 * self.alpha.shape[0] + 1

    def add_item(self, statistics, data, item, sign):
        d = data.values.shape[1]
        for j in range(d):
            x = data.values[item, j]
            if not math.isnan(x):
                statistics[j] += sign * x
                statistics[d + j] += sign
        statistics[2 * d] += sign * data.log_factorials[item]

    def log_likelihood(self, X, labels):
        alpha, beta = self
        X, is_possible = whole_numbers(X)
        n_clusters = labels.max() + 1
        if X.dtype.startswith("float"):
            is_known = pt.invert(pt.isnan(X))
            counts, X = segment_sum(is_known.astype("float64"), labels, n_clusters), pt.switch(is_known, X, 0.0)
        else:
            counts = segment_sum(pt.ones_like(labels, dtype="float64"), labels, n_clusters)[:, None]
            X = X.astype("float64")
        sums = segment_sum(X, labels, n_clusters)
        terms = symbolic_log_rising_factorial(alpha, sums) - sums * pt.log(beta + counts)
        terms -= alpha * symbolic_log_growth(beta, counts)
        return pt.switch(is_possible, terms.sum() - pt.gammaln(X + 1).sum(), -np.inf)

    def log_marginal(self, statistics):
        d = self.alpha.shape[0]
        total = -statistics[2 * d]
        for j in range(d):
            alpha, beta, count, n = self.alpha[j], self.beta[j], statistics[j], statistics[d + j]
            if n > 0.0:
                total += log_rising_factorial(alpha, count) - count * math.log(beta + n) - alpha * math.log1p(n / beta)
        return total

    def log_marginals_of_feature(self, rows, feature, factor):
        d = self.alpha.shape[0]
        a, b = factor * self.alpha[feature], factor * self.beta[feature]
        of_a, total = math.lgamma(a), 0.0
        for k in range(rows.shape[0]):
            count, n = rows[k, feature], rows[k, d + feature]
            total += log_gamma_ratio(a, count, of_a) if count > 0.0 else 0.0
            total -= a * math.log1p(n / b) + count * math.log(b + n)
        return total

    def parameters_size(self):
        return self.alpha.shape[0]

    def draw_parameters(self, statistics, rng, parameters):
        d = self.alpha.shape[0]
        for j in range(d):
            parameters[j] = draw_gamma(rng, self.alpha[j] + statistics[j]) / (self.beta[j] + statistics[d + j])

    def log_parameter_density(self, statistics, parameters):
        d = self.alpha.shape[0]
        total = 0.0
        for j in range(d):
            alpha, beta = self.alpha[j] + statistics[j], self.beta[j] + statistics[d + j]
            total += alpha * math.log(beta) - math.lgamma(alpha)
            total += (alpha - 1.0) * math.log(parameters[j]) - beta * parameters[j]
        return total

    # The first part has a share of the rate that is a beta variable of mean p, so that v is this share.
    def split_parameters(self, parameters, p, q, rng, first, second):
        for j in range(parameters.shape[0]):
            a, b = beta_shapes(min(2.0, self.alpha[j]), p, q)
            share, complement = draw_beta(rng, a, b)
            first[j], second[j] = parameters[j] * share / p, parameters[j] * complement / q

    def join_parameters(self, p, q, first, second, parameters):
        total = 0.0
        for j in range(parameters.shape[0]):
            a, b = beta_shapes(min(2.0, self.alpha[j]), p, q)
            first_rate, second_rate = p * first[j], q * second[j]
            parameters[j] = first_rate + second_rate
            total += log_beta_density(first_rate / parameters[j], second_rate / parameters[j], a, b)
            total += math.log(p) + math.log(q) - math.log(parameters[j])
        return total

    def log_density(self, parameters, data, item):
        total = -data.log_factorials[item]
        for j in range(parameters.shape[0]):
            x, rate = data.values[item, j], parameters[j]
            if math.isnan(x):
                continue
            # A rate may be so small that it is 0.
            log_power = x * math.log(rate) if rate > 0.0 else -math.inf
            total += (log_power if x > 0.0 else 0.0) - rate
        return total

    def draw_item(self, parameters, rng, item, values):
        for j in range(values.shape[0]):
            if not parameters[j] < _LARGEST_RATE:
                raise ValueError("a drawn rate of PoissonGamma is above 9e18, beyond whole numbers: lower alpha / beta")
            values[j] = rng.poisson(parameters[j])

    def component_mean(self, parameters):
        return parameters["rate"]

    def component_cdf(self, parameters, feature, x):
        below = scipy.special.pdtr(np.floor(np.maximum(x, 0.0)), parameters["rate"][:, feature, None])
        return np.where(x < 0.0, 0.0, below)

    def log_affinities(self, parameters):
        roots = np.sqrt(parameters["rate"])
        total = np.zeros((len(roots), len(roots)))
        for root in roots.T:
            total -= 0.5 * (root[:, None] - root) ** 2
        return total


class Counts(NamedTuple):
    """Data of a kernel: counts (n, d), NaN where they are missing, and the sum of log x! of an item, shape (n,)."""

    values: Any
    log_factorials: Any

    def features(self, rng):
        roots = np.sqrt(self.values)
        is_known = ~np.isnan(roots)
        means = np.where(is_known, roots, 0.0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
        return np.where(is_known, roots, means)

    def take_items(self, items):
        return Counts(self.values[items], self.log_factorials[items])
