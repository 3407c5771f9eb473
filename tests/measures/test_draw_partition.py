"""Forward draws of partitions against exact probabilities."""

import math

import numpy as np
import pytest

from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma, NormalizedInverseGaussian
from pymc_nrm.measures.base import draw_partition, log_eppf, n_clusters_log_pmf


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
