"""Data sets of the benchmarks; those of others are read from a folder beside the repository, if it has them."""

from pathlib import Path

import numpy as np

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def plane(n=1000, seed=20261121):
    """Six overlapping Gaussian clusters in the plane, shape (n, 2); reference figures are for n = 1000."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(6) * 3)
    means = rng.normal(0, 3, (6, 2))
    labels = rng.choice(6, n, p=weights)
    factors = [np.linalg.cholesky(np.cov(rng.normal(size=(2, 6))) + 0.2 * np.eye(2)) for _ in range(6)]
    return np.array([means[k] + factors[k] @ rng.normal(size=2) for k in labels])


def gaussian_clusters(n, d, n_clusters, *, separation=6.0, seed=1):
    """Gaussian clusters of unequal sizes and shapes; means are typically ``separation`` standard deviations apart."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0, separation / np.sqrt(2 * d), (n_clusters, d))
    labels = rng.choice(n_clusters, n, p=rng.dirichlet(np.full(n_clusters, 2.0)))
    X = rng.normal(size=(n, d))
    for k in range(n_clusters):
        factor = np.eye(d) + np.tril(rng.normal(0, 0.3 / np.sqrt(d), (d, d)))
        X[labels == k] = means[k] + X[labels == k] @ factor.T
    return X, labels.astype(np.int64)


def shared(name):
    """Path of a file of other people's data, or None if it is missing."""
    path = SHARED / name
    return path if path.exists() else None
