"""Data simulated from every conjugate family, with the true clusters."""

import numpy as np
from scipy import sparse

import pymc_nrm as nrm


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
