"""Rules that the functions of every measure obey, also for hyperparameters at the ends of what doubles hold."""

import math

import numpy as np
import pytest
from scipy import stats

from pymc_nrm.measures import MixtureOfFiniteMixtures, NormalizedGeneralizedGamma, PitmanYorProcess
from pymc_nrm.measures.base import draw_partition, log_eppf, n_clusters_log_pmf, n_clusters_mean
from pymc_nrm.measures.mixture_of_finite_mixtures import LARGEST_GAMMA, LARGEST_RATE
from pymc_nrm.partitions.labels import all_partitions, label_counts
from pymc_nrm.partitions.prediction_rule import log_prediction_rule

ALPHAS = [1e-300, 1e-100, 1e-17, 1e-8, 0.3, 1e8]
SIGMAS = [0.0, 1e-300, 1e-100, 1e-12, 1e-4, 0.5, 1.0 - 1e-6, 1.0 - 2.0**-53]
GENERALIZED_GAMMA = [NormalizedGeneralizedGamma(alpha, sigma) for alpha in ALPHAS for sigma in SIGMAS]
PITMAN_YOR = [
    PitmanYorProcess(d, t)
    for d, t in [
        (0.0, 1e-17),
        (0.0, 1.5),
        (1e-300, 2.0),
        (1e-9, 2.0),
        (0.3, 1.0),
        (0.25, 0.0),
        (0.5, -0.3),
        (0.5, -0.5 + 2.0**-40),
        (0.6, -0.4),
        (0.9, -0.8),
        (0.7, 1e8),
        (1.0 - 2.0**-53, 3.0),
    ]
]
FINITE = [MixtureOfFiniteMixtures(g, rate) for g in (1e-6, 0.02, 1.0, 3.5, 1e3) for rate in (1e-8, 0.3, 5.0, 400.0)]
FINITE += [MixtureOfFiniteMixtures(g, rate) for g, rate in ((LARGEST_GAMMA, 5.0), (1e-300, 5.0), (1.0, 1e-300))]
# The sums have a hundred thousand terms.
LONG = [MixtureOfFiniteMixtures(gamma, LARGEST_RATE) for gamma in (1e-6, 1.0, 1e3)]
ROWS = [pytest.param(row, id=repr(row)) for row in [*GENERALIZED_GAMMA, *PITMAN_YOR, *FINITE]]
ROWS += [pytest.param(row, id=repr(row), marks=pytest.mark.slow) for row in LONG]


def log_of(fraction):
    """Logarithm of a Fraction whose parts doubles may not hold."""
    return math.log(fraction.numerator) - math.log(fraction.denominator)


def log_extensions(measure, counts):
    """Log probabilities of a partition with one more item: in a new cluster, then in any cluster of each size."""
    extensions = [log_eppf(measure, np.array([*counts, 1]))]
    for m in set(counts):
        larger = counts.copy()
        larger[counts.index(m)] += 1
        extensions.append(math.log(counts.count(m)) + log_eppf(measure, np.array(larger)))
    return extensions


@pytest.mark.parametrize("measure", ROWS)
def test_probabilities_of_partitions_obey_the_addition_rule(measure):
    """A partition has the probability of all its extensions by one item together; shares of it are the next item's."""
    assert log_eppf(measure, np.array([1])) == pytest.approx(0.0, abs=1e-10)
    for counts in [[1], [2], [1, 1], [5, 1], [2, 2, 2], [1] * 6, [900, 90, 10], [1] * 100]:
        extensions = np.array(log_extensions(measure, counts))
        total = log_eppf(measure, np.array(counts))
        assert np.logaddexp.reduce(extensions) == pytest.approx(total, rel=1e-13, abs=1e-9), counts
        rule = log_prediction_rule(measure, np.array(counts))
        sizes = list(dict.fromkeys(counts))
        joined = [np.logaddexp.reduce(rule[:-1][np.array(counts) == m]) for m in set(sizes)]
        np.testing.assert_allclose([rule[-1], *joined], extensions - total, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("measure", ROWS)
def test_law_of_the_number_of_clusters(measure):
    exact = np.full(6, -np.inf)
    for counts in map(label_counts, all_partitions(6)):
        exact[len(counts) - 1] = np.logaddexp(exact[len(counts) - 1], log_eppf(measure, counts))
    np.testing.assert_allclose(n_clusters_log_pmf(measure, 6), exact, rtol=1e-12, atol=1e-9)
    assert n_clusters_mean(measure, 6) == pytest.approx(np.exp(exact) @ np.arange(1, 7), rel=1e-8)
    law = np.exp(n_clusters_log_pmf(measure, 300))
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert n_clusters_mean(measure, 300) == pytest.approx(law @ np.arange(1, 301), rel=1e-8)


@pytest.mark.parametrize("measure", ROWS)
def test_forward_draws(measure):
    rng, n_draws = np.random.default_rng(3), 1000
    partitions = all_partitions(4)
    law = np.exp([log_eppf(measure, label_counts(labels)) for labels in partitions])
    draws = np.array([draw_partition(measure, 4, rng) for _ in range(n_draws)])
    found = (draws[:, None] == partitions).all(axis=2).sum(axis=0)
    assert found.sum() == n_draws
    law = np.minimum(law, 1.0)
    assert np.minimum(stats.binom.cdf(found, n_draws, law), stats.binom.sf(found - 1, n_draws, law)).min() > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_items_are_together_as_often_as_the_first_ones(measure, size):
    # By exchangeability each pair or triple is together with the same probability.
    n, n_draws = 60, 1000
    rng = np.random.default_rng(6)
    draws = [np.bincount(draw_partition(measure, n, rng)) for _ in range(n_draws)]
    together = np.array([sum(math.comb(int(m), size) for m in counts) for counts in draws])
    expected = math.comb(n, size) * math.exp(log_eppf(measure, np.array([size])))
    assert abs(together.mean() - expected) < 4.0 * together.std() / math.sqrt(n_draws) + 1e-9


@pytest.mark.parametrize("alpha, sigma", [(1e-6, 0.0), (1e-6, 0.999), (1e6, 0.5), (1.0, 1.0 - 1e-9), (1e6, 1e-12)])
def test_extreme_hyperparameters(alpha, sigma):
    n = 3000
    labels = draw_partition(NormalizedGeneralizedGamma(alpha, sigma), n, np.random.default_rng(1))
    pmf = np.exp(n_clusters_log_pmf(NormalizedGeneralizedGamma(alpha, sigma), n))
    cdf = np.cumsum(pmf)
    k = labels.max() + 1
    assert cdf[k - 1] > 1e-6 and 1.0 - cdf[k - 1] + pmf[k - 1] > 1e-6
