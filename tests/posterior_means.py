"""Expected parameters by name, as users see them, given a family of full shape and the data of one cluster."""

import numpy as np


def bernoulli(family, X):
    ones = np.nansum(X, axis=0)
    return {"probability": (family.alpha + ones) / (family.alpha + family.beta + (~np.isnan(X)).sum(axis=0))}


def poisson(family, X):
    return {"rate": (family.alpha + X.sum(axis=0)) / (family.beta + len(X))}


def normal_gamma(family, X):
    mean, beta = [], []
    for x, mu, kappa, prior_alpha, prior_beta in zip(X.T, *family, strict=True):
        x = x[~np.isnan(x)]
        weight = len(x) * kappa / (kappa + len(x))
        mean.append((kappa * mu + x.sum()) / (kappa + len(x)))
        rate = prior_beta + 0.5 * ((x - x.mean()) ** 2).sum() + 0.5 * weight * (x.mean() - mu) ** 2
        beta.append(rate / (prior_alpha + 0.5 * len(x) - 1))
    return {"mean": np.array(mean), "variance": np.array(beta)}


def normal_wishart(family, X):
    n, d = X.shape
    mean, kappa_n = X.mean(axis=0), family.kappa + n
    shift = mean - family.mu
    scatter = (X - mean).T @ (X - mean) + family.kappa * n / kappa_n * np.outer(shift, shift)
    covariance = (family.Psi + scatter) / (family.nu + n - d - 1)
    return {"mean": (family.kappa * family.mu + n * mean) / kappa_n, "covariance": covariance}


def normal_regression(family, X):
    W, y = family.covariates[~np.isnan(X[:, 0])], X[~np.isnan(X[:, 0]), 0]
    precision = family.Lambda + W.T @ W
    mean = np.linalg.solve(precision, family.Lambda @ family.mu + W.T @ y)
    squares = ((y - W @ mean) ** 2).sum() + (family.mu - mean) @ family.Lambda @ (family.mu - mean)
    return {"coefficient": mean, "variance": (family.beta + squares / 2) / (family.alpha + len(y) / 2 - 1)}


def categorical(family, X):
    counts = (X[:, :, None] == np.arange(family.alpha.shape[1])).sum(axis=0)
    weights = family.alpha + counts
    return {"probability": weights / weights.sum(axis=1, keepdims=True)}


def multinomial(family, X):
    weights = family.alpha + X.sum(axis=0)
    return {"probability": weights / weights.sum()}


POSTERIOR_MEANS = {
    "BernoulliBeta": bernoulli,
    "PoissonGamma": poisson,
    "NormalGamma": normal_gamma,
    "NormalWishart": normal_wishart,
    "NormalRegression": normal_regression,
    "CategoricalDirichlet": categorical,
    "MultinomialDirichlet": multinomial,
}
