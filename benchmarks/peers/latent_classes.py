"""Latent classes by EM, with the number of classes by BIC: independent categorical or Poisson features in each."""

import time

import numpy as np
from common.real_data_fits import Fit, shared_responsibility
from scipy.special import gammaln, logsumexp

MOST_CLASSES, PATIENCE = 15, 5


class Categorical:
    """Features with levels 0, 1, ...; parameters are log probabilities of the levels."""

    def __init__(self, X, n_levels):
        self.n_levels = n_levels
        self.one_hot = self.encode(X)
        self.n_parameters = sum(n_levels) - len(n_levels)

    def encode(self, X):
        return np.hstack([np.eye(levels)[column] for column, levels in zip(X.T, self.n_levels, strict=True)])

    def maximise(self, responsibilities):
        """Probabilities of levels, with one more item in each class that is spread evenly over the levels."""
        levels = np.repeat(self.n_levels, self.n_levels)
        totals = responsibilities.sum(axis=0)[:, None] + 1
        return np.log((responsibilities.T @ self.one_hot + 1 / levels) / totals)

    def log_density(self, encoded, parameters):
        return encoded @ parameters.T


class Poisson:
    """Counts; parameters are rates."""

    def __init__(self, X):
        self.one_hot = np.asarray(X, dtype=float)
        self.mean = self.one_hot.mean(axis=0) + 1 / len(X)
        self.n_parameters = X.shape[1]

    def encode(self, X):
        return np.asarray(X, dtype=float)

    def maximise(self, responsibilities):
        """Rates, with one more item in each class that has the mean of all items."""
        return (responsibilities.T @ self.one_hot + self.mean) / (responsibilities.sum(axis=0)[:, None] + 1)

    def log_density(self, encoded, parameters):
        return encoded @ np.log(parameters).T - parameters.sum(axis=1) - gammaln(encoded + 1).sum(axis=1)[:, None]


def fit(data, seed, n_init=3, n_iter=200):
    """Latent classes of a set of binary, categorical or count features without gaps."""
    start = time.process_time()
    if data.kind == "counts":
        family = Poisson(data.values)
    else:
        levels = [2] * data.X.shape[1]
        if data.kind == "categorical":
            levels = [len(column.cat.categories) for _, column in data.X.items()]
        family = Categorical(data.values.astype(int), levels)
    rng = np.random.default_rng(seed)
    best, least = None, np.inf
    for k in range(1, MOST_CLASSES + 1):
        log_likelihood, found = max(
            (_em(family, k, rng, n_iter) for _ in range(n_init if k > 1 else 1)), key=lambda pair: pair[0]
        )
        criterion = -2 * log_likelihood + (k * family.n_parameters + k - 1) * np.log(len(data.X))
        if criterion < least:
            best, least = found, criterion
        elif k >= len(best[0]) + PATIENCE:
            break
    weights, parameters = best

    def joint(X):
        return family.log_density(X, parameters) + np.log(weights)

    def log_density(X):
        values = data._replace(X=X).values
        return logsumexp(joint(family.encode(values if data.kind == "counts" else values.astype(int))), axis=1)

    log_p = joint(family.one_hot)
    seconds = time.process_time() - start
    responsibilities = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
    return Fit(log_p.argmax(axis=1), seconds, log_density, shared_responsibility(responsibilities))


def _em(family, k, rng, n_iter):
    """One run of EM from random responsibilities: the log likelihood, and weights and parameters."""
    n = len(family.one_hot)
    responsibilities = rng.dirichlet(np.full(k, 0.3), n)
    last = -np.inf
    for _ in range(n_iter):
        weights = (responsibilities.sum(axis=0) + 1e-9) / (n + k * 1e-9)
        parameters = family.maximise(responsibilities)
        log_p = family.log_density(family.one_hot, parameters) + np.log(weights)
        totals = logsumexp(log_p, axis=1, keepdims=True)
        responsibilities = np.exp(log_p - totals)
        log_likelihood = totals.sum()
        if log_likelihood - last < 1e-6 * n:
            break
        last = log_likelihood
    return log_likelihood, (weights, parameters)
