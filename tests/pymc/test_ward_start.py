"""Starts from Ward linkage: which labels are taken, and that a chain keeps them."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import pymc_nrm as nrm
from pymc_nrm.moves.tree_guided import better_start, gaussian_score, is_worth_trying


def two_groups(n, d=20):
    """Two Gaussians four standard deviations apart, which no feature shows."""
    truth = np.arange(n) % 2
    return np.random.default_rng(1).normal(size=(n, d)) + 4.0 / np.sqrt(d) * truth[:, None], truth


def share_of_right(labels, truth):
    return abs((labels == truth).mean() - 0.5) + 0.5


def test_score_is_the_largest_likelihood_less_the_cost_of_parameters(rng):
    points, labels = rng.normal(size=(40, 2)) + np.arange(40)[:, None] // 25, np.arange(40) // 25
    points[labels == 1] *= [1.0, 0.1]
    parts = [points[labels == k] for k in range(2)]
    pooled = sum(len(part) * np.cov(part.T, bias=True) for part in parts) / 40

    def score(covariances, n_parameters):
        total = -0.5 * np.log(40) * n_parameters
        for part, covariance in zip(parts, covariances, strict=True):
            total += multivariate_normal(part.mean(axis=0), covariance).logpdf(part).sum()
            total += len(part) * np.log(len(part) / 40)
        return total

    # Weights count as one number for each cluster; the scores lack the constant of Gaussian densities.
    alike, apart = score([pooled] * 2, 2 * 3 + 3), score([np.cov(part.T, bias=True) for part in parts], 2 * 3 + 6)
    constant = -0.5 * 40 * 2 * (1 + np.log(2 * np.pi))
    assert apart > alike + 5
    np.testing.assert_allclose(gaussian_score(points, labels) + constant, apart)
    # With three items, the second cluster has no covariance of its own.
    few = np.where(np.arange(40) < 37, 0, 1)
    parts = [points[few == k] for k in range(2)]
    pooled = sum(len(part) * np.cov(part.T, bias=True) for part in parts) / 40
    np.testing.assert_allclose(gaussian_score(points, few) + constant, score([pooled] * 2, 9))
    assert gaussian_score(points[:, [0, 0]], labels) == -np.inf


def test_the_best_labels_are_taken():
    points, truth = two_groups(500)
    for seed in range(3):
        found = better_start(np.random.default_rng(seed), points, np.zeros(500, dtype=np.int64))
        assert found.max() == 1 and share_of_right(found, truth) > 0.9
    assert better_start(np.random.default_rng(0), points, truth) is truth
    flat = np.hstack([points, points[:, :1]])
    assert len(better_start(np.random.default_rng(0), flat, truth)) == 500
    assert is_worth_trying(40, 8) and not is_worth_trying(39, 8) and not is_worth_trying(1000, 7)


@pytest.mark.slow
def test_a_chain_keeps_two_clusters_that_the_guide_tree_joins():
    X, truth = two_groups(600)
    with nrm.gaussian_mixture(X):
        idata = nrm.sample(
            20, tune=80, chains=2, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
    for labels in idata["posterior"]["z"].values[:, -1]:
        assert share_of_right(labels, truth) > 0.92
        assert (np.bincount(labels) > 30).sum() == 2
