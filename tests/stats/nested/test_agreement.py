"""Agreement with a truth, against scikit-learn where it is installed, and against lists of pairs and triplets."""

import itertools

import numpy as np
import pytest
from nested_cases import canonical_levels, random_draws
from test_trees import chains_of

from pymc_nrm import stats


def test_against_scikit_learn(rng):
    metrics = pytest.importorskip("sklearn.metrics")
    for n, n_clusters, n_classes in [(30, 4, 3), (50, 1, 5), (20, 6, 1), (8, 8, 8), (1, 1, 1), (5, 1, 1)]:
        labels, truth = rng.integers(n_clusters, size=n), rng.integers(n_classes, size=n)
        for other in (truth, labels):
            expected = metrics.normalized_mutual_info_score(other, labels)
            assert stats.normalized_mutual_information(labels, other) == pytest.approx(expected, abs=1e-12)
            table = metrics.cluster.contingency_matrix(other, labels)
            assert stats.purity(labels, other) == pytest.approx(table.max(axis=0).sum() / n)
            f = sum(
                (other == c).mean() * max(metrics.f1_score(other == c, labels == k) for k in set(labels.tolist()))
                for c in set(other.tolist())
            )
            assert stats.f_measure(labels, other) == pytest.approx(f)
            assert stats.adjusted_rand(labels, other) == pytest.approx(metrics.adjusted_rand_score(other, labels))


def test_levels_of_draws_and_trees(rng):
    draws, truth = random_draws(rng, n=8), chains_of(random_draws(rng, n=8, n_draws=1, n_chains=1))[0]
    result, labels = stats.level_agreement(draws, truth), canonical_levels(draws)
    assert result.purity.dims == ("chain", "draw", "level") and result.n_classes.dims == ("level",)
    for chain, draw, level in itertools.product(range(2), range(20), range(3)):
        row = labels[chain, draw, level]
        assert result.n_clusters[chain, draw, level] == row.max() + 1
        assert result.purity[chain, draw, level] == stats.purity(row, truth[level])
        assert result.adjusted_rand[chain, draw, level] == pytest.approx(stats.adjusted_rand(row, truth[level]))
        assert result.f_measure[chain, draw, level] == stats.f_measure(row, truth[level])
    one = stats.level_agreement(stats.ItemTree.from_levels(labels[0, 0]), stats.ItemTree.from_levels(truth))
    n_levels = one.sizes["level"]
    np.testing.assert_allclose(one.f_measure, result.f_measure[0, 0, :n_levels])
    perfect = stats.level_agreement(truth, truth[:2])
    assert perfect.sizes["level"] == 2
    for name in ("purity", "normalized_mutual_information", "adjusted_rand", "f_measure"):
        np.testing.assert_allclose(perfect[name], 1.0)
    with pytest.raises(ValueError, match=r"truth must have shape \(8,\), one class for each item; got shape \(7,\)"):
        stats.level_agreement(draws, truth[:, 1:])
    with pytest.raises(ValueError, match=r"truth must be an ItemTree or have shape \(L, n\); got shape \(8,\)"):
        stats.level_agreement(draws, truth[0])


def smallest_common(tree, *items):
    return min(
        (set(tree.positions(k).tolist()) for k in range(tree.n_nodes) if set(items) <= set(tree.positions(k).tolist())),
        key=len,
    )


def test_dendrogram_purity_and_triplets(rng):
    for _ in range(10):
        chains = chains_of(random_draws(rng, n=8, n_draws=2, n_chains=1))
        tree, truth = stats.ItemTree.from_levels(chains[0]), stats.ItemTree.from_levels(chains[1])
        classes = rng.integers(3, size=8)
        shares = [
            np.mean(classes[list(smallest_common(tree, i, j))] == classes[i])
            for i, j in itertools.combinations(range(8), 2)
            if classes[i] == classes[j]
        ]
        assert stats.dendrogram_purity(tree, classes) == pytest.approx(np.mean(shares))

        right = []
        for triplet in itertools.combinations(range(8), 3):
            closest = []
            for one in (tree, truth):
                sizes = [len(smallest_common(one, *pair)) for pair in itertools.combinations(triplet, 2)]
                closest.append(sizes.index(min(sizes)) if sizes.count(min(sizes)) == 1 else -1)
            if closest[1] >= 0:
                right.append(closest[0] == closest[1])
        if right:
            assert stats.triplet_accuracy(tree, truth) == pytest.approx(np.mean(right))
            assert stats.triplet_accuracy(truth, truth) == 1.0
    assert np.isnan(stats.dendrogram_purity(tree, np.arange(8)))
    assert np.isnan(stats.triplet_accuracy(tree, stats.ItemTree.from_levels([[0] * 8])))


def test_random_triplets_estimate_the_share(rng):
    chains = chains_of(random_draws(rng, n=60, n_draws=2, n_chains=1))
    tree, truth = (stats.ItemTree.from_levels(chain) for chain in chains)
    whole = stats.triplet_accuracy(tree, truth)
    few = [stats.triplet_accuracy(tree, truth, n_triplets=2000, random_seed=seed) for seed in range(20)]
    assert abs(np.mean(few) - whole) < 4 * np.std(few) / np.sqrt(20)


def test_errors(rng):
    tree = stats.ItemTree.from_levels([[0, 0, 1]])
    with pytest.raises(TypeError, match="tree must be an ItemTree; got list"):
        stats.dendrogram_purity([[0, 0, 1]], [0, 0, 1])
    with pytest.raises(ValueError, match=r"classes must have shape \(3,\); got shape \(2,\)"):
        stats.dendrogram_purity(tree, [0, 1])
    with pytest.raises(ValueError, match="truth must be a tree of the same items as tree"):
        stats.triplet_accuracy(tree, stats.ItemTree.from_levels([[0, 0, 1]], names=["a", "b", "c"]))
    with pytest.raises(ValueError, match="n_triplets must be a whole number of at least 1"):
        stats.triplet_accuracy(tree, tree, n_triplets=0)
