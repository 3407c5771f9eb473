"""Incremental clustering: properties that hold after any sequence of insertions."""

import numpy as np
import pytest
from scipy import sparse
from tree_reference import MEASURES

from pymc_nrm.families import MultinomialDirichlet, NormalGamma
from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees import greedy
from pymc_nrm.moves.guide_trees.greedy import join_forest
from pymc_nrm.moves.guide_trees.incremental import empty_forest, extend_forest, grow_forest, insert_items, post_order
from pymc_nrm.moves.guide_trees.tree import check_tree, potentials_from_marginals, tree_log_marginals
from pymc_nrm.trees import IncrementalClustering, ibhc
from pymc_nrm.trees.inputs import family_and_data, with_more_rows

_generator = np.random.default_rng(11)
_centres = _generator.normal(size=(5, 2), scale=3.0)
POINTS = _centres[_generator.integers(5, size=150)] + _generator.normal(size=(150, 2))
POINTS[7, 1] = np.nan
GAUSS = NormalGamma(0.0, 0.1, 2.0, [0.5, 1.0])
TOPICS = _generator.dirichlet(np.full(12, 0.2), size=4)
WORDS = sparse.csr_array(np.array([_generator.multinomial(20, TOPICS[i % 4]) for i in range(60)]))

CASES = {
    "points": (GAUSS, POINTS, MEASURES["NGG"], 3.0, 64),
    "points, shallow": (GAUSS, POINTS, MEASURES["DP"], 100.0, 3),
    "all apart": (NormalGamma(0.0, 1e-14, 50.0, 1.0), 1e4 * POINTS, MEASURES["NIG"], 1e6, 64),
    "overlap": (GAUSS, _generator.normal(size=(150, 2)), MEASURES["NIG"], 5.0, 64),
    "duplicates": (GAUSS, np.tile(POINTS[8:20], (12, 1)), MEASURES["NGG"], 3.0, 64),
    "one point": (GAUSS, np.ones((80, 2)), DirichletProcess(1.0), 3.0, 8),
    "constant feature": (GAUSS, POINTS * np.array([1.0, 0.0]), MEASURES["NGG"], 3.0, 64),
    "far apart": (NormalGamma(0.0, 1e-3, 2.0, 1.0), 1e6 * POINTS, MEASURES["NGG"], 3.0, 64),
    "words": (MultinomialDirichlet(0.3), WORDS, MEASURES["NGG"], 3.0, 64),
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
        tree = join_forest(np.random.default_rng(0), forest, table, family)
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
        assert EXTREMES[case](forests, join_forest(np.random.default_rng(0), forests[0], table, family))


def test_insertion_in_parts():
    family, data, n = family_and_data(GAUSS, POINTS)
    table = weights(MEASURES["NGG"], n, 1.0)
    forest = empty_forest(n, family)
    for done in range(0, n, 30):
        insert_items(forest, table, family, data, np.arange(done, done + 30), 64)
        assert_sound(forest, done + 30, table, family, data)


def test_new_u_takes_nodes_apart():
    family, data, n = family_and_data(GAUSS, POINTS)
    few, many = (weights(MEASURES["NIG"], n, log_u) for log_u in (0.0, 12.0))
    rng = np.random.default_rng(0)
    forest = grow_forest(rng, few, family, data, n)
    changed = extend_forest(rng, forest, many, family, data, n)
    assert changed.n_cuts[0] > 0
    assert changed.n_roots[0] > forest.n_roots[0]
    assert_sound(changed, n, many, family, data)


def test_many_roots_are_joined_in_groups(monkeypatch):
    monkeypatch.setattr(greedy, "MOST_UNITS", 20)
    table, family, data, n, depth = prepared("all apart")
    assert_sound(grow_forest(np.random.default_rng(0), table, family, data, n, depth), n, table, family, data)


def test_passes_keep_the_best_tree():
    measure = NormalizedGeneralizedGamma(1.0, 0.25)
    one, again, other = (ibhc(POINTS, GAUSS, measure, random_seed=seed) for seed in (4, 4, 5))
    assert np.array_equal(one.tree.left, again.tree.left) and one.log_u == again.log_u
    assert not np.array_equal(one.tree.left, other.tree.left)
    many = ibhc(POINTS, GAUSS, measure, n_passes=6, random_seed=4)
    assert many.log_evidence >= one.log_evidence
    fixed = ibhc(POINTS, GAUSS, measure, n_passes=2, u=7.0, random_seed=4)
    assert fixed.u == pytest.approx(7.0)


@pytest.mark.parametrize("depth", [None, 64, 4])
def test_depth_changes_shape_not_clusters(depth):
    X = np.concatenate([_generator.normal(size=(200, 1)), 50.0 + _generator.normal(size=(100, 1))])
    result = ibhc(X, NormalGamma(20.0, 0.1, 2.0, 1.0), DirichletProcess(1.0), balance_depth=depth, random_seed=1)
    assert result.labels.tolist() == [0] * 200 + [1] * 100


@pytest.mark.parametrize(
    "family, X", [(GAUSS, POINTS), pytest.param(MultinomialDirichlet(0.3), WORDS, marks=pytest.mark.slow)]
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
    families = [GAUSS, MultinomialDirichlet(0.3)]
    first = with_more_rows(families, None, [POINTS[:10], WORDS[:10]], "X")
    both = with_more_rows(families, first, [POINTS[10:12], WORDS[10:12]], "X")
    np.testing.assert_array_equal(both[0], POINTS[:12])
    np.testing.assert_array_equal(both[1].toarray(), WORDS[:12].toarray())
    with pytest.raises(ValueError, match="as many data sets"):
        with_more_rows(families, first, POINTS[10:12], "X")
