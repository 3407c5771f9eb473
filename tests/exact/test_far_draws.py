"""Draws of partitions of data with an outlier, or in groups far apart."""

import numpy as np
import pymc as pm
import pytest
from helpers import assert_law
from models import run

from pymc_nrm import DirichletProcess, MarginalGibbs, Mixture, NormalGamma, NormalWishart, Partition
from pymc_nrm.testing import exact_posterior

MEASURE = DirichletProcess(1.0)
BULK = np.random.default_rng(3).normal(size=12)


def draws(family, X, n_draws):
    """Labels, shape (chains, draws, n), and statistics."""
    with pm.Model():
        z = Partition("z", MEASURE, n=len(X))
        Mixture("x", z, family, observed=X)
        step = MarginalGibbs([z], rng=1)
    return run(step, len(X), np.random.default_rng(7), n_draws)


@pytest.mark.slow
def test_draws_with_an_outlier_have_the_posterior_law():
    X = np.append(BULK[:5], 1e9)
    family = NormalGamma(mu=0.0, kappa=0.1, alpha=2.0, beta=1.0)
    labels, _ = draws(family, X, 10_000)
    partitions, probabilities = exact_posterior(MEASURE, family, X)
    assert_law(labels, partitions, probabilities)


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1e8, 1e9])
@pytest.mark.parametrize("d", [1, 2])
def test_far_groups_are_never_mixed(distance, d):
    X = BULK[:, None] + np.zeros(d)
    X[:, -1] = BULK[::-1]
    X += distance * (np.arange(12) % 2)[:, None]
    family = NormalGamma(0.0, 0.1, 2.0, 1.0) if d == 1 else NormalWishart(np.zeros(2), 0.1, np.eye(2), 6.0)
    labels, statistics = draws(family, X, 200)
    assert np.isfinite([stats["log_joint"] for stats in statistics]).all()
    settled = labels[:, 20:]
    for first in range(0, 12, 2):
        assert (settled[..., first, None] != settled[..., 1::2]).all()


def test_values_beyond_doubles_stop_the_step():
    with pm.Model():
        z = Partition("z", MEASURE, n=6)
        Mixture("x", z, NormalGamma(0.0, 0.1, 2.0, 1.0), observed=np.append(BULK[:5], 1e12))
        with pytest.raises(ValueError, match=r"data of 'x': item 5, feature 0 .*1e\+12"):
            MarginalGibbs([z], rng=1)
