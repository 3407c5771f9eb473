"""The laws of tree families by dense matrix algebra: C is built as an n x n matrix."""

import numpy as np
from scipy import stats
from scipy.special import gammaln

import pymc_nrm as nrm


def item_covariance(paths, tau):
    """Covariance matrix of the items in one feature, for S = I."""
    n, depth = paths.shape
    C = np.eye(n) + tau[0]
    for level in range(depth):
        C += tau[level + 1] * (paths[:, level, None] == paths[None, :, level])
    return C


def dense_log_likelihood(family, paths, X):
    """Log density of a matrix t, or of independent multivariate t."""
    n, d = X.shape
    C = item_covariance(paths, family.tau)
    if isinstance(family, nrm.nested.IndependentNormalDiffusion):
        features = zip(X.T, family.mu, family.alpha, family.beta, strict=True)
        laws = ((x, stats.multivariate_t(np.full(n, mu), C * b / a, 2.0 * a)) for x, mu, a, b in features)
        return sum(law.logpdf(x) for x, law in laws)
    assert isinstance(family, nrm.nested.NormalDiffusion)
    nu, R = family.nu, X - family.mu
    halves = np.arange(d) / 2.0
    return (
        (gammaln((nu + n) / 2 - halves) - gammaln(nu / 2 - halves)).sum()
        - n * d / 2 * np.log(np.pi)
        - d / 2 * np.linalg.slogdet(C).logabsdet
        + nu / 2 * np.linalg.slogdet(family.Psi).logabsdet
        - (nu + n) / 2 * np.linalg.slogdet(family.Psi + R.T @ np.linalg.solve(C, R)).logabsdet
    )


def random_paths(rng, n, depth):
    """Nested labels without gaps: each node shares its items among at most three children."""
    paths = np.zeros((n, depth), dtype="int64")
    above = np.zeros(n, dtype="int64")
    for level in range(depth):
        above = np.unique(3 * above + rng.integers(0, 3, size=n), return_inverse=True)[1]
        paths[:, level] = above
    return paths


def families(d, depth):
    """One family of each kind with arbitrary hyperparameters, of full shape."""
    rng = np.random.default_rng(10 * d + depth)
    root = rng.normal(size=(d, d + 1))
    mu, tau = rng.normal(size=d), rng.gamma(2.0, size=depth + 1)
    return {
        "full": nrm.nested.NormalDiffusion(mu, tau, root @ root.T + np.eye(d), d + 1.7),
        "independent": nrm.nested.IndependentNormalDiffusion(mu, tau, rng.gamma(3.0, size=d), rng.gamma(2.0, size=d)),
    }
