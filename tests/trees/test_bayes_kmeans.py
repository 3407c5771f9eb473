"""Trees over groups around random seeds."""

import numpy as np
import pytest
from tree_reference import FAMILIES, MEASURES, below, log_evidence, marginals

from pymc_nrm.families import NormalGamma
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees.tree import (
    build_tree,
    check_tree,
    cut_tree,
    potentials_from_marginals,
    tree_log_marginals,
)
from pymc_nrm.stats import adjusted_rand
from pymc_nrm.trees import bayes_kmeans_bhc, clustering
from pymc_nrm.trees.inputs import family_and_data

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
    exact = potentials_from_marginals(tree, table.moment, tree_log_marginals(tree, family, data))
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
