"""Data with missing entries, whose joint law with partitions is enumerated."""

import functools

import numpy as np
from scipy.special import gammaln

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.testing import all_partitions
from tests.exact.laws import log_marginal_of_wishart
from tests.exact.models import assert_functionals, run_steps
from tests.helpers import assert_law, label_counts, mixture_of

COMPLETE = np.array([[0.2, -0.4], [0.9, 0.8], [2.1, 1.7], [2.9, 3.1]])
GAPS = {
    "two items": [(1, 0), (3, 1)],
    "every item": [(0, 1), (1, 0), (2, 0), (3, 1)],
    "an empty row": [(1, 0), (3, 0), (3, 1)],
    "a third at random": [(0, 0), (2, 1), (3, 1)],
}
COUNTS = np.array([0, 1, 6, 7])
MEASURE = nrm.NormalizedGeneralizedGamma(1.3, 0.3)
MU, KAPPA, PSI, NU = np.array([1.0, 1.5]), 0.6, np.array([[1.4, 0.5], [0.5, 1.1]]), 4.5
CHAINS, DRAWS = 4, 6000


def data(gaps):
    X = COMPLETE.copy()
    X[tuple(np.transpose(GAPS[gaps]))] = np.nan
    return X


def log_marginal_of_counts(y):
    """Poisson counts whose rate has the law Gamma(1, 0.3)."""
    return gammaln(1 + y.sum()) + np.log(0.3) - (1 + y.sum()) * np.log(0.3 + len(y)) - gammaln(y + 1).sum()


@functools.cache
def exact(gaps, counts=False):
    """All partitions, their probabilities, and the mean of each statistic of the missing entries given each of them."""
    places = GAPS[gaps]
    t = np.linspace(-7.0, 7.0, {2: 141, 3: 51, 4: 29}[len(places)])
    axis, log_weight = 1.0 + np.sinh(t), np.log(np.cosh(t))
    grid = np.stack([one.ravel() for one in np.meshgrid(*[axis] * len(places))], axis=1)
    log_weights = sum(one.ravel() for one in np.meshgrid(*[log_weight] * len(places)))
    rows = np.repeat(data(gaps)[None], len(grid), axis=0)
    for entry, (i, j) in zip(grid.T, places, strict=True):
        rows[:, i, j] = entry
    partitions, log_p, means = all_partitions(4), [], []
    for labels in partitions:
        value = log_weights + log_eppf(MEASURE, label_counts(labels))
        for cluster in range(labels.max() + 1):
            value = value + log_marginal_of_wishart(rows[:, labels == cluster], MU, KAPPA, PSI, NU)
            value = value + (log_marginal_of_counts(COUNTS[labels == cluster]) if counts else 0.0)
        log_p.append(np.logaddexp.reduce(value))
        means.append(np.exp(value - log_p[-1]) @ statistics(grid))
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    return partitions, p, np.array(means)


def statistics(entries):
    """Bounded functions of entries (..., m): first and second moments, and products of neighbours."""
    x = np.arctan(entries - 1.0)
    return np.concatenate([x, x**2, x[..., 1:] * x[..., :-1]], axis=-1)


def make_model(gaps, counts=False, **partition):
    with mixture_of(nrm.NormalWishart(MU, KAPPA, PSI, NU), data(gaps), MEASURE, **partition) as model:
        if counts:
            nrm.Mixture("y", model["z"], nrm.PoissonGamma(1.0, 0.3), observed=COUNTS)
    return model


def check(labels, entries, partitions, p, means):
    """Compare chains with probabilities of partitions, and with means of statistics alone and with co-clustering."""
    assert_law(labels, partitions, p)
    together = [labels[..., i] == labels[..., 3] for i in range(3)]
    drawn = [statistics(entries), *(statistics(entries) * one[..., None] for one in together)]
    of_partitions = [np.ones(len(partitions)), *(partitions[:, i] == partitions[:, 3] for i in range(3))]
    expected = np.concatenate([(p * weight) @ means for weight in of_partitions])
    assert_functionals(np.concatenate(drawn, axis=-1), expected)


def chains(steps, model, starts):
    """Labels and missing entries of all draws, shape (chains, draws, ...)."""
    points = [model.initial_point() | {"z": np.array(starts[k % len(starts)])} for k in range(CHAINS)]

    def read(point):
        return point["z"], point["x_missing"]

    drawn = [run_steps(steps, point, np.random.default_rng(k), DRAWS, read) for k, point in enumerate(points)]
    return [np.array(one) for one in zip(*drawn, strict=True)]
