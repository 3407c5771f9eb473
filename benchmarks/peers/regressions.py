"""Regressions of other programs, each with a density of held-out targets.

A method takes ``(X, y)`` of training and of held-out rows and returns log densities and quantiles at `LEVELS`.
"""

import numpy as np
import pymc as pm
from scipy import stats
from scipy.special import logsumexp

from peers.scikit_learn import best_em

LEVELS = np.array([0.05, 0.25, 0.75, 0.95])


def linear(train, test, quick, seed):
    """Least squares; the law of a new target is a Student t."""
    (X, y), (X_new, y_new) = train, test
    design, new = (np.column_stack([np.ones(len(one)), one]) for one in (X, X_new))
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    df = len(y) - design.shape[1]
    variance = ((y - design @ coefficients) ** 2).sum() / df
    scale = np.sqrt(variance * (1.0 + np.einsum("ij,jk,ik->i", new, inverse, new)))
    law = stats.t(df, (new @ coefficients)[:, None], scale[:, None])
    return law.logpdf(y_new[:, None])[:, 0], law.ppf(LEVELS)


def gaussian_mixture(train, test, quick, seed):
    """scikit-learn's mixture of all columns, its number of components by BIC, conditioned on the covariates."""
    (X, y), (X_new, y_new) = train, test
    new = np.asarray(X_new)
    best = best_em(np.column_stack([X, y]), 3 if quick else 10, 2, seed, reg_covar=1e-4)
    log_w, location, scale = [], [], []
    for weight, mean, covariance in zip(best.weights_, best.means_, best.covariances_, strict=True):
        of_x = stats.multivariate_normal(mean[:-1], covariance[:-1, :-1])
        slope = np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])
        log_w.append(np.log(weight) + np.atleast_1d(of_x.logpdf(new)))
        location.append(mean[-1] + (new - mean[:-1]) @ slope)
        scale.append(np.full(len(new), np.sqrt(covariance[-1, -1] - covariance[-1, :-1] @ slope)))
    log_w = np.array(log_w) - logsumexp(log_w, axis=0)
    return _normals(log_w, np.array(location), np.array(scale), y_new)


def bart(train, test, quick, seed):
    """PyMC-BART with equal normal errors."""
    import pymc_bart

    (X, y), (X_new, y_new) = train, test
    shift, unit = y.mean(), y.std()
    with pm.Model() as model:
        covariates = pm.Data("covariates", np.asarray(X))
        mean = pymc_bart.BART("mean", covariates, (y - shift) / unit, m=10 if quick else 50)
        sigma = pm.HalfNormal("sigma", 1)
        pm.Normal("y", mean, sigma, observed=(y - shift) / unit, shape=mean.shape)
        size = {"draws": 50, "tune": 50} if quick else {"draws": 400, "tune": 400}
        options = {"chains": 2, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
        idata = pm.sample(**size, **options, random_seed=seed)
    with model:
        pm.set_data({"covariates": np.asarray(X_new)})
        found = pm.sample_posterior_predictive(
            idata, sample_vars=["mean"], random_seed=seed, progressbar=False, predictions=True
        )
    means = found["predictions"]["mean"].values.reshape(-1, len(y_new))
    sigmas = np.repeat(idata["posterior"]["sigma"].values.reshape(-1, 1), len(y_new), axis=1)
    log_w = np.full(means.shape, -np.log(len(means)))
    return _normals(log_w, shift + unit * means, unit * sigmas, y_new)


def boosting(train, test, quick, seed):
    """scikit-learn's gradient boosting of quantiles, and the kernel density of these (Silverman's rule)."""
    from sklearn.ensemble import GradientBoostingRegressor

    (X, y), (X_new, y_new) = train, test
    n_levels = 5 if quick else 21
    levels = (np.arange(n_levels) + 0.5) / n_levels
    options = {"n_estimators": 100, "max_depth": 3, "learning_rate": 0.05, "min_samples_leaf": 10}
    fits = [GradientBoostingRegressor(loss="quantile", alpha=p, random_state=seed, **options).fit(X, y) for p in levels]
    knots = np.sort(np.column_stack([fit.predict(X_new) for fit in fits]), axis=1)
    spread = np.minimum(knots.std(axis=1), np.diff(np.quantile(knots, [0.25, 0.75], axis=1), axis=0)[0] / 1.34)
    width = 0.9 * np.maximum(spread, 1e-2 * y.std()) * n_levels**-0.2
    log_w = np.full((n_levels, len(y_new)), -np.log(n_levels))
    log_p, _ = _normals(log_w, knots.T, np.tile(width, (n_levels, 1)), y_new)
    return log_p, np.array([np.interp(LEVELS, levels, own) for own in knots])


def _normals(log_w, location, scale, y):
    """Log densities and quantiles of mixtures of normal laws. Shapes: all but ``y`` (k, m)."""
    log_p = logsumexp(log_w + stats.norm.logpdf(y, location, scale), axis=0)
    low, high = (location - 12.0 * scale).min(axis=0), (location + 12.0 * scale).max(axis=0)
    low, high = (np.repeat(one[:, None], len(LEVELS), axis=1) for one in (low, high))
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = (np.exp(log_w)[..., None] * stats.norm.cdf(middle, location[..., None], scale[..., None])).sum(axis=0)
        low, high = np.where(below < LEVELS, middle, low), np.where(below < LEVELS, high, middle)
    return log_p, 0.5 * (low + high)


METHODS = {
    "Linear": linear,
    "GaussianMixture": gaussian_mixture,
    "BART": bart,
    "Boosting": boosting,
}
