"""Greedy clustering, trees over groups around random seeds, potentials and bounds against enumeration."""

import numpy as np
import pytest
from tree_reference import FAMILIES, MEASURES, ROWS, below, greedy, log_evidence, log_moment, marginals

from pymc_nrm.families import NormalGamma
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees.tree import build_tree, check_tree, cut_tree, tree_potentials
from pymc_nrm.stats import adjusted_rand
from pymc_nrm.trees import bayes_kmeans_bhc, bhc, clustering, ibhc
from pymc_nrm.trees.inputs import family_and_data


def take(name, n):
    family, X = FAMILIES[name]
    return X[:n], family


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("family", ROWS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_greedy_clustering_by_hand(measure, family, n):
    log_p, _, _ = marginals(family)
    u = 2.5
    result = bhc(*take(family, n), MEASURES[measure], u=u)
    check_tree(result.tree)
    sets, log_d, log_phi = greedy(log_p, n, lambda m: log_moment(MEASURES[measure], m, u))
    assert below(result.tree)[n:] == sets
    np.testing.assert_allclose(result.dissimilarity[n:], log_d, atol=1e-9)
    assert result.log_potential[-1] == pytest.approx(log_phi, abs=1e-9)
    np.testing.assert_allclose(result.log_marginal, [log_p[s] for s in below(result.tree)], atol=1e-9)
    assert result.u == pytest.approx(u)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("family", ROWS)
@pytest.mark.parametrize("algorithm", [bhc, ibhc])
def test_evidence_sums_over_partitions_of_the_tree(measure, family, algorithm):
    log_p, _, _ = marginals(family)
    result = algorithm(*take(family, 6), MEASURES[measure], random_seed=3)
    exact = log_evidence(log_p, 6, MEASURES[measure], set(below(result.tree)))
    assert result.log_evidence == pytest.approx(exact, abs=1e-8)
    assert result.log_evidence < log_evidence(log_p, 6, MEASURES[measure])


def test_dirichlet_process_does_not_depend_on_u():
    low, high = (bhc(*take("NormalGamma", 6), MEASURES["DP"], u=u) for u in (1e-3, 1e6))
    assert np.array_equal(low.tree.left, high.tree.left)
    np.testing.assert_allclose(low.dissimilarity, high.dissimilarity, atol=1e-8)
    assert low.log_evidence == pytest.approx(high.log_evidence, abs=1e-7)


GAUSS = NormalGamma(0.0, 0.01, 2.0, 1.0)


def clustered(rng, n, n_clusters=5, spread=20.0):
    truth = rng.integers(n_clusters, size=n)
    return spread * rng.normal(size=(n_clusters, 2))[truth] + rng.normal(size=(n, 2)), truth


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n_clusters", [None, 1, 3, 6])
def test_bound_is_that_of_the_tree(measure, n_clusters):
    log_p, _, _ = marginals("NormalGamma")
    family, X = FAMILIES["NormalGamma"]
    result = bayes_kmeans_bhc(X, family, MEASURES[measure], n_clusters=n_clusters, random_seed=2)
    check_tree(result.tree)
    sets = set(below(result.tree))
    assert result.log_evidence == pytest.approx(log_evidence(log_p, 6, MEASURES[measure], sets), abs=1e-8)


@pytest.mark.parametrize("n", [1, 2, 3, 60, 400])
@pytest.mark.parametrize("spread", [0.0, 20.0])
def test_dissimilarities_and_clusters(n, spread, rng):
    X, truth = clustered(rng, n, spread=spread)
    for seed in range(3):
        result = bayes_kmeans_bhc(X, GAUSS, DirichletProcess(1.0), u=1.0, random_seed=seed)
        check_tree(result.tree)
        assert result.labels.tolist() == cut_tree(result.tree).tolist()
        if spread > 0.0 and n == 400:
            assert adjusted_rand(truth, result.labels) > 0.95


def test_units_have_the_potentials_of_their_trees(rng):
    X, _ = clustered(rng, 80, spread=3.0)
    family, data, n = family_and_data(GAUSS, X)
    table = weights(MEASURES["NGG"], n, 1.0)
    groups = np.split(rng.permutation(n), [1, 30])
    merges, log_d, tops, units = clustering._group_units(table, family, data, groups)
    assert 3 < len(tops) <= 12 and len(merges) == n - len(tops)
    # Complete the tree by arbitrary merges of the units.
    rest = [[tops[0], tops[1]]] + [[n + len(merges) + k, tops[k + 2]] for k in range(len(tops) - 2)]
    tree = build_tree(np.concatenate([merges, rest]))
    exact = tree_potentials(tree, table, family, data)
    np.testing.assert_allclose(log_d, exact.log_dissimilarity[n : n + len(merges)], atol=1e-9)
    np.testing.assert_allclose(units.log_potential, exact.log_potential[tops], atol=1e-8)
    assert units.size.tolist() == tree.size[tops].tolist()
    counts = units.statistics[:, 0]
    assert counts.tolist() == units.size.tolist()


def test_groups_do_not_outgrow_their_share(rng):
    X, _ = clustered(rng, 900)
    family, data, n = family_and_data(GAUSS, X)
    counts = np.bincount(clustering._assign(family, data, rng.permutation(n), 30))
    assert counts.sum() == n and counts.max() <= 60 and len(counts) <= 46
    counts = np.bincount(clustering._assign(family, data, np.arange(n), n))
    assert (counts == 1).all()


@pytest.mark.parametrize("n_clusters", [0, 4, 1.5, True, "two"])
def test_bad_number_of_clusters(n_clusters):
    with pytest.raises(ValueError, match="n_clusters"):
        bayes_kmeans_bhc([0.0, 1.0, 2.0], GAUSS, DirichletProcess(1.0), n_clusters=n_clusters)
