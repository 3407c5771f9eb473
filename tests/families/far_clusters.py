"""Gaussian clusters far from each other: data, and log marginals in rational arithmetic."""

import math
from fractions import Fraction

import numpy as np


def separated(n, d, distance, oblique, seed=1):
    """Two alternating groups of unit variance, the second ``distance`` away along an axis or a diagonal."""
    rng = np.random.default_rng(seed)
    direction = np.linspace(1.0, 0.3, d) if oblique else np.eye(d)[0]
    return rng.normal(size=(n, d)) + (np.arange(n) % 2)[:, None] * distance * direction


def with_outlier(n, d, distance, oblique, seed=1):
    """One group of unit variance whose item 3 is ``distance`` away along an axis or a diagonal."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[3] += distance * (np.linspace(1.0, 0.3, d) if oblique else np.eye(d)[0])
    return X


def log_of(x):
    return math.log(x.numerator) - math.log(x.denominator) if x > 0 else -math.inf


def determinant(A):
    """Determinant of a matrix of fractions, a list of rows, by elimination."""
    A, total = [list(row) for row in A], Fraction(1)
    for i in range(len(A)):
        total *= A[i][i]
        for k in range(i + 1, len(A)):
            factor = A[k][i] / A[i][i]
            A[k] = [a - factor * b for a, b in zip(A[k], A[i], strict=True)]
    return total


def moments(X):
    """Means and centred second moments of the rows of X, as fractions."""
    n, d = X.shape
    rows = [[Fraction(float(x)) for x in row] for row in X]
    mean = [sum(row[j] for row in rows) / n for j in range(d)]
    scatter = [[sum((r[i] - mean[i]) * (r[j] - mean[j]) for r in rows) for j in range(d)] for i in range(d)]
    return mean, scatter


def normal_gamma_marginal(family, X):
    """Log marginal of the rows of X as one cluster; each hyperparameter has shape (d,)."""
    n, total = len(X), 0.0
    if n == 0:
        return 0.0
    mean, scatter = moments(X)
    for j in range(X.shape[1]):
        mu, kappa, alpha, beta = (Fraction(float(field[j])) for field in family)
        beta_n = beta + scatter[j][j] / 2 + kappa * n / (2 * (kappa + n)) * (mean[j] - mu) ** 2
        alpha_n = float(alpha) + n / 2
        total += math.lgamma(alpha_n) - math.lgamma(alpha) + float(alpha) * log_of(beta) - alpha_n * log_of(beta_n)
        total += log_of(kappa / (kappa + n)) / 2 - n / 2 * math.log(2 * math.pi)
    return total


def normal_wishart_marginal(family, X):
    """Log marginal of the rows of X as one cluster."""
    n, d = X.shape
    if n == 0:
        return 0.0
    mean, scatter = moments(X)
    kappa, nu = Fraction(family.kappa), family.nu
    Psi = [[Fraction(float(x)) for x in row] for row in family.Psi]
    shift = [mean[j] - Fraction(float(family.mu[j])) for j in range(d)]
    weight = kappa * n / (kappa + n)
    Psi_n = [[Psi[i][j] + scatter[i][j] + weight * shift[i] * shift[j] for j in range(d)] for i in range(d)]
    total = d / 2 * (log_of(kappa / (kappa + n)) - n * math.log(math.pi))
    total += (nu * log_of(determinant(Psi)) - (nu + n) * log_of(determinant(Psi_n))) / 2
    for i in range(d):
        total += math.lgamma((nu + n - i) / 2) - math.lgamma((nu - i) / 2)
    return total
