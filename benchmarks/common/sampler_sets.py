"""Models for the comparison of samplers: data, priors, running times, and what is known about the posterior."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.io import loadmat

import pymc_nrm as nrm
from common.data import beside, dirichlet_process, plane, simulated_corpus
from common.real_data_sets import load


class Set(NamedTuple):
    """One model, and how samplers run on it; times are CPU seconds."""

    title: str
    X: Any
    measure: Any
    family: Any
    margin: float = 5.0  # nats from the mean log joint density within which a chain counts as arrived
    n_chains: int = 3  # of each kind
    tune: int = 200  # draws of every sampler before stationary draws are measured
    reference: float = 4.0  # the reference run
    bad: float = 3.0  # a chain from a bad start
    good: float = 2.0  # a stationary chain
    known: dict | None = None  # what long runs of others gave: mean and error of the number of clusters, probabilities
    without: tuple = ()  # samplers that are too slow here
    alone: bool = True  # whether chains also start with every item in a separate cluster

    def model(self, n=None):
        """PyMC model of the first n items, or of all."""
        return dirichlet_process(self.X[: n or self.X.shape[0]], self.family, self.measure)


DP, NGG = nrm.DirichletProcess(1.0), nrm.NormalizedGeneralizedGamma(1.0, 0.5)
LARGE = {"margin": 100.0, "n_chains": 1, "good": 8.0, "alone": False}


def toy():
    X = np.loadtxt(beside("lee_choi_toy") / "X.txt")
    known = {"mean": 13.60, "error": 0.01, "probabilities": {13: 0.546, 14: 0.331, 15: 0.10, 16: 0.02}}
    title = "Lee & Choi's toy set, 1300 x 2, DP(1), NormalWishart.from_data"
    return Set(title, X, DP, nrm.NormalWishart.from_data(X), known=known)


def closer():
    folder = beside("lee_choi_toy")
    X, labels = np.loadtxt(folder / "X.txt"), np.loadtxt(folder / "gt_labels.txt")
    centre = X.mean(axis=0)
    for label in np.unique(labels):
        X[labels == label] += (0.7 - 1.0) * (X[labels == label].mean(axis=0) - centre)
    title = "the same with cluster means at 0.7 of their distance from the overall mean"
    return Set(title, X, DP, nrm.NormalWishart.from_data(X), reference=8.0)


def x1000():
    law = (0.029, 0.081, 0.150, 0.188, 0.188, 0.152, 0.102, 0.058, 0.028, 0.012)
    known = {"mean": 10.87, "error": 0.04, "probabilities": dict(enumerate(law, 7))}
    title = "six overlapping clusters, 1000 x 2, DP(1), NormalWishart(mu=0, kappa=0.1, Psi=5 I, nu=8)"
    family = nrm.NormalWishart(mu=np.zeros(2), kappa=0.1, Psi=5 * np.eye(2), nu=8)
    return Set(title, plane(1000), DP, family, known=known)


def animals():
    X = loadmat(beside("animals.mat"))["data"].astype(np.int64)
    title = "animals, 33 x 102 binary features, DP(1), BernoulliBeta(1, 1)"
    return Set(title, X, DP, nrm.BernoulliBeta(1.0, 1.0), good=1.5)


def items_10k():
    X = np.loadtxt(beside("lee_choi_10k") / "X.txt")
    title = "Lee & Choi's 10k set, 10,000 x 6, NGG(1, 0.5), NormalWishart.from_data"
    return Set(title, X, NGG, nrm.NormalWishart.from_data(X), tune=60, reference=15.0, bad=15.0, **LARGE)


def documents():
    title = "simulated documents, 1500 x 12,419 words, sparse, NGG(1, 0.5), MultinomialDirichlet(0.1)"
    times = {"tune": 20, "reference": 20.0, "bad": 25.0, "without": ("published",)}
    return Set(title, simulated_corpus(), NGG, nrm.MultinomialDirichlet(0.1), **times, **LARGE)


def real_set(source, family, whole=True):
    """A real set of at most 2000 items, with hyperparameters fixed."""
    X = load(source).values
    X = X.astype(np.int64) if whole else X
    title = f"{source}, {X.shape[0]} x {X.shape[1]}, DP(1)"
    times = {"n_chains": 1, "tune": 60, "reference": 15.0, "bad": 12.0, "good": 8.0}
    return Set(title, X, DP, family(X), margin=20.0, alone=False, **times)


SETS = {"toy": toy, "closer": closer, "x1000": x1000, "animals": animals, "10k": items_10k, "documents": documents}
REAL = {
    "digits": partial(real_set, "digits, 10 components", nrm.NormalWishart.from_data, whole=False),
    "newsgroups": partial(real_set, "newsgroups", lambda X: nrm.BernoulliBeta(0.5, 0.5)),
    "pixels": partial(
        real_set, "digits, pixels", lambda X: nrm.PoissonGamma(0.5, 0.5 / np.maximum(X.mean(axis=0), 0.05))
    ),
}
