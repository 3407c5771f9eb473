"""Distributions of the number of clusters under fixed or random hyperparameters, and how many slots they need."""

import functools
from typing import Any

import numpy as np
import pymc as pm
import scipy
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import check_count, check_number
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.measures.base import check_measure_hyperparameters, draw_partition, n_clusters_log_pmf

# The distribution ends where less than this probability is left.
_NEGLIGIBLE = 1e-15

# Above this number of items, the distribution under a Dirichlet process comes from its generating function.
_MANY_ITEMS = 2000


@functools.singledispatch
def n_clusters_pmf(measure, n):
    """Probabilities of 1, 2, ... clusters among n items, up to an end of probability 1e-8 that is left out."""
    # Time O(n^2) by `n_clusters_log_pmf`; under a Dirichlet process O(k_max log k_max).
    return _without_end(np.exp(n_clusters_log_pmf(measure, n)))


@n_clusters_pmf.register(DirichletProcess)
def _dirichlet_pmf(measure, n):
    if n <= _MANY_ITEMS:
        return n_clusters_pmf.dispatch(object)(measure, n)
    # K is a sum of independent indicators with probabilities alpha / (alpha + i), i = 0, ..., n - 1, so that
    # E z^K = Gamma(alpha z + n) Gamma(alpha) / (Gamma(alpha z) Gamma(alpha + n)).  Its values at roots of unity are the
    # Fourier transform of the distribution.  By Chernoff's bound, K is below the length with probability 1 - 1e-16.
    alpha = float(measure.alpha)
    mean = alpha * float(np.log1p(n / alpha)) + 1.0
    length = min(n + 1, int(mean + 12.0 * np.sqrt(mean) + 60.0))
    length += 1 - length % 2  # never at z = -1, where Gamma(alpha z) may have a pole
    z = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
    log_transform = scipy.special.loggamma(alpha * z + n) - scipy.special.loggamma(alpha * z + 1.0) + np.log(z)
    log_transform -= (scipy.special.loggamma(alpha + n) - scipy.special.loggamma(alpha + 1.0)).real
    distribution = np.fft.irfft(np.exp(log_transform), length)
    return _without_end(np.maximum(distribution[1 : n + 1], 0.0))


def _without_end(pmf):
    left = np.cumsum(pmf[::-1])[::-1]
    return pmf[: max(1, int((left > _NEGLIGIBLE).sum()))]


def mean_and_sd(pmf):
    """Mean and standard deviation of a distribution of the number of clusters."""
    k = np.arange(1, len(pmf) + 1)
    mean = float(pmf @ k)
    return mean, float(np.sqrt(pmf @ (k - mean) ** 2))


def equal_tailed_interval(pmf, probability):
    """Smallest and largest number of clusters of the interval with at most ``(1 - probability) / 2`` on each side."""
    tail = (1.0 - probability) / 2.0
    below = np.cumsum(pmf)
    return int(np.searchsorted(below, tail)) + 1, min(int(np.searchsorted(below, 1.0 - tail)) + 1, len(pmf))


# Draws of hyperparameters over which the distribution of the number of clusters is averaged.
_N_MEASURES = 400


def drawn_measures(measure, n_draws, rng):
    """Measures with fields drawn from their distributions; all one object if the fields of the measure are numbers."""
    measure = check_measure_hyperparameters(measure)
    random = [name for name, value in measure._asdict().items() if isinstance(value, Variable)]
    if not random:
        return [measure] * n_draws
    drawn = pm.draw([getattr(measure, name) for name in random], draws=n_draws, random_seed=rng)
    return [
        check_measure_hyperparameters(measure._replace(**dict(zip(random, map(float, values), strict=True))))
        for values in zip(*drawn, strict=True)
    ]


def mean_pmf(measures, n):
    """Probabilities of numbers of clusters among n items: the mean of the exact ones under the first 400 measures."""
    if measures[0] is measures[-1]:
        return n_clusters_pmf(measures[0], n)
    distributions = [n_clusters_pmf(measure, n) for measure in measures[:_N_MEASURES]]
    total = np.zeros(max(map(len, distributions)))
    for distribution in distributions:
        total[: len(distribution)] += distribution
    return total / len(distributions)


def sorted_sizes(measures, n, n_ranks, rng):
    """Sizes of clusters of partitions of n items, one from each measure, largest first and zeros last."""
    sizes = np.zeros((len(measures), n_ranks), dtype=np.int64)
    for row, measure in zip(sizes, measures, strict=True):
        largest = np.sort(np.bincount(draw_partition(measure, n, rng)))[::-1][:n_ranks]
        row[: len(largest)] = largest
    return sizes


def suggest_max_clusters(measure: tuple[Any, ...], n: int, tail: float = 1e-4) -> int:
    """Suggest ``max_clusters`` of a :class:`Partition`: the least number that the prior exceeds with small probability.

    Parameters
    ----------
    measure : Measure
        With numbers as hyperparameters.
    n : int
        Number of items.
    tail : float
        Largest prior probability of more clusters, between 0 and 1.

    Returns
    -------
    int
        At most n, with which nothing is cut.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of this kind.

    Notes
    -----
    What matters is the posterior: if ``nrm.sample`` says that all slots were used, take more.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> suggest_max_clusters(DirichletProcess(1.0), 100)
    14
    """
    check_count("n", n, 1)
    check_number("tail", tail, lambda value: 0.0 < value < 1.0, "between 0 and 1")
    measure = check_measure_hyperparameters(measure)
    for name, value in measure._asdict().items():
        check_number(f"{name} of the measure", value, lambda value: True, "a number")
    measure = type(measure)(*[float(value) for value in measure])
    # Entry k is the probability of k + 1 clusters or more, summed from the small end.
    above = np.exp(n_clusters_log_pmf(measure, n))[::-1].cumsum()[::-1]
    return int(np.searchsorted(-above, -tail, side="left"))
