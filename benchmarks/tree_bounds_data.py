"""Data sets for the comparison of bounds, with their families."""

import numpy as np

import pymc_nrm as nrm

N_FEATURES = 8


def synthetic(name, n, rng):
    """Binary items: our reading of three sets with more and more structure.

    I has fair coins, with items spread over the cube.  II has two nearby clusters, with probabilities of a one of 0.3
    and 0.7.  III has two distant clusters, with 0.05 and 0.95.
    """
    low = {"I": 0.5, "II": 0.3, "III": 0.05}[name]
    chance = np.where(rng.random((n, 1)) < 0.5, low, 1.0 - low)
    return (rng.random((n, N_FEATURES)) < chance).astype(float)


def gaussians(n, rng, n_clusters=10, spread=10.0):
    """Round clusters in the plane."""
    return spread * rng.normal(size=(n_clusters, 2))[rng.integers(n_clusters, size=n)] + rng.normal(size=(n, 2))


def real_sets(folder, most, rng):
    """Data by name, at most ``most`` items of each, with a function from training data to family; and missing names."""
    found, absent = {}, []
    try:
        from sklearn import datasets

        found["iris"] = standardised(datasets.load_iris().data), nrm.NormalWishart.from_data
        found["wine"] = standardised(datasets.load_wine().data), nrm.NormalGamma.from_data
        found["digits, binary"] = (datasets.load_digits().data >= 8).astype(float), bernoulli
    except ImportError:
        absent.append("iris, wine, digits (scikit-learn is not installed)")
    readers = {"abalone": read_abalone, "spambase, binary": read_spambase, "newsgroups, binary": read_newsgroups}
    for name, read in readers.items():
        try:
            found[name] = read(folder)
        except (FileNotFoundError, TypeError):
            absent.append(f"{name} (no file in the data folder)")
    for name, (X, family) in found.items():
        if len(X) > most:
            found[name] = X[rng.permutation(len(X))[:most]], family
    return found, absent


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def bernoulli(X):
    """Beta(1/2, 1/2) for every feature."""
    return nrm.BernoulliBeta(0.5, 0.5)


def read_abalone(folder):
    return standardised(np.loadtxt(folder / "abalone.data", delimiter=",", skiprows=1, usecols=range(1, 9))), (
        nrm.NormalWishart.from_data
    )


def read_spambase(folder):
    """Whether each word or character is present."""
    return (np.loadtxt(folder / "spambase.data", delimiter=",", skiprows=1)[:, :54] > 0).astype(float), bernoulli


def read_newsgroups(folder):
    from scipy.io import loadmat

    return loadmat(folder / "20news_w100.mat", spmatrix=False)["documents"].T.toarray().astype(float), bernoulli
