"""Gibbs sampling over a pool of slots, with parameters that are drawn exactly, against enumerated laws."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import MEASURES
from helpers import assert_law, seeded
from laws import CHAINS, draw_tables
from scipy.special import logsumexp
from scipy.stats import chisquare

from pymc_nrm.families import NormalGamma, PoissonGamma
from pymc_nrm.families.product import NoData, NoRows
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import Weights, log_eppf
from pymc_nrm.moves.slot_pool import build_pool, draw_pool, log_truncation, pool_sweep
from pymc_nrm.partitions.labels import all_partitions, canonical_labels, label_counts
from pymc_nrm.testing import exact_posterior, kernel_inputs

Y = np.array([-1.3, -0.4, 0.5, 1.4, 1.9])
PRIOR_SD, SD = 2.0, 0.8
DRAWS = 6_000

MIXTURES = {
    "none": None,
    "NormalGamma": (NormalGamma(0.0, 0.5, 2.0, 1.0), np.array([0.3, -0.5, 0.9, 0.2, 1.0])),
    "Poisson": (PoissonGamma(1.0, 0.5), np.array([1, 0, 2, 4, 3])),
}


class Case(NamedTuple):
    """Numbers of slots and the mean number of empty ones in the pool."""

    max_clusters: int
    mean_empty: float
    mixture: str = "none"


CASES = {
    "fewer slots than items": Case(3, 2.0),
    "as many slots as items": Case(5, 4.0),
    "more slots than items": Case(12, 1.0),
    "two slots": Case(2, 0.5),
    "two slots, large pools": Case(2, 20.0),
    "with a mixture": Case(7, 2.0, "NormalGamma"),
    "with a mixture, few slots": Case(3, 0.7, "Poisson"),
}


class Model(NamedTuple):
    """Numbers of the likelihood: means of slots are normal, and so are items."""

    y: Any
    prior_variance: float
    variance: float


@kernel
def slot_chain(rng, labels, tables, family, data, model, log_ratio, mean_empty, n_draws):
    """Slots after each of ``n_draws`` rounds of exact draws of all means, of a pool, and of the labels within it."""
    n, n_tables, K = labels.shape[0], tables.join.shape[1], log_ratio.shape[0]
    draws = np.empty((n_draws, n), dtype=np.int64)
    labels = labels.copy()
    for t in range(n_draws):
        counts = np.zeros(K, dtype=np.int64)
        sums = np.zeros(K)
        for i in range(n):
            counts[labels[i]] += 1
            sums[labels[i]] += model.y[i]
        n_clusters = (counts > 0).sum()
        weights = Weights(tables.join[n_clusters - 1, t % n_tables], tables.moment[n_clusters - 1, t % n_tables])
        means = np.empty(K)
        for s in range(K):
            precision = 1.0 / model.prior_variance + counts[s] / model.variance
            means[s] = sums[s] / model.variance / precision + rng.normal() / math.sqrt(precision)
        slots, _ = draw_pool(rng, counts, mean_empty)
        table = np.zeros((n, 64))
        place = np.zeros(K, dtype=np.int64)
        for c in range(slots.shape[0]):
            place[slots[c]] = c
            for i in range(n):
                table[i, c] = -0.5 * (model.y[i] - means[slots[c]]) ** 2 / model.variance
        pool = build_pool(place[labels], slots.shape[0], family, data)
        log_empty = weights.join[0] - math.log(mean_empty) + log_ratio
        pool_sweep(rng, pool, weights, family, data, table, log_empty, np.arange(n))
        labels = slots[pool.columns]
        draws[t] = labels
    return draws


@functools.cache
def law(measure, max_clusters, mixture):
    """Partitions into at most ``max_clusters`` clusters and their probabilities."""
    partitions = all_partitions(len(Y))
    if mixture == "none":
        log_p = np.array([log_eppf(MEASURES[measure], label_counts(labels)) for labels in partitions])
    else:
        _, p = exact_posterior(MEASURES[measure], *MIXTURES[mixture])
        log_p = np.log(p)
    for row, labels in enumerate(partitions):
        for cluster in range(labels.max() + 1):
            y = Y[labels == cluster]
            covariance = SD**2 * np.eye(len(y)) + PRIOR_SD**2
            log_p[row] -= 0.5 * (np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y))
    few = partitions.max(axis=1) < max_clusters
    return partitions[few], np.exp(log_p[few] - logsumexp(log_p[few]))


@functools.cache
def tables_of(measure):
    rng = np.random.default_rng([11, *measure.encode()])
    return [draw_tables(rng, MEASURES[measure], len(Y), DRAWS) for _ in range(CHAINS)]


def run(case, measure):
    """Canonical labels of all chains, and slots of all draws."""
    family, data = (NoData(0.0), NoRows(0.0)) if case.mixture == "none" else kernel_inputs(*MIXTURES[case.mixture])
    starts = [np.zeros(5), np.arange(5) % case.max_clusters, np.arange(5) % 2, np.full(5, case.max_clusters - 1)]
    ratio = log_truncation(case.max_clusters, case.mean_empty)
    options = family, data, Model(Y, PRIOR_SD**2, SD**2), ratio, case.mean_empty, DRAWS
    chains = zip(seeded(case, measure).spawn(CHAINS), starts, tables_of(measure), strict=True)
    slots = np.array([slot_chain(rng, start.astype(np.int64), table, *options)[20:] for rng, start, table in chains])
    labels = np.array([canonical_labels(row) for row in slots.reshape(-1, 5)]).reshape(slots.shape)
    return labels, slots


@pytest.mark.quick("fewer slots than items-NGG")
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", CASES)
def test_chain_has_the_law_given_at_most_so_many_clusters(name, measure):
    case = CASES[name]
    labels, slots = run(case, measure)
    assert_law(labels, *law(measure, case.max_clusters, case.mixture))
    # Every slot is equally likely for the first item; every 50th draw is about independent.
    counts = np.bincount(slots[:, ::50, 0].ravel(), minlength=case.max_clusters)
    assert chisquare(counts).pvalue > 1e-5
