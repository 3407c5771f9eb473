"""Small networks and tables, with their posterior by direct formulas over lists of values of blocks."""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from scipy.special import betaln, gammaln, logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.testing import all_partitions
from tests.helpers import label_counts

N = 5


def log_bernoulli(x, a=0.7, b=1.1):
    return betaln(a + sum(x), b + len(x) - sum(x)) - betaln(a, b)


def log_poisson(x, a=1.2, b=0.6, exposure=None):
    e = len(x) if exposure is None else exposure
    total = a * np.log(b) - gammaln(a) + gammaln(a + sum(x)) - (a + sum(x)) * np.log(b + e)
    return total - gammaln(np.asarray(x) + 1.0).sum()


def log_normal(x, mu=0.2, kappa=0.5, alpha=1.5, beta=0.8):
    n, x = len(x), np.asarray(x)
    if n == 0:
        return 0.0
    scatter = ((x - x.mean()) ** 2).sum() + kappa * n / (kappa + n) * (x.mean() - mu) ** 2
    value = (
        gammaln(alpha + n / 2) - gammaln(alpha) + alpha * np.log(beta) - (alpha + n / 2) * np.log(beta + scatter / 2)
    )
    return value + 0.5 * np.log(kappa / (kappa + n)) - n / 2 * np.log(2 * np.pi)


def log_log_normal(x):
    return log_normal(np.log(x)) - np.log(x).sum()


def log_categorical(x, alpha=(0.5, 1.0, 2.0)):
    counts = np.bincount(np.asarray(x, dtype=int), minlength=3)
    return (gammaln(alpha + counts) - gammaln(alpha)).sum() + gammaln(sum(alpha)) - gammaln(sum(alpha) + len(x))


def log_hurdle(log_positive):
    def log_marginal(x):
        x = np.asarray(x)
        return log_bernoulli((x > 0).astype(float)) + log_positive(x[x > 0])

    return log_marginal


class Family(NamedTuple):
    """A family, its log marginal of the values of a block, and a simulation of a matrix (n, m)."""

    family: Any
    log_marginal: Any
    simulate: Any


FAMILIES = {
    "Bernoulli": Family(nrm.BernoulliBeta(0.7, 1.1), log_bernoulli, lambda rng, shape: rng.integers(0, 2, shape)),
    "Poisson": Family(nrm.PoissonGamma(1.2, 0.6), log_poisson, lambda rng, shape: rng.poisson(1.5, shape)),
    "normal": Family(
        nrm.NormalGamma(0.2, 0.5, 1.5, 0.8),
        log_normal,
        lambda rng, shape: 2.0 * rng.integers(0, 2, shape) + rng.normal(size=shape),
    ),
    "log-normal": Family(
        nrm.LogNormalGamma([1], 0.2, 0.5, 1.5, 0.8), log_log_normal, lambda rng, shape: rng.lognormal(size=shape)
    ),
    "categorical": Family(
        nrm.CategoricalDirichlet([0.5, 1.0, 2.0]), log_categorical, lambda rng, shape: rng.integers(0, 3, shape)
    ),
    "hurdle Poisson": Family(
        nrm.HurdlePoisson(0.7, 1.1, 1.2, 0.6),
        log_hurdle(lambda x: log_poisson(x - 1.0)),
        lambda rng, shape: rng.integers(0, 2, shape) * rng.poisson(2.0, shape),
    ),
    "hurdle log-normal": Family(
        nrm.HurdleLogNormal(0.7, 1.1, 0.2, 0.5, 1.5, 0.8),
        log_hurdle(log_log_normal),
        lambda rng, shape: rng.integers(0, 2, shape) * rng.lognormal(size=shape),
    ),
}


def matrix(name, seed, directed=False, gaps=0, n=N):
    """A simulated matrix of a network, with pairs that were not observed."""
    rng = np.random.default_rng(seed)
    A = np.asarray(FAMILIES[name].simulate(rng, (n, n)), dtype="float64")
    for i, j in [(0, 2), (1, 3), (3, 4)][:gaps]:
        A[i, j] = np.nan
    return A if directed else symmetric(A)


def symmetric(A):
    """The matrix with its upper triangle in both."""
    return np.triu(A) + np.triu(A, 1).T


def log_network(A, labels, log_marginal, directed=False, loops=False):
    """Log marginal likelihood of a network by lists of the values of each block."""
    n, values = len(A), {}
    for i, j in itertools.product(range(n), repeat=2):
        if np.isnan(A[i, j]) or (i == j and not loops) or (i > j and not directed):
            continue
        r, s = labels[i], labels[j]
        values.setdefault((r, s) if directed else (min(r, s), max(r, s)), []).append(A[i, j])
    return sum(log_marginal(np.array(x)) for x in values.values())


def log_table(X, rows, columns, log_marginal):
    """Log marginal likelihood of a table."""
    values = {}
    for i, j in np.argwhere(~np.isnan(X)):
        values.setdefault((rows[i], columns[j]), []).append(X[i, j])
    return sum(log_marginal(np.array(x)) for x in values.values())


def log_degree_corrected(A, labels, concentration, directed=False, loops=False, a=1.2, b=0.6):
    """Log marginal likelihood with thetas integrated out; loops that are left out are counts of 0."""
    A = np.array(A)
    if not loops:
        np.fill_diagonal(A, 0.0)
    labels, n_clusters, total = np.asarray(labels), max(labels) + 1, 0.0
    sizes, c = np.bincount(labels), concentration
    both = A.sum(1) + np.diag(A)
    for degrees in [A.sum(1), A.sum(0)] if directed else [both]:
        for r in range(n_clusters):
            k = degrees[labels == r]
            total += k.sum() * np.log(sizes[r]) + gammaln(c * sizes[r]) - gammaln(c * sizes[r] + k.sum())
            total += (gammaln(c + k) - gammaln(c)).sum()
    for r, s in itertools.product(range(n_clusters), repeat=2):
        if r > s and not directed:
            continue
        block = A[np.ix_(labels == r, labels == s)]
        exposure = sizes[r] * sizes[s]
        if r == s and not directed:
            block, exposure = block[np.triu_indices(len(block))], exposure / 2
        total += log_poisson(block.ravel(), a, b, exposure)
    # A loop has half the rate.
    return total if directed else total - np.diag(A).sum() * np.log(2.0)


def partitions_and_posterior(log_likelihood, measure, n=N):
    """All partitions of n items, and their probabilities given data with this log likelihood."""
    partitions = all_partitions(n)
    log_p = [log_eppf(measure, label_counts(labels)) + log_likelihood(labels) for labels in partitions]
    return partitions, np.exp(log_p - logsumexp(log_p))


def network_model(A, family, measure, attributes=None, **options):
    """A model of a network, with attributes of the nodes as a family and data."""
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=np.shape(A)[0])
        nrm.networks.BlockModel("ties", z, family, observed=A, **options)
        if attributes is not None:
            nrm.Mixture("x", z, attributes[0], observed=attributes[1])
    return model
