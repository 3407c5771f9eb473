"""Whether ranks are uniform: empirical distribution functions with simultaneous bands.

Säilynoja, Bürkner & Vehtari (2022), "Graphical test for discrete uniformity and its applications in goodness-of-fit
evaluation and multiple sample comparison".
"""

import functools

import numpy as np
from scipy import stats


@functools.cache
def least_tails(replications, n_ranks, simulations=20_000):
    """For simulated uniform ranks, the least two-sided tail probability of their distribution function, sorted."""
    rng = np.random.default_rng(1)
    counts = rng.multinomial(replications, np.full(n_ranks, 1.0 / n_ranks), size=simulations)
    return np.sort(_tails(counts.cumsum(axis=1)[:, :-1], replications).min(axis=1))


@functools.cache
def _tail_table(replications, n_ranks):
    share = np.arange(1, n_ranks) / n_ranks
    lower = stats.binom.cdf(np.arange(replications + 1)[:, None], replications, share)
    upper = stats.binom.sf(np.arange(replications + 1)[:, None] - 1, replications, share)
    return 2.0 * np.minimum(lower, upper)


def _tails(below, replications):
    n_ranks = below.shape[-1] + 1
    return _tail_table(replications, n_ranks)[below, np.arange(n_ranks - 1)]


def distribution_function(ranks, n_ranks):
    """How many ranks are at most 0, 1, ..., n_ranks - 2."""
    return np.bincount(ranks, minlength=n_ranks).cumsum()[:-1]


def p_value(ranks, n_ranks):
    """Probability that uniform ranks leave a narrower simultaneous band than these do, at least 1 / 20,001.

    Ranks are 0, ..., n_ranks - 1.
    """
    tail = _tails(distribution_function(ranks, n_ranks), len(ranks)).min()
    simulated = least_tails(len(ranks), n_ranks)
    return (1 + np.searchsorted(simulated, tail * (1.0 + 1e-9), side="right")) / (1 + len(simulated))


def band(replications, n_ranks, level=0.95):
    """Differences between empirical and uniform distribution function that stay inside with probability ``level``.

    Returns shares, lower and upper ends, each of shape (n_ranks - 1,).
    """
    tail = np.quantile(least_tails(replications, n_ranks), 1.0 - level)
    share = np.arange(1, n_ranks) / n_ranks
    lower, upper = stats.binom.ppf([[0.5 * tail], [1.0 - 0.5 * tail]], replications, share) / replications
    return share, lower - share, upper - share
