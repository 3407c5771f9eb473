"""Predictive densities of trees against sums over partitions listed one by one."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from tree_reference import MEASURES, below, clusters

from pymc_nrm.families import BernoulliBeta, MultinomialDirichlet, NormalGamma
from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.trees import bhc, predictive_log_density

BINARY = BernoulliBeta(0.7, 1.1)
GAUSS = NormalGamma(0.2, 0.1, 1.5, 0.8)


def log_p_binary(X, family):
    log_beta = lambda a, b: math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)  # noqa: E731
    a, b = family
    return sum(log_beta(a + x.sum(), b + len(x) - x.sum()) - log_beta(a, b) for x in X.T)


def log_p_gauss(X, family):
    mu, kappa, alpha, beta = family
    n, mean = len(X), X.mean(axis=0)
    beta_n = beta + ((X - mean) ** 2).sum(axis=0) / 2 + kappa * n / (kappa + n) * (mean - mu) ** 2 / 2
    constant = math.lgamma(alpha + n / 2) - math.lgamma(alpha) + alpha * math.log(beta)
    constant += math.log(kappa / (kappa + n)) / 2 - n / 2 * math.log(2 * math.pi)
    return (constant - (alpha + n / 2) * np.log(beta_n)).sum()


ALL_BITS = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
# Family, an independent marginal likelihood, data of n items, and new items.
RATIOS = {
    "NormalGamma": (GAUSS, log_p_gauss, lambda rng, n: rng.normal(size=(n, 3)), np.array([[0.2, -1, 3], [0, 9, 1]])),
    "BernoulliBeta": (BINARY, log_p_binary, lambda rng, n: rng.integers(2, size=(n, 3)).astype(float), ALL_BITS),
}


def log_sum_over_partitions(X, family, log_p_cluster, measure, sets, n):
    """Partitions of all items whose restriction to the first n is made of the given sets."""
    terms = []
    for labels in all_partitions(len(X)):
        if all(c in sets for c in clusters(labels[:n])):
            parts = clusters(labels)
            log_p = log_eppf(measure, np.array([len(c) for c in parts]))
            terms.append(log_p + sum(log_p_cluster(X[list(c)], family) for c in parts))
    return np.logaddexp.reduce(terms)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("name", ["NormalGamma", pytest.param("BernoulliBeta", marks=pytest.mark.slow)])
def test_ratio_of_sums_over_partitions(name, measure, n, rng):
    measure = MEASURES[measure]
    family, log_p, draw, new = RATIOS[name]
    X = draw(rng, n)
    tree = bhc(X, family, measure, random_seed=1)
    sets = set(below(tree.tree))
    found = predictive_log_density(tree, X, new, family, measure)
    before = log_sum_over_partitions(X, family, log_p, measure, sets, n)
    expected = [log_sum_over_partitions(np.vstack([X, x]), family, log_p, measure, sets, n) - before for x in new]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    if name == "BernoulliBeta":
        # These are all possible new items.
        assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(predictive_log_density(tree.tree, X, new, family, measure), found, atol=1e-9)


@pytest.mark.parametrize("measure", [DirichletProcess(0.7), NormalizedGeneralizedGamma(0.5, 0.8)])
def test_density_integrates_to_one(measure, rng):
    X = np.concatenate([rng.normal(-3, 1, 15), rng.normal(2, 0.3, 15), [1e3]])
    tree = bhc(X, GAUSS, measure, random_seed=1)
    # With x = sinh(s), the tails of a Student t become exponential in s.
    s = np.linspace(-23.5, 23.5, 20001)
    density = np.exp(predictive_log_density(tree, X, np.sinh(s), GAUSS, measure))
    assert (density * np.cosh(s)).sum() * (s[1] - s[0]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.slow
def test_several_data_sets_and_sparse_counts(rng):
    measure = MEASURES["NGG"]
    counts = rng.poisson(1.0, size=(7, 4))
    X, words = rng.normal(size=(7, 1)), sparse.csr_array(counts)
    family = [GAUSS, MultinomialDirichlet(0.5, total=counts[:5].sum(axis=1))]
    tree = bhc([X[:5], words[:5]], family, measure, random_seed=1)
    found = predictive_log_density(tree, [X[:5], words[:5]], [X[5:], words[5:]], family, measure)
    dense = predictive_log_density(tree, [X[:5], counts[:5]], [X[5:], counts[5:]], family, measure)
    assert found.shape == (2,)
    np.testing.assert_allclose(found, dense, atol=1e-12)


@pytest.mark.parametrize(
    "tree, family, X_new, error, message",
    [
        (lambda: "tree", GAUSS, [0.0], TypeError, "Dendrogram or a Tree"),
        (lambda: build_tree([[0, 1], [2, 3]]), GAUSS, [0.0], ValueError, "3 leaves"),
        (lambda: build_tree([[0, 1]]), GAUSS, [[0.0, 1.0]], ValueError, "1 features"),
        (lambda: build_tree([[0, 1]]), GAUSS, [np.inf], ValueError, "infinite"),
    ],
)
def test_bad_arguments(tree, family, X_new, error, message):
    with pytest.raises(error, match=message):
        predictive_log_density(tree(), [0.0, 1.0], X_new, family, DirichletProcess(1.0))
