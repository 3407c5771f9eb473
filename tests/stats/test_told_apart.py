"""Whether the data tell clusters apart: the agreement of draws, and who is told when they hardly agree."""

import itertools
import warnings

import numpy as np
import pytest
from helpers import in_order, result_of

import pymc_nrm as nrm
from pymc_nrm.run.convergence_report import convergence_report
from pymc_nrm.stats.diagnostics import add_diagnostics
from pymc_nrm.stats.losses import adjusted_rand
from pymc_nrm.stats.partition_convergence import partition_convergence
from pymc_nrm.stats.summary import summary

SENTENCE = "The data hardly tell the clusters of z apart"


def draws_of_two_gaussians(rng, distance, n=120):
    """Independent draws of labels given Gaussians with known parameters, equal weights and a distance in sd."""
    x = rng.normal(size=n) + distance * (np.arange(n) % 2 - 0.5)
    return rng.random((2, 300, n)) < 1 / (1 + np.exp(-distance * x))


def singletons(rng, n=120):
    """One cluster, from which another item is missing in each draw."""
    return np.arange(n) == rng.integers(n, size=(2, 300, 1))


def prior_draws(rng, n=120, alpha=3.0):
    labels = np.zeros((2, 300, n), dtype=int)
    for i, chain, draw in itertools.product(range(1, n), range(2), range(300)):
        row = labels[chain, draw]
        row[i] = row[:i].max() + 1 if rng.random() < alpha / (alpha + i) else row[rng.integers(i)]
    return labels


def as_tree(labels):
    return result_of(z=in_order(labels))


def test_agreement_is_the_adjusted_rand_index_between_draws(rng):
    idata = as_tree(draws_of_two_gaussians(rng, 2.5, n=60))
    rows = idata["posterior"]["z"].values.reshape(600, 60)
    index = adjusted_rand(rows, rows[rng.permutation(600)])
    error = index.std() / np.sqrt(600)
    found = partition_convergence(idata, n_pairs=60 * 59 // 2).draw_agreement
    # Agreement is a ratio of means, the index a mean of ratios: they differ by about 1 / n.
    assert float(found) == pytest.approx(index.mean(), abs=4 * error + 1 / 60)


@pytest.mark.quick("overlap")
@pytest.mark.parametrize(
    ("make", "speaks"),
    [
        (prior_draws, True),
        (lambda rng: draws_of_two_gaussians(rng, 1.0), True),
        (lambda rng: draws_of_two_gaussians(rng, 3.0), False),
        (lambda rng: np.broadcast_to(np.arange(120) % 3, (2, 300, 120)), False),
        (lambda rng: np.zeros((2, 300, 120), dtype=int), False),
        (singletons, False),
    ],
    ids=["prior", "overlap", "apart", "certain", "one", "singletons"],
)
def test_who_is_told(rng, make, speaks):
    idata = add_diagnostics(as_tree(make(rng)), random_seed=1)
    text = convergence_report(idata, idata["partition_stats"].children)
    assert (SENTENCE in text) == speaks
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        summary(idata)
    assert any(SENTENCE in str(warning.message) for warning in caught) == speaks


def test_chains_with_clusters_of_their_own(rng):
    """What each chain is certain of is told apart, however many chains disagree."""
    chains = np.stack([rng.permutation(np.arange(120) % 3) for _ in range(8)])
    idata = add_diagnostics(as_tree(np.repeat(chains[:, None], 200, axis=1)), random_seed=1)
    text = convergence_report(idata, idata["partition_stats"].children)
    assert "chains disagree" in text and SENTENCE not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_features", "distance", "speaks"), [(20, 4.0, True), (2, 9.0, False)], ids=["twonorm", "two groups"]
)
def test_what_a_run_says(rng, caplog, n_features, distance, speaks):
    """Two Gaussians that lie apart in 20 dimensions, where full covariances hide them, and in two."""
    centres = np.array([[-0.5], [0.5]]) * distance / np.sqrt(n_features)
    X = rng.normal(size=(400, n_features)) + np.repeat(centres, 200, axis=0)
    with nrm.gaussian_mixture(X):
        nrm.sample(120, tune=200, chains=2, cores=1, random_seed=1, progressbar=False)
    assert (SENTENCE in caplog.text) == speaks
