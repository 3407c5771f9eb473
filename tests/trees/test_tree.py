"""Structure of trees, however they are made."""

import numpy as np
import pytest
from tree_reference import below, random_tree

from pymc_nrm.moves.guide_trees.tree import build_tree, check_tree, cut_tree, leaves, lowest_common_ancestor


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


def test_check_finds_damage(rng):
    tree = random_tree(rng, 9)
    for name in tree._fields:
        field = getattr(tree, name).copy()
        field[0], field[-1] = field[-1] + 1, field[0] + 1
        with pytest.raises(ValueError, match="not a valid tree"):
            check_tree(tree._replace(**{name: field}))
