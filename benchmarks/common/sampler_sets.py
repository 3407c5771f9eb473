"""Models for the comparison of samplers: data, priors, running times, and what is known about the posterior."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from scipy.io import loadmat

import pymc_nrm as nrm
from common.corpus import simulated_corpus
from common.data import plane, shared


class Set(NamedTuple):
    """One model, and how samplers run on it; times are CPU seconds.

    Parameters
    ----------
    title : str
    X : array or sparse matrix, shape (n, d)
    measure, family : NamedTuple
    margin : float
        Distance in nats from the mean log joint density within which a chain counts as arrived.
    n_chains : int
        Chains of each kind.
    tune : int
        Tuning draws of every sampler before stationary draws are measured.
    reference, bad, good : float
        Seconds of the reference run, of a chain from a bad start, and of a stationary chain.
    known : dict, optional
        Results of long runs of other programs or samplers: ``mean`` and ``error`` of the number of clusters, and
        ``probabilities``, a dict for some of its values.
    without : tuple of str
        Samplers that are too slow here.
    alone : bool
        Whether chains also start with every item in a separate cluster.
    """

    title: str
    X: Any
    measure: Any
    family: Any
    margin: float = 5.0
    n_chains: int = 3
    tune: int = 200
    reference: float = 4.0
    bad: float = 3.0
    good: float = 2.0
    known: dict | None = None
    without: tuple = ()
    alone: bool = True

    def model(self, n=None):
        """PyMC model of the first n items, or of all."""
        X = self.X[: n or self.X.shape[0]]
        with pm.Model() as model:
            z = nrm.Partition("z", self.measure, n=X.shape[0])
            nrm.Mixture("x", z, self.family, observed=X)
        return model


def _toy():
    path = shared("lee_choi_toy")
    X = np.loadtxt(path / "X.txt")
    known = {
        "mean": 13.60,
        "error": 0.01,
        "probabilities": {13: 0.546, 14: 0.331, 15: 0.10, 16: 0.02},
    }
    title = "Lee & Choi's toy set, 1300 x 2, DP(1), NormalWishart.from_data"
    return Set(title, X, nrm.DirichletProcess(1.0), nrm.NormalWishart.from_data(X), known=known)


def _closer():
    path = shared("lee_choi_toy")
    X, labels = np.loadtxt(path / "X.txt"), np.loadtxt(path / "gt_labels.txt")
    centre = X.mean(axis=0)
    for label in np.unique(labels):
        X[labels == label] += (0.7 - 1.0) * (X[labels == label].mean(axis=0) - centre)
    title = "the same with cluster means at 0.7 of their distance from the overall mean"
    return Set(title, X, nrm.DirichletProcess(1.0), nrm.NormalWishart.from_data(X), reference=8.0)


def _x1000():
    known = {
        "mean": 10.87,
        "error": 0.04,
        "probabilities": dict(
            zip(range(7, 17), (0.029, 0.081, 0.150, 0.188, 0.188, 0.152, 0.102, 0.058, 0.028, 0.012), strict=True)
        ),
    }
    title = "six overlapping clusters, 1000 x 2, DP(1), NormalWishart(mu=0, kappa=0.1, Psi=5 I, nu=8)"
    family = nrm.NormalWishart(mu=np.zeros(2), kappa=0.1, Psi=5 * np.eye(2), nu=8)
    return Set(title, plane(1000), nrm.DirichletProcess(1.0), family, known=known)


def _animals():
    X = loadmat(shared("animals.mat"))["data"].astype(np.int64)
    title = "animals, 33 x 102 binary features, DP(1), BernoulliBeta(1, 1)"
    return Set(title, X, nrm.DirichletProcess(1.0), nrm.BernoulliBeta(1.0, 1.0), good=1.5)


def _10k():
    X = np.loadtxt(shared("lee_choi_10k") / "X.txt")
    title = "Lee & Choi's 10k set, 10,000 x 6, NGG(1, 0.5), NormalWishart.from_data"
    return Set(
        title,
        X,
        nrm.NormalizedGeneralizedGamma(1.0, 0.5),
        nrm.NormalWishart.from_data(X),
        margin=100.0,
        n_chains=1,
        tune=60,
        reference=15.0,
        bad=15.0,
        good=8.0,
        alone=False,
    )


def _documents():
    title = "simulated documents, 1500 x 12,419 words, sparse, NGG(1, 0.5), MultinomialDirichlet(0.1)"
    return Set(
        title,
        simulated_corpus(),
        nrm.NormalizedGeneralizedGamma(1.0, 0.5),
        nrm.MultinomialDirichlet(0.1),
        margin=100.0,
        n_chains=1,
        tune=20,
        reference=20.0,
        bad=25.0,
        good=8.0,
        without=("published",),
        alone=False,
    )


# For each set its name, the function that makes it, and the file it needs, if any.
SETS = {
    "toy": (_toy, "lee_choi_toy"),
    "closer": (_closer, "lee_choi_toy"),
    "x1000": (_x1000, None),
    "animals": (_animals, "animals.mat"),
    "10k": (_10k, "lee_choi_10k"),
    "documents": (_documents, None),
}


def load(name, note):
    """A set by name, or None and a note if its file is missing."""
    make, file = SETS[name]
    if file and shared(file) is None:
        note(f"set {name} skipped: {file} is not in ../shared/data")
        return None
    return make()
