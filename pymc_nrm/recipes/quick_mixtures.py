"""Full or diagonal covariances of clusters, by the BIC of mixtures of normal distributions that EM fits."""

import numpy as np

# Full covariances are kept where each of their parameters has so many rows: they cost little, and predict better.
_ENOUGH_ROWS = 5
# Mixtures are fitted to at most so many rows, from so many starts; they have at most so many components, and one for
# so many rows, or for twice as many as columns: components of a few rows are noise.
_MOST_ROWS, _N_STARTS, _MOST_COMPONENTS, _ROWS_PER_COMPONENT = 1000, 2, 6, 8
# Several components must have a BIC this much smaller than one has: very strong evidence (Kass & Raftery 1995).
_EVIDENCE = 10.0
# EM ends after so many sweeps, or when a sweep adds less than this to the mean log density.
_MOST_SWEEPS, _TOLERANCE = 60, 1e-4
# Added to the variances of standardised columns within components.
_RIDGE = 1e-3


def components_with_diagonal_covariances(X):
    """Number of components, if a mixture of several with diagonal covariances has the least BIC by far; else 0.

    With a single component both kinds describe one group, and full covariances are right if columns are correlated.
    Where rows are many, the answer is 0 too.  Rows with missing values are left out.  Shapes: ``X`` (n, d).
    """
    X = X[np.isfinite(X).all(axis=1)]
    n, d = X.shape
    if d < 2 or n <= d or n >= _ENOUGH_ROWS * _n_parameters(d) or not (X.min(axis=0) < X.max(axis=0)).all():
        return 0
    rng = np.random.default_rng(0)
    if n > _MOST_ROWS:
        X = X[np.sort(rng.choice(n, _MOST_ROWS, replace=False))]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    n_most = min(_MOST_COMPONENTS, max(1, n // max(_ROWS_PER_COMPONENT, 2 * d)))
    responsibilities = [_starts(X, k, rng) for k in range(1, n_most + 1)]
    diagonal = [_least_bic(X, starts, _diagonal_log_densities, 2 * d) for starts in responsibilities]
    best = int(np.argmin(diagonal))
    if diagonal[0] < diagonal[best] + _EVIDENCE:
        return 0
    for k, starts in enumerate(responsibilities):
        bic = _least_bic(X, starts, _full_log_densities, _n_parameters(d))
        if bic < diagonal[best] + (0.0 if k else _EVIDENCE):
            return 0
    return best + 1


def _n_parameters(d):
    """Number of parameters of a normal distribution with a full covariance."""
    return d + d * (d + 1) // 2


def _starts(X, k, rng):
    """Groups of nearest centres, which are far from each other (k-means++), as indicators (n, k)."""
    starts = []
    for _ in range(_N_STARTS if k > 1 else 1):
        centres = X[rng.integers(len(X))][None]
        for _ in range(k - 1):
            nearest = _squared_distances(X, centres).min(axis=1)
            centres = np.vstack([centres, X[rng.choice(len(X), p=nearest / nearest.sum())]])
        starts.append(np.eye(k)[_squared_distances(X, centres).argmin(axis=1)])
    return starts


def _squared_distances(X, centres):
    return ((X[:, None] - centres) ** 2).sum(axis=2)


def _least_bic(X, starts, log_densities, n_parameters):
    """The least BIC that EM reaches; components have so many parameters."""
    n, k = starts[0].shape
    return (k * (n_parameters + 1) - 1) * np.log(n) - 2.0 * max(_by_em(X, start, log_densities) for start in starts)


def _by_em(X, responsibilities, log_densities):
    """Log likelihood that EM reaches from responsibilities (n, k)."""
    last = -np.inf
    for _ in range(_MOST_SWEEPS):
        sizes = responsibilities.sum(axis=0) + 1e-10
        means = responsibilities.T @ X / sizes[:, None]
        joint = np.log(sizes / sizes.sum()) + log_densities(X, responsibilities / sizes, means)
        densities = np.logaddexp.reduce(joint, axis=1)
        total = densities.sum()
        if total - last < _TOLERANCE * len(X):
            break
        last, responsibilities = total, np.exp(joint - densities[:, None])
    return total


def _diagonal_log_densities(X, weights, means):
    """Log densities (n, k) of normal distributions with the weighted variances of columns."""
    variances = np.maximum(weights.T @ X**2 - means**2, 0.0) + _RIDGE
    squares = ((X[:, None] - means) ** 2 / variances).sum(axis=2)
    return -0.5 * (squares + np.log(2.0 * np.pi * variances).sum(axis=1))


def _full_log_densities(X, weights, means):
    """The same with weighted covariances."""
    n, d = X.shape
    log_densities = np.empty((n, len(means)))
    for j, mean in enumerate(means):
        centred = X - mean
        L = np.linalg.cholesky((centred * weights[:, j, None]).T @ centred + _RIDGE * np.eye(d))
        squares = (np.linalg.solve(L, centred.T) ** 2).sum(axis=0)
        log_densities[:, j] = -0.5 * (squares + d * np.log(2.0 * np.pi)) - np.log(np.diag(L)).sum()
    return log_densities
