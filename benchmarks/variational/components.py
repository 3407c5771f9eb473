"""Conjugate components for variational inference: log marginals and expectations at soft counts in K clusters."""

import numpy as np
from scipy.special import betaln, digamma, gammaln


class Bernoulli:
    """Binary features with Beta(a, b) probabilities.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    family : BernoulliBeta
    """

    def __init__(self, X, family):
        self.X = np.asarray(X, dtype=float)
        self.a, self.b = (np.broadcast_to(v, self.X.shape[1]) for v in family)

    def fit(self, R):
        """Take over soft assignments, shape (n, K)."""
        ones = R.T @ self.X
        self.a_n, self.b_n = self.a + ones, self.b + R.sum(axis=0)[:, None] - ones
        return self

    def log_marginal(self):
        """Log of the normalising constants of all clusters, summed."""
        return float((betaln(self.a_n, self.b_n) - betaln(self.a, self.b)).sum())

    def expected_log_density(self):
        """``E log p(x_i | theta_k)``, shape (n, K)."""
        total = digamma(self.a_n + self.b_n)
        return self.X @ (digamma(self.a_n) - total).T + (1 - self.X) @ (digamma(self.b_n) - total).T

    def log_predictive(self, X_new):
        """Shape (m, K)."""
        total = np.log(self.a_n + self.b_n)
        return X_new @ (np.log(self.a_n) - total).T + (1 - X_new) @ (np.log(self.b_n) - total).T


class Normal:
    """Independent normal features with normal-gamma parameters.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    family : NormalGamma
    """

    def __init__(self, X, family):
        self.X = np.asarray(X, dtype=float)
        self.mu, self.kappa, self.alpha, self.beta = (np.broadcast_to(v, self.X.shape[1]) for v in family)

    def fit(self, R):
        """Take over soft assignments, shape (n, K)."""
        n = R.sum(axis=0)[:, None]
        mean = R.T @ self.X / np.maximum(n, 1e-300)
        scatter = np.stack([r @ (self.X - m) ** 2 for r, m in zip(R.T, mean, strict=True)])
        self.kappa_n, self.alpha_n = self.kappa + n, self.alpha + n / 2
        self.mu_n = (self.kappa * self.mu + n * mean) / self.kappa_n
        self.beta_n = self.beta + scatter / 2 + self.kappa * n / (2 * self.kappa_n) * (mean - self.mu) ** 2
        self.n = n
        return self

    def log_marginal(self):
        """Log of the normalising constants of all clusters, summed."""
        terms = gammaln(self.alpha_n) - gammaln(self.alpha) + self.alpha * np.log(self.beta)
        terms += (np.log(self.kappa) - np.log(self.kappa_n)) / 2 - self.n / 2 * np.log(2 * np.pi)
        return float((terms - self.alpha_n * np.log(self.beta_n)).sum())

    def expected_log_density(self):
        """``E log p(x_i | theta_k)``, shape (n, K)."""
        precision = self.alpha_n / self.beta_n
        log_precision = digamma(self.alpha_n) - np.log(self.beta_n)
        constant = (log_precision - 1 / self.kappa_n - np.log(2 * np.pi)).sum(axis=1) / 2
        squares = np.stack([(self.X - m) ** 2 @ p for m, p in zip(self.mu_n, precision, strict=True)], axis=1)
        return constant - squares / 2

    def log_predictive(self, X_new):
        """Student t, shape (m, K)."""
        scale = self.kappa_n / (2 * self.beta_n * (self.kappa_n + 1))
        constant = gammaln(self.alpha_n + 0.5) - gammaln(self.alpha_n) + 0.5 * np.log(scale / np.pi)
        parts = [
            (c - (a + 0.5) * np.log1p(s * (X_new - m) ** 2)).sum(axis=1)
            for c, a, s, m in zip(constant, self.alpha_n, scale, self.mu_n, strict=True)
        ]
        return np.stack(parts, axis=1)
