"""Forward draws of partitions against exact probabilities."""

import math

import numpy as np
import pytest
from scipy import stats

from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma, NormalizedInverseGaussian
from pymc_nrm.measures.base import draw_partition, log_eppf, n_clusters_log_pmf


def test_frequencies_are_the_probabilities(measure, set_partitions):
    n, n_draws = 5, 3000
    rng = np.random.default_rng(105)
    exact = {labels.tobytes(): math.exp(log_eppf(measure, np.bincount(labels))) for labels in set_partitions(n)}
    observed = dict.fromkeys(exact, 0)
    for _ in range(n_draws):
        observed[draw_partition(measure, n, rng).tobytes()] += 1
    probabilities, counts = np.array(list(exact.values())), np.array(list(observed.values()))
    z = (counts - n_draws * probabilities) / np.sqrt(n_draws * probabilities * (1.0 - probabilities))
    common = n_draws * probabilities > 10.0
    assert np.abs(z[common]).max() < 4.5
    # Pool partitions that are too rare for a separate comparison.
    counts = np.append(counts[common], counts[~common].sum())
    expected = n_draws * np.append(probabilities[common], probabilities[~common].sum())
    kept = expected > 1.0
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    assert stats.chi2(max(kept.sum() - 1, 1)).sf(statistic) > 1e-4


@pytest.mark.parametrize("size", [2, 3])
def test_items_are_together_as_often_as_the_first_ones(measure, size):
    # By exchangeability each pair or triple is together with the same probability.
    n, n_draws = 60, 1000
    rng = np.random.default_rng(6)
    draws = [np.bincount(draw_partition(measure, n, rng)) for _ in range(n_draws)]
    together = np.array([sum(math.comb(int(m), size) for m in counts) for counts in draws])
    expected = math.comb(n, size) * math.exp(log_eppf(measure, np.array([size])))
    assert abs(together.mean() - expected) < 4.0 * together.std() / math.sqrt(n_draws) + 1e-9


@pytest.mark.parametrize("n", [200, 2000])
def test_mean_of_n_clusters(measure, n):
    rng = np.random.default_rng(5)
    n_draws = 200
    sizes = np.array([draw_partition(measure, n, rng).max() + 1 for _ in range(n_draws)])
    pmf = np.exp(n_clusters_log_pmf(measure, n))
    k = np.arange(1, n + 1)
    mean = pmf @ k
    sd = math.sqrt(pmf @ (k - mean) ** 2)
    assert abs(sizes.mean() - mean) < 4.5 * sd / math.sqrt(n_draws) + 1e-6


def test_labels_appear_in_order(measure):
    labels = draw_partition(measure, 300, np.random.default_rng(2))
    assert labels.dtype == np.int64
    new = labels[np.sort(np.unique(labels, return_index=True)[1])]
    np.testing.assert_array_equal(new, np.arange(labels.max() + 1))


@pytest.mark.parametrize("n", [0, 1])
def test_few_items(measure, n):
    np.testing.assert_array_equal(draw_partition(measure, n, np.random.default_rng(1)), np.zeros(n))


@pytest.mark.parametrize("alpha, sigma", [(1e-6, 0.0), (1e-6, 0.999), (1e6, 0.5), (1.0, 1.0 - 1e-9), (1e6, 1e-12)])
def test_extreme_hyperparameters(alpha, sigma):
    n = 3000
    labels = draw_partition(NormalizedGeneralizedGamma(alpha, sigma), n, np.random.default_rng(1))
    pmf = np.exp(n_clusters_log_pmf(NormalizedGeneralizedGamma(alpha, sigma), n))
    cdf = np.cumsum(pmf)
    k = labels.max() + 1
    assert cdf[k - 1] > 1e-6 and 1.0 - cdf[k - 1] + pmf[k - 1] > 1e-6


def test_the_three_classes_agree_where_they_coincide():
    rng = np.random.default_rng(9)
    n_draws, n = 1500, 30
    for one, other in [
        (DirichletProcess(2.0), NormalizedGeneralizedGamma(2.0, 0.0)),
        (NormalizedInverseGaussian(2.0), NormalizedGeneralizedGamma(2.0, 0.5)),
    ]:
        first, second = (
            np.array([draw_partition(measure, n, rng).max() for _ in range(n_draws)]) for measure in (one, other)
        )
        error = math.sqrt((first.var() + second.var()) / n_draws)
        assert abs(first.mean() - second.mean()) < 4.5 * error
