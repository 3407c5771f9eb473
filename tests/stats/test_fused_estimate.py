"""Overlaps against enumeration of companions, fusions against overlaps computed afresh, and groups of known shape."""

import numpy as np
import pytest
import xarray as xr
from scipy.cluster.hierarchy import fcluster

from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.stats import expected_loss, fused_estimate, point_estimate
from pymc_nrm.stats.merging import (
    companion_shares,
    cut_fusions,
    expected_companions,
    fuse,
    overlap_matrix,
)


def as_draws(partitions, **kwargs):
    rows = np.array([canonical_labels(row) for row in partitions])
    return xr.DataArray(rows[None], dims=("chain", "draw", "obs"), name="z", **kwargs)


def random_draws(seed, n=12, n_draws=30, n_clusters=5):
    rng = np.random.default_rng(seed)
    center = rng.integers(n_clusters, size=n)
    moved = rng.random((n_draws, n)) < 0.3
    partitions = np.where(moved, rng.integers(n_clusters, size=(n_draws, n)), center)
    return np.array([canonical_labels(row) for row in partitions]), canonical_labels(center)


def border_draws(rng, positions, borders, noise, n_draws=200):
    """Draws in which items at positions on a line are cut at borders, each shifted a little in every draw."""
    shifted = borders + noise * rng.standard_normal((n_draws, len(borders)))
    return np.array([np.searchsorted(np.sort(cut), positions) for cut in shifted])


def test_companions_are_those_of_enumeration():
    partitions, labels = random_draws(1)
    expected = np.zeros((labels.max() + 1,) * 2)
    shares = np.zeros((len(labels), labels.max() + 1))
    for row in partitions:
        for i in range(len(row)):
            members = np.flatnonzero(row == row[i])
            for j in members:
                expected[labels[i], labels[j]] += 1 / len(members) / len(partitions)
                shares[i, labels[j]] += 1 / len(members) / len(partitions)
    companions = expected_companions(labels, partitions)
    np.testing.assert_allclose(companions, expected, atol=1e-12)
    np.testing.assert_allclose(companions, companions.T, atol=1e-12)
    np.testing.assert_allclose(companions.sum(axis=1), np.bincount(labels), atol=1e-12)
    np.testing.assert_allclose(companion_shares(labels, partitions), shares, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_fusion_is_of_the_pair_with_the_largest_overlap(seed):
    partitions, labels = random_draws(seed)
    fusions = fuse(expected_companions(labels, partitions))
    m = labels.max() + 1
    for t in range(m - 1):
        before, after = (cut_fusions(fusions, n_clusters=k)[labels] for k in (m - t, m - t - 1))
        overlap = overlap_matrix(expected_companions(before, partitions))
        either = np.maximum(overlap, overlap.T) - 2 * np.eye(len(overlap))
        assert fusions.overlap[t] == pytest.approx(either.max(), abs=1e-12)
        joined = {tuple(np.unique(before[after == k])) for k in np.unique(after)}
        pair = next(group for group in joined if len(group) == 2)
        assert either[pair] == pytest.approx(either.max(), abs=1e-12)


def test_the_tree_is_one_of_scipy():
    partitions, labels = random_draws(3)
    fused = fused_estimate(as_draws(partitions), labels, n_clusters=2)
    m = fused.sizes["component"]
    heights = np.arange(1.0, m)
    linkage = np.column_stack([fused.fusion_first, fused.fusion_second, heights, np.zeros(m - 1)])
    for t in range(m - 1):
        of_node = [1 if k < m else linkage[int(k) - m, 3] for k in linkage[t, :2]]
        linkage[t, 3] = sum(of_node)
    expected = canonical_labels(fcluster(linkage, heights[m - 3], "distance"))
    np.testing.assert_array_equal(fused.component_cluster, expected)


def test_a_chain_of_components_is_one_cluster_and_separate_groups_stay():
    """A long group cut into four at borders that move, and a group apart that no draw joins."""
    rng = np.random.default_rng(1)
    positions = np.concatenate([np.linspace(0, 4, 80), np.linspace(10, 11, 20)])
    rows = border_draws(rng, positions, np.array([1.0, 2.0, 3.0, 7.0]), 0.15)
    draws = as_draws(rows)
    components = np.searchsorted([1.0, 2.0, 3.0, 7.0], positions)
    fused = fused_estimate(draws, components)
    np.testing.assert_array_equal(fused.labels, np.repeat([0, 1], [80, 20]))
    assert fused.n_clusters == 2 and fused.n_fusions == 3
    # The ends of the chain never share a cluster: it is fused by its links.
    assert fused.component_overlap[0, 3] == 0.0
    assert fused.fusion_overlap[:3].min() > 0.05 and fused.fusion_overlap[3] == 0.0
    np.testing.assert_array_equal(fused.component_labels, components)
    np.testing.assert_allclose(fused.probability, np.eye(2)[fused.labels], atol=1e-12)


def test_groups_that_exchange_few_items_stay_apart():
    """Two of a hundred items change sides at random: an overlap of two percent times a half."""
    rng = np.random.default_rng(2)
    rows = np.repeat([np.repeat([0, 1], 50)], 500, axis=0)
    rows[:, 49:51] = rng.integers(2, size=(500, 2))
    labels = np.repeat([0, 1], 50)
    fused = fused_estimate(as_draws(rows), labels)
    np.testing.assert_array_equal(fused.labels, labels)
    assert 0.005 < fused.fusion_overlap.item() < 0.03
    np.testing.assert_array_equal(fused_estimate(as_draws(rows), labels, overlap=0.005).labels, 0)


def test_names_of_labels_and_order_of_items_do_not_matter():
    partitions, labels = random_draws(5)
    rng = np.random.default_rng(5)
    fused = fused_estimate(as_draws(partitions), labels, overlap=0.1)
    renamed = np.array([rng.permutation(20)[row] for row in partitions])
    again = fused_estimate(as_draws(renamed), (7, 3, 9, 1, 4)[:5][labels.max()] - labels + 10, overlap=0.1)
    np.testing.assert_array_equal(again.labels, fused.labels)
    order = rng.permutation(len(labels))
    moved = fused_estimate(as_draws(partitions[:, order]), labels[order], overlap=0.1)
    np.testing.assert_array_equal(canonical_labels(fused.labels.values[order]), moved.labels)
    np.testing.assert_allclose(moved.fusion_overlap, fused.fusion_overlap, atol=1e-12)


def test_result_has_the_conventions_of_point_estimate():
    partitions, _ = random_draws(6)
    draws = as_draws(partitions, coords={"obs": list("abcdefghijkl")})
    estimate = point_estimate(draws, loss="binder_loss", random_seed=1)
    fused = fused_estimate(draws, loss="binder_loss", random_seed=1)
    np.testing.assert_array_equal(fused.component_labels, estimate.labels)
    xr.testing.assert_equal(fused, fused_estimate(draws, estimate, loss="binder_loss"))
    assert fused.labels.dims == estimate.labels.dims and fused.obs.equals(estimate.obs)
    assert fused.attrs["loss"] == "binder_loss" and fused.attrs["cost_false_join"] == 1.0
    loss = expected_loss(fused.labels, draws, loss="binder_loss")
    assert fused.expected_loss == pytest.approx(float(loss.expected_loss)) and fused.expected_loss >= estimate.expected_loss
    np.testing.assert_allclose(fused.probability.sum("cluster"), 1.0)
    one = fused_estimate(draws, np.zeros(12, dtype=int))
    assert one.n_clusters == 1 and one.sizes["fusion"] == 0 and one.n_fusions == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"overlap": 0.0}, "overlap must be above 0 and at most 1; got 0"),
        ({"overlap": "half"}, "overlap must be above 0 and at most 1; got 'half'"),
        ({"overlap": 0.1, "n_clusters": 2}, "give either overlap or n_clusters, not both; got 0.1 and 2"),
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1; got 0"),
        ({"n_clusters": 3}, "n_clusters must be at most 2, the number of components of the estimate; got 3"),
        ({"estimate": [0, 1]}, r"estimate must have shape \(4,\)"),
    ],
)
def test_arguments_that_are_not_allowed(arguments, message):
    draws = as_draws([[0, 0, 1, 1], [0, 0, 0, 1]])
    with pytest.raises(ValueError, match=message):
        fused_estimate(draws, **({"estimate": [0, 0, 1, 1]} | arguments))
