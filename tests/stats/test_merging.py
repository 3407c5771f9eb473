"""Fusions against means computed afresh, and their cut against the loss that it lowers."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.stats.merging import cut_fusions, fuse


def random_case(seed, n=14, m=6):
    """Closeness of items, components, and sums over their pairs."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    closeness = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    components = canonical_labels(np.concatenate([np.arange(m), rng.integers(m, size=n - m)]))
    members = np.eye(m)[components]
    return closeness, components, members.T @ closeness @ members


def fold_loss(closeness, labels, omega):
    together = labels[:, None] == labels
    return np.where(together, 1 - closeness, omega * closeness)[np.triu_indices(len(labels), 1)].sum()


@pytest.mark.parametrize("seed", range(5))
def test_every_fusion_joins_the_closest_pair(seed):
    closeness, components, sums = random_case(seed)
    fusions = fuse(sums, np.bincount(components))
    m = len(sums)
    for t in range(m - 1):
        before, after = (cut_fusions(fusions, n_clusters=k)[components] for k in (m - t, m - t - 1))
        means = {(a, b): closeness[np.ix_(before == a, before == b)].mean() for b in range(m - t) for a in range(b)}
        assert fusions.closeness[t] == pytest.approx(max(means.values()), abs=1e-12)
        a, b = max(means, key=means.get)
        assert len(np.unique(after[(before == a) | (before == b)])) == 1
    assert (np.diff(fusions.closeness) <= 1e-12).all()


@pytest.mark.parametrize("omega", [0.3, 1.0, 4.0, 30.0])
def test_the_cut_has_the_least_loss_along_the_tree(omega):
    for seed in range(5):
        closeness, components, sums = random_case(seed)
        fusions = fuse(sums, np.bincount(components))
        chosen = cut_fusions(fusions, 1 / (1 + omega))
        losses = [
            fold_loss(closeness, cut_fusions(fusions, n_clusters=k)[components], omega) for k in range(1, len(sums) + 1)
        ]
        assert fold_loss(closeness, chosen[components], omega) == pytest.approx(min(losses), abs=1e-12)


def test_single_items_give_average_linkage_of_scipy():
    closeness, _, _ = random_case(7)
    n = len(closeness)
    distance = 1 - closeness
    np.fill_diagonal(distance, 0)
    expected = linkage(squareform(distance, checks=False), "average")
    fusions = fuse(closeness, np.ones(n, dtype=int))
    np.testing.assert_allclose(1 - fusions.closeness, expected[:, 2], atol=1e-12)
    for k in (2, 5, 9):
        scipy_labels = canonical_labels(fcluster(expected, k, "maxclust"))
        np.testing.assert_array_equal(cut_fusions(fusions, n_clusters=k), scipy_labels)


def test_one_cluster_has_no_fusions():
    fusions = fuse(np.array([[9.0]]), np.array([3]))
    assert len(fusions.closeness) == 0
    assert cut_fusions(fusions, 0.5).tolist() == [0]
