"""Predictive distributions of binary features, categories and counts, with their parameters integrated out."""

import numpy as np

from pymc_nrm_predictor.gamma import log_factorial, log_rising_factorial


class Bernoullis:
    """Binary features; ``ones`` and ``zeros`` (n_components, d) are parameters of beta distributions."""

    def __init__(self, ones, zeros):
        total = np.log(ones + zeros)
        self._log_one, self._log_zero = np.log(ones) - total, np.log(zeros) - total

    def log_density(self, values):
        """Log probabilities of rows (m, d), NaN left out, in every component, shape (m, n_components)."""
        ones, zeros = (values == 1.0).astype("float64"), (values == 0.0).astype("float64")
        return ones @ self._log_one.T + zeros @ self._log_zero.T


class Categories:
    """Categorical features; ``weights`` (n_components, d, n_levels) are parameters of Dirichlet distributions."""

    def __init__(self, weights):
        with np.errstate(divide="ignore"):
            self._logs = np.log(weights) - np.log(weights.sum(axis=2, keepdims=True))

    def log_density(self, values):
        """Log probabilities of rows (m, d) of levels, NaN left out, in every component, shape (m, n_components)."""
        table = np.zeros((len(values), len(self._logs)))
        for j, column in enumerate(values.T):
            known = np.flatnonzero(~np.isnan(column))
            table[known] += self._logs[:, j, column[known].astype(np.int64)].T
        return table


class NegativeBinomials:
    """Counts; ``shape`` and ``rate`` (n_components, d) are parameters of gamma distributions of Poisson rates."""

    def __init__(self, shape, rate):
        self._shape, self._log_next, self._log_zero = shape, np.log(rate + 1.0), -shape * np.log1p(1.0 / rate)

    def log_density(self, values):
        """Log probabilities of rows (m, d), NaN left out, in every component, shape (m, n_components)."""
        table = np.zeros((len(values), len(self._shape)))
        for j, column in enumerate(values.T):
            known = np.flatnonzero(~np.isnan(column))
            counts, place = np.unique(column[known], return_inverse=True)
            rows = log_rising_factorial(self._shape[:, j], counts[:, None]) - log_factorial(counts)[:, None]
            rows += self._log_zero[:, j] - counts[:, None] * self._log_next[:, j]
            table[known] += rows[place]
        return table


class Multinomials:
    """Vectors of counts; ``weights`` (n_components, d) are parameters of Dirichlet distributions."""

    def __init__(self, weights):
        self._weights, self._total = weights, weights.sum(axis=1)

    def log_density(self, values):
        """Log probabilities of rows (m, d) in every component, shape (m, n_components)."""
        table = np.empty((len(values), len(self._weights)))
        for row, counts in zip(table, values, strict=True):
            [places] = np.nonzero(counts)
            known, total = counts[places], counts.sum()
            row[:] = log_rising_factorial(self._weights[:, places], known).sum(axis=1)
            row += log_factorial(total) - log_factorial(known).sum() - log_rising_factorial(self._total, total)
        return table
