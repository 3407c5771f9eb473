"""Greedy, grouped and incremental clustering, whose trees, potentials and bounds are those of enumeration."""

import numpy as np
import pytest
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees import greedy as greedy_merges
from pymc_nrm.moves.guide_trees.greedy import join_forest
from pymc_nrm.moves.guide_trees.incremental import empty_forest, extend_forest, grow_forest, insert_items, post_order
from pymc_nrm.moves.guide_trees.tree import (
    build_tree,
    check_tree,
    cut_tree,
    potentials_from_marginals,
    tree_log_marginals,
)
from pymc_nrm.stats import adjusted_rand
from pymc_nrm.trees import IncrementalClustering, bayes_kmeans_bhc, bhc, clustering, ibhc
from pymc_nrm.trees.inputs import family_and_data, with_more_rows
from tests.trees.tree_reference import FAMILIES, MEASURES, ROWS, below, greedy, log_evidence, log_moment, marginals


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


GAUSS = nrm.NormalGamma(0.0, 0.01, 2.0, 1.0)


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
        result = bayes_kmeans_bhc(X, GAUSS, nrm.DirichletProcess(1.0), u=1.0, random_seed=seed)
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
        bayes_kmeans_bhc([0.0, 1.0, 2.0], GAUSS, nrm.DirichletProcess(1.0), n_clusters=n_clusters)


_generator = np.random.default_rng(11)
_centres = _generator.normal(size=(5, 2), scale=3.0)
POINTS = _centres[_generator.integers(5, size=150)] + _generator.normal(size=(150, 2))
POINTS[7, 1] = np.nan
OF_POINTS = nrm.NormalGamma(0.0, 0.1, 2.0, [0.5, 1.0])
TOPICS = _generator.dirichlet(np.full(12, 0.2), size=4)
WORDS = sparse.csr_array(np.array([_generator.multinomial(20, TOPICS[i % 4]) for i in range(60)]))

CASES = {
    "points": (OF_POINTS, POINTS, MEASURES["NGG"], 3.0, 64),
    "points, shallow": (OF_POINTS, POINTS, MEASURES["DP"], 100.0, 3),
    "all apart": (nrm.NormalGamma(0.0, 1e-14, 50.0, 1.0), 1e4 * POINTS, MEASURES["NIG"], 1e6, 64),
    "overlap": (OF_POINTS, _generator.normal(size=(150, 2)), MEASURES["NIG"], 5.0, 64),
    "duplicates": (OF_POINTS, np.tile(POINTS[8:20], (12, 1)), MEASURES["NGG"], 3.0, 64),
    "one point": (OF_POINTS, np.ones((80, 2)), nrm.DirichletProcess(1.0), 3.0, 8),
    "constant feature": (OF_POINTS, POINTS * np.array([1.0, 0.0]), MEASURES["NGG"], 3.0, 64),
    "far apart": (nrm.NormalGamma(0.0, 1e-3, 2.0, 1.0), 1e6 * POINTS, MEASURES["NGG"], 3.0, 64),
    "words": (nrm.MultinomialDirichlet(0.3), WORDS, MEASURES["NGG"], 3.0, 64),
}


def assert_sound(forest, n_items, table, family, data):
    """Check pointers, rows and potentials of a forest, the latter against a computation from the data."""
    n = len(forest.roots)
    nodes = post_order(forest)
    roots = forest.roots[: forest.n_roots[0]]
    assert len(np.unique(nodes)) == len(nodes) == 2 * n_items - len(roots)
    assert (forest.parent[roots] == -1).all()
    internal = nodes[nodes >= n]
    for v in internal:
        assert forest.parent[forest.left[v]] == forest.parent[forest.right[v]] == v
        assert forest.size[v] == forest.size[forest.left[v]] + forest.size[forest.right[v]]
        assert forest.row[v] == v - n
    rows = forest.row[nodes]
    rows = rows[rows >= 0]
    assert len(np.unique(rows)) == len(rows) == n - forest.n_free[0]
    assert not set(rows) & set(forest.free[: forest.n_free[0]])
    assert (forest.log_dissimilarity[internal] <= 0.0).all()
    if n_items == n:
        assert len(nodes[nodes < n]) == n
        tree = join_forest(np.random.default_rng(0), forest, table, family, data)
        check_tree(tree)
        exact = potentials_from_marginals(tree, table.moment, tree_log_marginals(tree, family, data))
        scale = 1e-9 * (1.0 + np.abs(exact.log_marginal).max())
        np.testing.assert_allclose(tree.log_dissimilarity, exact.log_dissimilarity, atol=scale)
        # The join keeps internal nodes in the order of `nodes`.
        k = n + np.arange(len(internal))
        np.testing.assert_allclose(forest.log_potential[internal], exact.log_potential[k], atol=scale)
        np.testing.assert_allclose(forest.log_marginal[internal], exact.log_marginal[k], atol=scale)


# What makes a case worth having: numbers of roots, nodes that are dissolved, potentials far from 1.
EXTREMES = {
    "all apart": lambda forests, tree: forests[0].n_roots[0] == 150,
    "one point": lambda forests, tree: forests[0].n_roots[0] == 1,
    "points": lambda forests, tree: sum(forest.n_cuts[0] for forest in forests) > 0,
    "far apart": lambda forests, tree: np.abs(tree.log_dissimilarity).max() > 100.0,
}


def prepared(case):
    """Tables, family, data, number of items and balance depth of a case."""
    family, X, measure, u, depth = CASES[case]
    family, data, n = family_and_data(family, X)
    return weights(measure, n, np.log(u)), family, data, n, depth


@pytest.mark.parametrize("case", [pytest.param(one, marks=pytest.mark.slow if one == "words" else ()) for one in CASES])
def test_forest_is_sound(case):
    table, family, data, n, depth = prepared(case)
    forests = [grow_forest(np.random.default_rng(seed), table, family, data, n, depth) for seed in range(3)]
    for forest in forests:
        assert_sound(forest, n, table, family, data)
    if case in EXTREMES:
        assert EXTREMES[case](forests, join_forest(np.random.default_rng(0), forests[0], table, family, data))


def test_insertion_in_parts():
    family, data, n = family_and_data(OF_POINTS, POINTS)
    table = weights(MEASURES["NGG"], n, 1.0)
    forest = empty_forest(n, family)
    for done in range(0, n, 30):
        insert_items(forest, table, family, data, np.arange(done, done + 30), 64)
        assert_sound(forest, done + 30, table, family, data)


def test_new_u_takes_nodes_apart():
    family, data, n = family_and_data(OF_POINTS, POINTS)
    few, many = (weights(MEASURES["NIG"], n, log_u) for log_u in (0.0, 12.0))
    rng = np.random.default_rng(0)
    forest = grow_forest(rng, few, family, data, n)
    changed = extend_forest(rng, forest, many, family, data, n)
    assert changed.n_cuts[0] > 0
    assert changed.n_roots[0] > forest.n_roots[0]
    assert_sound(changed, n, many, family, data)


def test_many_roots_are_joined_in_groups(monkeypatch):
    monkeypatch.setattr(greedy_merges, "MOST_UNITS", 20)
    table, family, data, n, depth = prepared("all apart")
    assert_sound(grow_forest(np.random.default_rng(0), table, family, data, n, depth), n, table, family, data)


def test_passes_keep_the_best_tree():
    measure = nrm.NormalizedGeneralizedGamma(1.0, 0.25)
    one, again, other = (ibhc(POINTS, OF_POINTS, measure, random_seed=seed) for seed in (4, 4, 5))
    assert np.array_equal(one.tree.left, again.tree.left) and one.log_u == again.log_u
    assert not np.array_equal(one.tree.left, other.tree.left)
    many = ibhc(POINTS, OF_POINTS, measure, n_passes=6, random_seed=4)
    assert many.log_evidence >= one.log_evidence
    fixed = ibhc(POINTS, OF_POINTS, measure, n_passes=2, u=7.0, random_seed=4)
    assert fixed.u == pytest.approx(7.0)


@pytest.mark.parametrize("depth", [None, 64, 4])
def test_depth_changes_shape_not_clusters(depth):
    X = np.concatenate([_generator.normal(size=(200, 1)), 50.0 + _generator.normal(size=(100, 1))])
    result = ibhc(
        X, nrm.NormalGamma(20.0, 0.1, 2.0, 1.0), nrm.DirichletProcess(1.0), balance_depth=depth, random_seed=1
    )
    assert result.labels.tolist() == [0] * 200 + [1] * 100


@pytest.mark.parametrize(
    "family, X", [(OF_POINTS, POINTS), pytest.param(nrm.MultinomialDirichlet(0.3), WORDS, marks=pytest.mark.slow)]
)
def test_streaming(family, X):
    clustering = IncrementalClustering(family, MEASURES["NGG"], random_seed=2)
    with pytest.raises(ValueError, match="no data"):
        clustering.dendrogram()
    for rows in (slice(0, 1), slice(1, 25), slice(25, 60)):
        clustering.partial_fit(X[rows])
    result = clustering.dendrogram()
    check_tree(result.tree)
    assert len(result.labels) == 60
    assert result.n_clusters < 60


def test_batches_of_several_data_sets():
    families = [OF_POINTS, nrm.MultinomialDirichlet(0.3)]
    first = with_more_rows(families, None, [POINTS[:10], WORDS[:10]], "X")
    both = with_more_rows(families, first, [POINTS[10:12], WORDS[10:12]], "X")
    np.testing.assert_array_equal(both[0], POINTS[:12])
    np.testing.assert_array_equal(both[1].toarray(), WORDS[:12].toarray())
    with pytest.raises(ValueError, match="a list of .* data sets, one for each family"):
        with_more_rows(families, first, POINTS[10:12], "X")
