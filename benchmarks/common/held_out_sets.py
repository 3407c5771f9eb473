"""Real and simulated data sets for held-out densities, split and standardised."""

import numpy as np

from common.data import plane, shared
from pymc_nrm.datasets import galaxies, old_faithful


def sets(quick, note):
    """Sets by name, each of shape (n, d); a note names those that are missing."""
    found = {"plane": plane(), "old faithful": old_faithful(), "galaxies": galaxies()[:, None]}
    for name in ("toy",) if quick else ("toy", "10k"):
        path = shared(f"lee_choi_{name}")
        if path is None:
            note(f"set {name} skipped: not in ../shared/data")
        else:
            found[name] = np.loadtxt(path / "X.txt")
    try:
        from sklearn import datasets
    except ImportError:
        note("sets iris, wine, digits skipped: scikit-learn is not installed")
        return found
    found["iris"] = _without_ties(datasets.load_iris().data)
    if not quick:
        found["wine"] = datasets.load_wine().data
        X = datasets.load_digits().data
        # Project on the ten directions of largest variance.
        _, _, directions = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        found["digits, 10 directions"] = X @ directions[:10].T
    return found


def _without_ties(X):
    """Undo rounding to tenths by noise, so that no density is infinite."""
    return X + np.random.default_rng(1).uniform(-0.05, 0.05, X.shape)


def split(X, seed, share=0.7):
    """Training and test items, both standardised by the mean and standard deviation of the training items."""
    order = np.random.default_rng(seed).permutation(len(X))
    n_train = int(share * len(X))
    train, test = X[order[:n_train]], X[order[n_train:]]
    mean, scale = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / scale, (test - mean) / scale
