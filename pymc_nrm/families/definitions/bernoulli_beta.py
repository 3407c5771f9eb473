"""Bernoulli observations with a Beta base measure, independent across features."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Dense, Hyperparameter, conjugate_family, segment_sum, whole_numbers
from pymc_nrm.families.conjugate import categorical_log_affinities
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text
from pymc_nrm.families.shared.two_components import join_probabilities, log_beta_density, split_probabilities
from pymc_nrm.kernels.special import (
    draw_probability,
    log_gamma_ratio,
    log_rising_factorial,
    symbolic_log_rising_factorial,
)


@conjugate_family(
    hyperparameters={"alpha": Hyperparameter(("d",), "positive"), "beta": Hyperparameter(("d",), "positive")},
    parameters={"probability": ("d",)},
    continuous=False,
    missing_allowed=True,
)
class BernoulliBeta(NamedTuple):
    """Binary features, each with its own Beta distributed probability in every cluster.

    ``x[i, j] ~ Bernoulli(p[c, j])``, ``p[c, j] ~ Beta(alpha[j], beta[j])``.  Missing values (NaN) are left out of the
    likelihood.

    Parameters
    ----------
    alpha, beta : positive float, tensor or random variable, scalar or shape (d,)
        Prior numbers of ones and of zeros.

    Notes
    -----
    The log marginal of a cluster is ``sum_j log B(alpha_j + ones_j, beta_j + zeros_j) - log B(alpha_j, beta_j)``.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.BernoulliBeta(1.0, 1.0), observed=[[0, 1], [0, 1], [1, 0]])
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](3, 1)
    z_n_clusters = Deterministic(f(z))
    x ~ Mixture[BernoulliBeta](z, <constant>, <constant>)
    """

    alpha: Any = 1.0
    beta: Any = 1.0

    @classmethod
    @shared_text()
    def learned(cls, name: str, X: Any) -> "BernoulliBeta":
        """Hyperparameters learned with the partition: hyperpriors in the model at hand, centred at the frequencies.

        With p_j the frequency of ones in feature j, half a one and half a zero added::

            alpha_j = concentration_j p_j,   beta_j = concentration_j (1 - p_j),   concentration_j ~ LogNormal(2, 2)

        A feature in which clusters differ has a small concentration, one that says nothing about clusters a large one.
        Exchanging ones and zeros leaves the distribution of partitions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = [[0, 1], [0, 1], [1, 0]]
        >>> with pm.Model() as model:
        ...     family = BernoulliBeta.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_concentration']
        """
        prior = Hyperpriors(name, X)
        values = prior.prepared(cls()).values
        # Half an observation of each value keeps frequencies above 0 and below 1.
        ones, counts = np.nansum(values, axis=0) + 0.5, (~np.isnan(values)).sum(axis=0) + 1.0
        return cls(
            **cls.learned_fields(prior.concentrations_of_levels(), ones=ones / counts, zeros=1.0 - ones / counts)
        )

    @staticmethod
    @as_operations
    def learned_fields(concentration, *, ones, zeros):
        """Hyperparameters given the concentrations that ``learned`` adds, and frequencies of ones and zeros, (d,)."""
        return {"alpha": concentration * ones, "beta": concentration * zeros}

    def prepare_data(self, X):
        values = check_matrix(self, X, integer=True, lower=0)
        larger = np.argwhere(values > 1)
        if len(larger):
            row, column = larger[0]
            raise ValueError(
                f"data of BernoulliBeta must be 0, 1 or NaN; got {values[row, column]} in row {row}, column {column}"
            )
        return Dense(values)

    # A row of statistics: ones (d), zeros (d).
    def statistics_size(self):
        return 2 * self.alpha.shape[0]

    def add_item(self, statistics, data, item, sign):
        d = data.values.shape[1]
        ones, zeros = statistics[:d], statistics[d:]
        for j in range(d):
            x = data.values[item, j]
            ones[j] += sign if x == 1.0 else 0.0
            zeros[j] += sign if x == 0.0 else 0.0

    def log_likelihood(self, X, labels):
        X, is_possible = whole_numbers(X, largest=1)
        n_clusters = labels.max() + 1
        observed = pt.invert(pt.isnan(X)) if X.dtype.startswith("float") else pt.ones_like(X, dtype="bool")
        ones = segment_sum(pt.switch(observed, X, 0).astype("float64"), labels, n_clusters)
        zeros = segment_sum(observed.astype("float64"), labels, n_clusters) - ones
        each = symbolic_log_rising_factorial(self.alpha, ones) + symbolic_log_rising_factorial(self.beta, zeros)
        total = (each - symbolic_log_rising_factorial(self.alpha + self.beta, ones + zeros)).sum()
        return pt.switch(is_possible, total, -np.inf)

    def log_marginal(self, statistics):
        d = self.alpha.shape[0]
        total = 0.0
        for j in range(d):
            a, b = self.alpha[j], self.beta[j]
            ones, zeros = statistics[j], statistics[d + j]
            if ones + zeros > 0.0:
                total += log_rising_factorial(a, ones) + log_rising_factorial(b, zeros)
                total -= log_rising_factorial(a + b, ones + zeros)
        return total

    def log_marginals_of_feature(self, rows, feature, factor):
        d = self.alpha.shape[0]
        a, b = factor * self.alpha[feature], factor * self.beta[feature]
        of_a, of_b, of_both, total = math.lgamma(a), math.lgamma(b), math.lgamma(a + b), 0.0
        for k in range(rows.shape[0]):
            ones, zeros = rows[k, feature], rows[k, d + feature]
            # A single value has the same probability whatever the concentration.
            if ones + zeros > 1.0:
                total += log_gamma_ratio(a, ones, of_a) if ones > 0.0 else 0.0
                total += log_gamma_ratio(b, zeros, of_b) if zeros > 0.0 else 0.0
                total -= log_gamma_ratio(a + b, ones + zeros, of_both)
        return total

    def parameters_size(self):
        return self.alpha.shape[0]

    def draw_parameters(self, statistics, rng, parameters):
        d = self.alpha.shape[0]
        for j in range(d):
            parameters[j] = draw_probability(rng, self.alpha[j] + statistics[j], self.beta[j] + statistics[d + j])

    def log_parameter_density(self, statistics, parameters):
        d = self.alpha.shape[0]
        total = 0.0
        for j in range(d):
            a, b = self.alpha[j] + statistics[j], self.beta[j] + statistics[d + j]
            total += log_beta_density(parameters[j], 1.0 - parameters[j], a, b)
        return total

    def split_parameters(self, parameters, p, q, rng, first, second):
        alpha, levels, levels_a, levels_b = np.empty(2), np.empty(2), np.empty(2), np.empty(2)
        for j in range(parameters.shape[0]):
            alpha[0], alpha[1] = self.alpha[j], self.beta[j]
            levels[0], levels[1] = parameters[j], 1.0 - parameters[j]
            split_probabilities(levels, alpha, p, q, rng, levels_a, levels_b)
            first[j], second[j] = levels_a[0], levels_b[0]

    def join_parameters(self, p, q, first, second, parameters):
        alpha, levels, levels_a, levels_b = np.empty(2), np.empty(2), np.empty(2), np.empty(2)
        total = 0.0
        for j in range(parameters.shape[0]):
            alpha[0], alpha[1] = self.alpha[j], self.beta[j]
            levels_a[0], levels_a[1], levels_b[0], levels_b[1] = first[j], 1.0 - first[j], second[j], 1.0 - second[j]
            total += join_probabilities(alpha, p, q, levels_a, levels_b, levels)
            parameters[j] = levels[0]
        return total

    def log_density(self, parameters, data, item):
        total = 0.0
        for j in range(parameters.shape[0]):
            x, p = data.values[item, j], parameters[j]
            if x == 1.0:
                total += math.log(p) if p > 0.0 else -math.inf
            elif x == 0.0:
                total += math.log1p(-p) if p < 1.0 else -math.inf
        return total

    def draw_item(self, parameters, rng, item, values):
        for j in range(values.shape[0]):
            values[j] = 1.0 if rng.random() < parameters[j] else 0.0

    def component_mean(self, parameters):
        return parameters["probability"]

    def component_cdf(self, parameters, feature, x):
        p = parameters["probability"][:, feature, None]
        return np.where(x < 0.0, 0.0, np.where(x < 1.0, 1.0 - p, 1.0))

    def log_affinities(self, parameters):
        probability = parameters["probability"]
        return categorical_log_affinities(np.stack([probability, 1.0 - probability], axis=2))
