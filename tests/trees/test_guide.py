"""Guide trees, features, linkage matrices and checks of arguments."""

import numpy as np
import pymc as pm
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, is_monotonic, is_valid_linkage, linkage

import pymc_nrm as nrm
from pymc_nrm.families.features import features
from pymc_nrm.families.product import NoData, NoRows
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees import guide_tree as guide
from pymc_nrm.moves.guide_trees.guide_tree import near_sampled_items
from pymc_nrm.moves.guide_trees.tree import build_tree, check_tree, cut_tree, leaves, lowest_common_ancestor
from pymc_nrm.trees import bhc, guide_tree, ibhc
from pymc_nrm.trees.inputs import family_and_data
from tests.helpers import canonical_labels, refused
from tests.trees.tree_reference import below, random_tree

MEASURE = nrm.NormalizedGeneralizedGamma(0.8, 0.3)
GAUSS = nrm.NormalGamma(0.0, 0.1, 2.0, 0.5)

_rng = np.random.default_rng(3)
_half = np.arange(40) % 2
DATA = {
    "NormalGamma": (nrm.NormalGamma(4.5, 0.01, 2.0, 2.0), 9.0 * _half[:, None] + _rng.normal(size=(40, 2))),
    "BernoulliBeta": (nrm.BernoulliBeta(0.5, 0.5), (_rng.random((40, 30)) < 0.1 + 0.8 * _half[:, None]).astype(float)),
    "PoissonGamma": (nrm.PoissonGamma(0.5, 0.1), _rng.poisson(2.0 + 40.0 * _half[:, None], size=(40, 2))),
    "CategoricalDirichlet": (
        nrm.CategoricalDirichlet(0.5),
        np.where(_rng.random((40, 20)) < 0.1, np.nan, 2.0 * _half[:, None] + (_rng.random((40, 20)) < 0.2)),
    ),
    "MultinomialDirichlet": (
        nrm.MultinomialDirichlet(0.1),
        sparse.csr_array(_rng.poisson(0.02 + 0.5 * (np.arange(400) % 2 == _half[:, None]))),
    ),
}
DATA["several"] = ([DATA[k][0] for k in ("NormalGamma", "PoissonGamma")], [DATA[k][1] for k in DATA][0:3:2])


@pytest.mark.parametrize("name", DATA)
def test_features_separate_what_is_apart(name):
    _, data, n = family_and_data(*DATA[name])
    X = features(data, np.random.default_rng(0))
    assert X.shape[0] == n and np.isfinite(X).all()
    tree = build_tree(linkage(X, method="ward")[:, :2])
    assert len(set(_half[leaves(tree, tree.left[-1])])) == 1
    assert len(set(_half[leaves(tree, tree.right[-1])])) == 1


def test_features_of_odd_data():
    values = np.array([[1.0, np.nan, np.nan], [1.0, 2.0, np.nan], [1.0, 4.0, np.nan]])
    _, data, _ = family_and_data(GAUSS, values)
    np.testing.assert_allclose(features(data, None)[:, 1], [0.0, -(1.5**0.5), 1.5**0.5])
    assert not features(data, None)[:, [0, 2]].any()
    _, data, _ = family_and_data(nrm.MultinomialDirichlet(1.0), np.zeros((3, 4), dtype=int))
    assert not features(data, None).any()


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_guide_trees(n, rng):
    family, X = DATA["NormalGamma"]
    family, data, n = family_and_data(family, X[:n])
    tree = guide_tree(rng, weights(MEASURE, n, 1.0), family, data)
    check_tree(tree)
    if n == 40:
        assert cut_tree(tree).tolist() == _half.tolist()


def test_guide_trees_of_a_sample(monkeypatch, rng):
    monkeypatch.setattr(guide, "MOST_GUIDE_ITEMS", 20)
    monkeypatch.setattr(guide, "GUIDE_SAMPLE", 15)
    family, data, n = family_and_data(*DATA["NormalGamma"])
    tree = guide_tree(rng, weights(MEASURE, n, 1.0), family, data)
    check_tree(tree)
    assert cut_tree(tree).tolist() == _half.tolist()
    assert np.isneginf(tree.log_dissimilarity).sum() == n - 15
    monkeypatch.setattr(guide, "_LEAST_PART", 8)
    chances = np.diff(guide.make_guide(tree, family, data).cumulative, prepend=0.0)
    left_out = (tree.size[n:] < 5) & (tree.log_dissimilarity[n:] <= 0.0)
    assert left_out.any()
    assert np.array_equal(chances > 0.0, ~left_out)
    points = rng.normal(size=(300, 2))
    sample = rng.permutation(300)[:100]
    near = near_sampled_items(points, sample)
    assert np.array_equal(near[sample], sample)
    distances = ((points[:, None] - points[sample]) ** 2).sum(axis=2)
    assert (((points - points[near]) ** 2).sum(axis=1) <= np.quantile(distances, 0.2, axis=1)).all()


@pytest.mark.slow
def test_guide_tree_without_data(rng):
    assert bhc([1.0], GAUSS, MEASURE, random_seed=1).to_linkage().shape == (0, 4)
    check_tree(guide_tree(rng, weights(MEASURE, 50, 1.0), NoData(0.0), NoRows(0.0)))


@pytest.mark.parametrize("algorithm", [bhc, ibhc])
@pytest.mark.parametrize("scale", [0.3, 3.0, 1e5])
def test_linkage(algorithm, scale, rng):
    X = scale * rng.normal(size=(60, 2))
    for u in (1.0, 1e4):
        result = algorithm(X, GAUSS, MEASURE, u=u, random_seed=1)
        Z = result.to_linkage()
        assert is_valid_linkage(Z, throw=True) and is_monotonic(Z)
        assert Z[:, 2].min() >= 1.0
        flat = fcluster(Z, result.cut_height, criterion="distance")
        assert canonical_labels(flat).tolist() == result.labels.tolist()
        # The nodes are those of the tree, whatever their numbers.
        tree = build_tree(Z[:, :2].astype(int))
        ours, theirs = ({frozenset(leaves(t, v)) for v in range(60, 119)} for t in (result.tree, tree))
        assert ours == theirs


ALPHA = pm.Gamma.dist(1.0, 1.0)
test_bad_arguments = refused(
    lambda algorithm, X, family, measure, options: algorithm(X, family, measure, **options),
    *(
        (algorithm, *row)
        for algorithm in (bhc, ibhc)
        for row in (
            ([1.0, 2.0], GAUSS, nrm.DirichletProcess(-1.0), {}, ValueError, "alpha of DirichletProcess"),
            ([1.0, 2.0], GAUSS, "DP", {}, TypeError, "must be a measure"),
            ([1.0, 2.0], "gauss", MEASURE, {}, TypeError, "must be a family"),
            ([[1.0, 2.0]], nrm.NormalWishart(0.0, 1.0, np.eye(2), 1.0), MEASURE, {}, ValueError, "nu of NormalWishart"),
            ([], GAUSS, MEASURE, {}, ValueError, "X must have at least one row"),
            ([1.0, 2.0], GAUSS, MEASURE, {"u": 0.0}, ValueError, "u must be"),
            ([1.0, 2.0], GAUSS, nrm.DirichletProcess(ALPHA), {}, TypeError, "must be a number"),
            ([1.0, 2.0], nrm.NormalGamma(ALPHA, 1.0, 1.0, 1.0), MEASURE, {}, TypeError, "must be a number"),
        )
    ),
    (ibhc, [1.0, 2.0], GAUSS, MEASURE, {"n_passes": 0}, ValueError, "n_passes"),
    (ibhc, [1.0, 2.0], GAUSS, MEASURE, {"n_passes": 1.5}, ValueError, "n_passes"),
    (ibhc, [1.0, 2.0], GAUSS, MEASURE, {"balance_depth": -1}, ValueError, "balance_depth must be .* least 0; got -1"),
    (ibhc, [1.0, 2.0], GAUSS, MEASURE, {"balance_depth": 2**63}, ValueError, f"balance_depth .* 0 and {2**62}"),
)


def caterpillar(n):
    return np.column_stack([np.concatenate([[0], n + np.arange(n - 2)]), np.arange(1, n)])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 20, 101])
def test_random_merges_give_valid_trees(n, rng):
    for _ in range(5):
        log_d = rng.normal(size=n - 1)
        tree = random_tree(rng, n, log_d)
        check_tree(tree)
        assert np.array_equal(tree.log_dissimilarity[n:], log_d)
        assert [set(leaves(tree, v).tolist()) for v in range(2 * n - 1)] == below(tree)


def test_lowest_common_ancestor(rng):
    n = 30
    tree = random_tree(rng, n)
    sets = below(tree)
    for i, j in rng.integers(2 * n - 1, size=(100, 2)):
        expected = min((v for v in range(2 * n - 1) if sets[i] | sets[j] <= sets[v]), key=lambda v: len(sets[v]))
        assert lowest_common_ancestor(tree, i, j) == expected


def test_deep_caterpillar():
    n = 100_000
    tree = build_tree(caterpillar(n))
    check_tree(tree)
    assert lowest_common_ancestor(tree, 0, n - 1) == 2 * n - 2
    assert cut_tree(tree, -1.0).max() == n - 1
    assert cut_tree(tree).max() == 0


def test_cut_is_taken_from_above():
    tree = build_tree([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]], [2.0, -1.0, 3.0, -0.5, 1.0, 4.0][:6])
    # Nodes: 7 = {0, 1} d > 1, 8 = {2, 3}, 9 = {4, 5} d > 1, 10 = {6, 0, 1}, 11 = {2, 3, 4, 5} d > 1, 12 the root.
    assert cut_tree(tree).tolist() == [0, 0, 1, 1, 2, 3, 0]


@pytest.mark.parametrize(
    "merges", [[[0, 0]], [[0, 1], [0, 2]], [[0, 4], [1, 2]], [[-1, 0]], [[0, 3], [1, 2]], [[0, 1, 2]], [0, 1]]
)
def test_bad_merges_are_refused(merges):
    with pytest.raises(ValueError, match="merge"):
        build_tree(merges)
