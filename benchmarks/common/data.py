"""Data sets of the benchmarks; those of others are read from a folder beside the repository, if it has them."""

from pathlib import Path

import numpy as np
import pymc as pm
from scipy import sparse

import pymc_nrm as nrm


def dirichlet_process(X, family, measure=None, **options):
    """Model of a partition under DP(1), or another measure, with data X of one family whose numbers are known."""
    with pm.Model() as model:
        z = nrm.Partition("z", measure or nrm.DirichletProcess(1.0), n=X.shape[0], **options)
        nrm.Mixture("x", z, family, observed=X)
    return model


def mixture(family, X, *, hyperpriors=False):
    """Model of a partition under the NGG measure, with data X of one family."""
    d = X.shape[1]
    with pm.Model() as model:
        if hyperpriors:
            measure = nrm.NormalizedGeneralizedGamma(pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1, 4))
            scale = pm.LogNormal("scale", 0, 0.5)
        else:
            measure, scale = nrm.NormalizedGeneralizedGamma(1.0, 0.1), 1.0
        families = {
            "NormalWishart": lambda: nrm.NormalWishart(mu=np.zeros(d), kappa=0.1, Psi=5 * scale * np.eye(d), nu=d + 6),
            "BernoulliBeta": lambda: nrm.BernoulliBeta(scale, scale),
            "MultinomialDirichlet": lambda: nrm.MultinomialDirichlet(0.1 * scale),
        }
        z = nrm.Partition("z", measure, n=X.shape[0])
        nrm.Mixture("x", z, families[family](), observed=X)
    return model


def sample(model, sampler, draws, **kwargs):
    """Run ``pm.sample`` for one chain in this process, with the named step for the partition."""
    options = {"chains": 1, "cores": 1, "progressbar": False, "quiet": True, "random_seed": 1}
    with model:
        # Leave the default step to PyMC, as users do.
        step = [] if sampler == "TreeGuided" else [getattr(nrm.steps, sampler)([model["z"]])]
        return pm.sample(draws, step=step or None, compute_convergence_checks=False, **(options | kwargs))


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


def beside(name):
    """Path of a file of other people's data beside the repository."""
    if not (SHARED / name).exists():
        raise FileNotFoundError(f"{name} is not in ../shared/data")
    return SHARED / name


def simulated_corpus(n=1500, n_words=12_419, n_topics=60, seed=1):
    """Documents of about 1300 words, 370 of them different, each from one of several topics of unequal sizes. Word
    frequencies decrease like 1/rank over the whole vocabulary. Those of topics are Dirichlet distributed around
    them, so topics share common words and differ in rare ones.
    """
    rng = np.random.default_rng(seed)
    base = 1.0 / np.arange(1, n_words + 1)
    topics = rng.gamma(500.0 * base / base.sum(), size=(n_topics, n_words))
    topics /= topics.sum(axis=1, keepdims=True)
    topic = rng.choice(n_topics, n, p=rng.dirichlet(np.full(n_topics, 0.5)))
    rows = [sparse.csr_matrix(rng.multinomial(rng.poisson(1300), topics[t])) for t in topic]
    return sparse.vstack(rows).tocsr()


def simulated_families(n, n_clusters, *, seed=1):
    """Families with data of n items, all with the same true labels of ``n_clusters`` clusters."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(n_clusters, n, p=rng.dirichlet(np.full(n_clusters, 3.0)))
    labels[:n_clusters] = np.arange(n_clusters)
    normal = rng.normal(0, 1.5, (n_clusters, 10))[labels] + rng.normal(size=(n, 10))
    binary = (rng.random((n, 100)) < rng.beta(6.0, 6.0, (n_clusters, 100))[labels]).astype(float)
    counts = rng.poisson(rng.gamma(1.0, 5.0, (n_clusters, 10))[labels]).astype(float)
    levels = _categories(rng, rng.dirichlet(np.full(4, 0.5), (n_clusters, 20))[labels])
    words = rng.dirichlet(np.full(500, 5.0), n_clusters)
    documents = sparse.vstack([sparse.csr_array(rng.multinomial(50, words[k])[None]) for k in labels]).tocsr()
    normal_gamma = nrm.NormalGamma(mu=0.0, kappa=0.1, alpha=2.0, beta=1.0)
    categorical = nrm.CategoricalDirichlet(alpha=np.full((20, 4), 0.5))
    return labels.astype(np.int64), {
        "NormalGamma, d = 10": (normal_gamma, normal),
        "BernoulliBeta, d = 100": (nrm.BernoulliBeta(6.0, 6.0), binary),
        "PoissonGamma, d = 10": (nrm.PoissonGamma(1.0, 0.2), counts),
        "CategoricalDirichlet, d = 20, 4 levels": (categorical, levels),
        "MultinomialDirichlet, 500 words, 50 per document": (nrm.MultinomialDirichlet(5.0), documents),
        "Product of NormalGamma and CategoricalDirichlet": ([normal_gamma, categorical], [normal, levels]),
    }


def _categories(rng, probabilities):
    """One level for every distribution along the last axis, as floats."""
    cumulated = probabilities.cumsum(axis=-1)[..., :-1]
    return (rng.random((*probabilities.shape[:-1], 1)) > cumulated).sum(axis=-1).astype(float)


def small_data(family, n):
    """Data of n items in few columns and six clusters, for a family of the package given by name."""
    rng = np.random.default_rng(1)
    cluster = rng.integers(0, 6, n)
    if family == "NormalWishart":
        return plane(n)
    if family == "BernoulliBeta":
        return (rng.random((n, 10)) < rng.beta(0.5, 0.5, (6, 10))[cluster]).astype(float)
    return rng.multinomial(50, rng.dirichlet(np.full(20, 0.3), 6)[cluster]).astype(float)
