"""The law of the number of clusters under a measure whose fields are numbers."""

import functools

import numpy as np
import scipy

from pymc_nrm.measures import DirichletProcess
from pymc_nrm.measures.base import n_clusters_log_pmf

# The law ends where less than this probability is left.
_NEGLIGIBLE = 1e-15

# Above this number of items, the law under a Dirichlet process comes from its generating function.
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
    # Fourier transform of the law.  By Chernoff's bound, K is below the length with probability 1 - 1e-16.
    alpha = float(measure.alpha)
    mean = alpha * float(np.log1p(n / alpha)) + 1.0
    length = min(n + 1, int(mean + 12.0 * np.sqrt(mean) + 60.0))
    length += 1 - length % 2  # never at z = -1, where Gamma(alpha z) may have a pole
    z = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
    log_transform = scipy.special.loggamma(alpha * z + n) - scipy.special.loggamma(alpha * z + 1.0) + np.log(z)
    log_transform -= (scipy.special.loggamma(alpha + n) - scipy.special.loggamma(alpha + 1.0)).real
    law = np.fft.irfft(np.exp(log_transform), length)
    return _without_end(np.maximum(law[1 : n + 1], 0.0))


def _without_end(pmf):
    left = np.cumsum(pmf[::-1])[::-1]
    return pmf[: max(1, int((left > _NEGLIGIBLE).sum()))]


def mean_and_sd(pmf):
    """Mean and standard deviation of a law of the number of clusters."""
    k = np.arange(1, len(pmf) + 1)
    mean = float(pmf @ k)
    return mean, float(np.sqrt(pmf @ (k - mean) ** 2))


def equal_tailed_interval(pmf, probability):
    """Smallest and largest number of clusters of the interval with at most ``(1 - probability) / 2`` on each side."""
    tail = (1.0 - probability) / 2.0
    below = np.cumsum(pmf)
    return int(np.searchsorted(below, tail)) + 1, min(int(np.searchsorted(below, 1.0 - tail)) + 1, len(pmf))
