"""Bounds of the evidence and predictive densities of trees, against sums over partitions listed one by one."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf, log_joint_term
from pymc_nrm.moves.guide_trees.tree import build_tree, leaves
from pymc_nrm.testing import all_partitions, log_evidence
from pymc_nrm.trees import alternative_trees, bhc, log_evidence_lower_bound, predictive_log_density
from tests.helpers import refused
from tests.trees import tree_reference
from tests.trees.tree_reference import MEASURES, below, clusters

GAUSS = nrm.NormalGamma(0.5, 0.3, 1.5, 1.0)


def consistent(tree, v, moved=()):
    """Partitions of the items of v, each a frozenset of clusters; branches are moved at the nodes in ``moved``."""
    sets, n = tree_reference.below(tree), len(tree.order)

    def product(first, second):
        return [p | q for p, q in itertools.product(first, second)]

    def partitions(v):
        if v < n:
            return [frozenset([sets[v]])]
        a, b = tree.left[v], tree.right[v]
        found = [frozenset([sets[v]]), *product(partitions(a), partitions(b))]
        for child, sibling in ((a, b), (b, a)) if v in moved else ():
            if child >= n:
                pair = (tree.left[child], tree.right[child])
                for branch, rest in (pair, pair[::-1]):
                    found += product([frozenset([sets[branch] | sets[sibling]])], partitions(rest))
        return found

    return partitions(v)


def log_weight_sum(partitions, log_p, measure):
    """``log sum p(partition) p(X | partition)`` over a list of partitions."""
    return np.logaddexp.reduce(
        [log_eppf(measure, np.array([len(c) for c in p])) + sum(log_p[c] for c in p) for p in partitions]
    )


@pytest.mark.parametrize("measure", tree_reference.MEASURES)
@pytest.mark.parametrize("family", tree_reference.ROWS)
def test_bounds_are_sums_over_listed_partitions(measure, family, rng):
    log_p, _, _ = tree_reference.marginals(family)
    (family, X), measure = tree_reference.FAMILIES[family], tree_reference.MEASURES[measure]
    for tree in (tree_reference.random_tree(rng, 6), bhc(X, family, measure, random_seed=1).tree):
        old = log_evidence_lower_bound(tree, X, family, measure)
        assert old == pytest.approx(log_weight_sum(consistent(tree, 10), log_p, measure), abs=1e-8)
        new = alternative_trees(tree, X, family, measure)
        everywhere = log_weight_sum(consistent(tree, 10, range(11)), log_p, measure)
        assert new.log_bound == pytest.approx(everywhere, abs=1e-8)
        assert new.log_gain == pytest.approx(everywhere - old, abs=1e-8)
        for v in range(6, 11):
            alone = log_weight_sum(consistent(tree, 10, [v]), log_p, measure)
            assert new.node_gains[v] == pytest.approx(alone - old, abs=1e-8)
        path = [v for v in range(11) if set(leaves(tree, v)) >= {3}]
        result = alternative_trees(tree, X, family, measure, start=3)
        assert result.log_bound == pytest.approx(log_weight_sum(consistent(tree, 10, path), log_p, measure), abs=1e-8)
        np.testing.assert_allclose(result.node_gains[path], new.node_gains[path], atol=1e-12)
        assert not np.delete(result.node_gains, path).any()


@pytest.mark.parametrize("measure", tree_reference.MEASURES)
def test_given_u(measure, rng):
    log_p, _, _ = tree_reference.marginals("NormalGamma")
    (family, X), measure, u = tree_reference.FAMILIES["NormalGamma"], tree_reference.MEASURES[measure], 1.7
    tree = tree_reference.random_tree(rng, 6)
    prior = log_joint_term(measure, 6, math.log(u))
    kappa = [0.0] + [tree_reference.log_moment(measure, m, u) for m in range(1, 7)]
    weight = lambda listed: prior + np.logaddexp.reduce([sum(kappa[len(c)] + log_p[c] for c in p) for p in listed])  # noqa: E731
    assert log_evidence_lower_bound(tree, X, family, measure, u=u) == pytest.approx(weight(consistent(tree, 10)))
    new = alternative_trees(tree, X, family, measure, u=u)
    assert new.log_bound == pytest.approx(weight(consistent(tree, 10, range(11))))
    assert new.log_bound < prior + tree_reference.log_joint_given_u(log_p, 6, measure, u)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    points=st.lists(st.lists(st.sampled_from([0.0, 1.0, math.nan]), min_size=4, max_size=4), min_size=1, max_size=7),
    alpha=st.floats(0.05, 20.0),
    sigma=st.floats(0.0, 0.9),
    seed=st.integers(0, 2**32 - 1),
)
def test_order_of_bounds_and_names_of_items(points, alpha, sigma, seed):
    rng, X = np.random.default_rng(seed), np.array(points)
    n, measure = len(X), nrm.NormalizedGeneralizedGamma(alpha, sigma)
    tree = tree_reference.random_tree(rng, n)
    old, new = log_evidence_lower_bound(tree, X, GAUSS, measure), alternative_trees(tree, X, GAUSS, measure)
    assert old <= new.log_bound + 1e-9 and new.log_gain >= 0.0
    assert new.log_bound <= log_evidence(X, GAUSS, measure) + 1e-8
    name = rng.permutation(n)
    renamed = np.concatenate([name, np.arange(n, 2 * n - 1)])
    merges = renamed[np.column_stack([tree.left[n:], tree.right[n:]])]
    shuffled = np.empty_like(X)
    shuffled[name] = X
    same = alternative_trees(build_tree(merges), shuffled, GAUSS, measure)
    assert same.log_bound == pytest.approx(new.log_bound, abs=1e-9)
    np.testing.assert_allclose(same.node_gains[renamed], new.node_gains, atol=1e-9)


def test_potentials_of_many_thousands(rng):
    X = 1e3 * rng.normal(size=(3000, 2))
    family, measure = nrm.NormalGamma(0.0, 1e-6, 2.0, 1.0), nrm.NormalizedGeneralizedGamma(1.0, 0.5)
    tree = tree_reference.random_tree(rng, 3000)
    new = alternative_trees(tree, X, family, measure)
    assert np.isfinite(new.log_bound) and np.isfinite(new.node_gains).all() and new.log_bound < -4e4
    assert (new.node_gains >= 0.0).all() and new.log_gain >= new.node_gains.max()


test_bad_arguments = refused(
    lambda tree, options: alternative_trees(tree(), [[0.0], [1.0], [1.0]], GAUSS, nrm.DirichletProcess(1.0), **options),
    (lambda: "tree", {}, TypeError, "Dendrogram or a Tree"),
    (lambda: build_tree([[0, 1]]), {}, ValueError, "2 leaves"),
    (lambda: build_tree([[0, 1], [2, 3]]), {"start": 5}, ValueError, "start"),
    (lambda: build_tree([[0, 1], [2, 3]]), {"start": 1.0}, ValueError, "start"),
    (lambda: build_tree([[0, 1], [2, 3]]), {"u": -1.0}, ValueError, "u must be"),
    (lambda: build_tree([[0, 1], [2, 3]])._replace(parent=np.zeros(5, dtype=int)), {}, ValueError, "root"),
)


@pytest.mark.parametrize("sigma", [0.0, 1e-300, 1e-12, 1e-6, 1e-4, 1e-2, 0.5])
@pytest.mark.parametrize("alpha", [1e-300, 1e-20, 1e-8, 1e-4, 1.0, 1e4])
def test_evidence_of_two_items_with_any_measure(alpha, sigma):
    # Two items have one tree, with which both partitions are consistent.
    measure, family, X = (
        nrm.NormalizedGeneralizedGamma(alpha, sigma),
        nrm.NormalGamma(0.0, 1.0, 2.0, 1.0),
        [[0.0], [3.0]],
    )
    if (sigma == 1e-12 and alpha < 1e-8) or (sigma == 1e-6 and alpha == 1e-300):
        with pytest.raises(ValueError, match="measure must have a larger alpha, sigma or gamma for trees"):
            bhc(X, family, measure, random_seed=1)
    else:
        tree = bhc(X, family, measure, random_seed=1)
        assert tree.log_evidence == pytest.approx(log_evidence(X, family, measure), abs=1e-7)


BINARY = nrm.BernoulliBeta(0.7, 1.1)
GAUSS_OF_RATIOS = nrm.NormalGamma(0.2, 0.1, 1.5, 0.8)


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
    "NormalGamma": (
        GAUSS_OF_RATIOS,
        log_p_gauss,
        lambda rng, n: rng.normal(size=(n, 3)),
        np.array([[0.2, -1, 3], [0, 9, 1]]),
    ),
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


@pytest.mark.parametrize("measure", [nrm.DirichletProcess(0.7), nrm.NormalizedGeneralizedGamma(0.5, 0.8)])
def test_density_integrates_to_one(measure, rng):
    X = np.concatenate([rng.normal(-3, 1, 15), rng.normal(2, 0.3, 15), [1e3]])
    tree = bhc(X, GAUSS_OF_RATIOS, measure, random_seed=1)
    # With x = sinh(s), the tails of a Student t become exponential in s.
    s = np.linspace(-23.5, 23.5, 20001)
    density = np.exp(predictive_log_density(tree, X, np.sinh(s), GAUSS_OF_RATIOS, measure))
    assert (density * np.cosh(s)).sum() * (s[1] - s[0]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.slow
def test_several_data_sets_and_sparse_counts(rng):
    measure = MEASURES["NGG"]
    counts = rng.poisson(1.0, size=(7, 4))
    X, words = rng.normal(size=(7, 1)), sparse.csr_array(counts)
    family = [GAUSS_OF_RATIOS, nrm.MultinomialDirichlet(0.5, total=counts[:5].sum(axis=1))]
    tree = bhc([X[:5], words[:5]], family, measure, random_seed=1)
    found = predictive_log_density(tree, [X[:5], words[:5]], [X[5:], words[5:]], family, measure)
    dense = predictive_log_density(tree, [X[:5], counts[:5]], [X[5:], counts[5:]], family, measure)
    assert found.shape == (2,)
    np.testing.assert_allclose(found, dense, atol=1e-12)


@pytest.mark.parametrize("as_given", [lambda value: value, lambda value: [value]], ids=["one family", "a list"])
def test_new_rows_do_not_change_the_family_of_predictions(as_given):
    X, measure, family = np.array([[0, 1], [0, 1], [1, 0]]), nrm.DirichletProcess(1.0), nrm.CategoricalDirichlet(0.5)
    tree = bhc(as_given(X), as_given(family), measure, random_seed=1)
    predicted = functools.partial(predictive_log_density, tree, as_given(X), family=as_given(family), measure=measure)
    assert predicted(X_new=as_given(X[:1])).shape == (1,)
    with pytest.raises(ValueError, match="^X and X_new.*levels below n_levels; got 2.0 of feature 0, which has 2"):
        predicted(X_new=as_given(np.array([[0, 1], [2, 0]])))


test_bad_arguments_of_predictions = refused(
    lambda tree, family, X_new: predictive_log_density(tree(), [0.0, 1.0], X_new, family, nrm.DirichletProcess(1.0)),
    (lambda: "tree", GAUSS_OF_RATIOS, [0.0], TypeError, "Dendrogram or a Tree"),
    (lambda: build_tree([[0, 1], [2, 3]]), GAUSS_OF_RATIOS, [0.0], ValueError, "3 leaves"),
    (lambda: build_tree([[0, 1]]), GAUSS_OF_RATIOS, [[0.0, 1.0]], ValueError, "1 features"),
    (lambda: build_tree([[0, 1]]), GAUSS_OF_RATIOS, [np.inf], ValueError, "infinite"),
)
