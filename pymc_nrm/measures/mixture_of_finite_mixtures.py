"""Mixtures of finite mixtures: a Poisson number of components with symmetric Dirichlet weights.

A component has a gamma variable of shape gamma, and its weight is the share of this variable in their sum.  The
components are thus the atoms of a completely random measure of finite activity, whose number of atoms M is Poisson,
conditioned on at least one.  Sums over M replace integrals over u: with ``L = log(1 + u)`` and
``psi(u) = rate (1 - e^(-gamma L))``, the series of ``exp(rate e^(-gamma L))`` gives beta integrals,

    V(n, k) = 1 / (1 - e^-rate) sum_(m >= 0) rate^(k+m) e^-rate / m! Gamma(gamma (k+m)) / Gamma(gamma (k+m) + n),

and the term m belongs to M = k + m (Miller & Harrison 2018, eq. 3.2; Argiento & De Iorio 2022).  Factors other than
``rate^m / m!`` decrease in m, so that the sum may end where the tail of the Poisson distribution is negligible.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad

from pymc_nrm.common.supports import PositiveUpTo
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import (
    draw_categorical,
    log_gamma,
    log_rising_factorial,
    log_sum_exp,
    softplus,
    stirling_series,
    symbolic_log_rising_factorial,
)
from pymc_nrm.measures import base
from pymc_nrm.measures.base import Hyperparameter, random_measure
from pymc_nrm.measures.generalized_gamma import draw_log_u_without_sigma
from pymc_nrm.measures.gibbs_type import gibbs_type_weights, log_stirling_numbers
from pymc_nrm.measures.jumps import Jumps, draw_log_gamma_jumps

# The sum over M has about as many terms as the rate.
LARGEST_RATE = 1e5

# Weights of components then differ by about 1e-4, relatively.
LARGEST_GAMMA = 1e8

# The sum has this many terms plus the rate and 12 of its square roots: the Poisson tail beyond is below 1e-30.
N_TERMS_AT_RATE_ZERO = 60


@random_measure(
    hyperparameters={
        "gamma": Hyperparameter((), PositiveUpTo(LARGEST_GAMMA)),
        "rate": Hyperparameter((), PositiveUpTo(LARGEST_RATE)),
    }
)
class MixtureOfFiniteMixtures(NamedTuple):
    """Mixture of M components, where M is Poisson given that it is at least 1, and weights are symmetric Dirichlet.

    Parameters
    ----------
    gamma : positive float, scalar tensor or random variable
        Parameter of the Dirichlet distribution of the weights, at most 1e8.  With smaller values more components have
        no item.
    rate : positive float, scalar tensor or random variable
        Mean of the Poisson distribution of M before it is conditioned on ``M >= 1``, at most 1e5.  The number of
        clusters among n items tends to M as n grows.

    Notes
    -----
    The Levy intensity is ``rate / Gamma(gamma) w^(gamma-1) e^-w dw``, of finite mass, hence
    ``psi(u) = rate (1 - (1 + u)^-gamma)`` and
    ``kappa(m, u) = rate Gamma(gamma + m) / Gamma(gamma) (1 + u)^(-gamma - m)`` (Argiento & De Iorio 2022, "Is infinity
    that far? A Bayesian nonparametric perspective of finite mixture models").  If gamma tends to 0 with
    ``rate * gamma = alpha`` fixed, the limit is the Dirichlet process with concentration alpha.  A prior on the rate
    gives other distributions of M, including the geometric distribution of Miller & Harrison (2018), "Mixture models
    with a prior on the number of components".  It cannot give a Poisson distribution of ``M - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_nrm.measures import MixtureOfFiniteMixtures
    >>> from pymc_nrm.measures.base import draw_partition, n_clusters_mean
    >>> round(n_clusters_mean(MixtureOfFiniteMixtures(gamma=1.0, rate=5.0), 82), 4)
    4.7477
    >>> draw_partition(MixtureOfFiniteMixtures(1.0, 5.0), 5, np.random.default_rng(1)).shape
    (5,)
    """

    gamma: Any = 1.0
    rate: Any = 5.0

    def log_levy_intensity(self, w):
        gamma, rate = self
        return np.log(rate) - log_gamma(gamma) + (gamma - 1.0) * np.log(w) - w

    def laplace_exponent(self, u):
        return -self.rate * np.expm1(-self.gamma * np.log1p(u))

    def log_tilted_moment(self, m, u):
        gamma, rate = self
        return np.log(rate) + log_gamma(gamma + m) - log_gamma(gamma) - (gamma + m) * np.log1p(u)

    def log_joint_term(self, n, log_u):
        gamma, rate = self
        # (n - 1) log u - n log(1 + u)
        powers = -log_u - n * softplus(-log_u)
        log_chance_of_atom = math.log(-math.expm1(-rate))
        return powers + rate * math.expm1(-gamma * softplus(log_u)) - math.lgamma(n) - log_chance_of_atom

    def log_joint_increment(self, n, log_u):
        # log u - log(1 + u) - log n
        return -softplus(-log_u) - math.log(n)

    def weights(self, n, log_u):
        gamma, rate = float(self.gamma), float(self.rate)
        return gibbs_type_weights(n, -gamma, math.log(rate) + math.log(gamma) - gamma * softplus(log_u))

    def draw_log_auxiliary(self, n, n_clusters, rng):
        gamma, rate = float(self.gamma), float(self.rate)
        # Given M, u / (1 + u) ~ Beta(n, gamma M), as for a Dirichlet process of mass gamma M.
        shape = gamma * (n_clusters + draw_categorical(rng, _log_terms(n, n_clusters, gamma, rate)))
        return draw_log_u_without_sigma(shape, n, rng)

    def log_eppf(self, counts):
        return _log_eppf_kernel(float(self.gamma), float(self.rate), np.asarray(counts))

    def symbolic_log_eppf(self, counts):
        gamma, rate = (base.as_float64_scalar(value) for value in self)
        counts = pt.as_tensor(counts)
        n, k = counts.sum(), counts.shape[0]
        # For values outside the support, including infinite ones, few terms are enough.
        inside = pt.and_(rate > 0.0, rate <= LARGEST_RATE)
        mean = disconnected_grad(pt.switch(inside, rate, 0.0))
        m = pt.arange((mean + 12.0 * pt.sqrt(mean)).astype("int64") + N_TERMS_AT_RATE_ZERO).astype("float64")
        log_terms = _symbolic_log_poisson(m, rate) - symbolic_log_rising_factorial(gamma * (k + m), n)
        log_v = (k - 1) * pt.log(rate) + pt.log(rate) - pt.log(-pt.expm1(-rate)) + pt.logsumexp(log_terms)
        return k * pt.log(gamma) + symbolic_log_rising_factorial(gamma + 1.0, counts - 1).sum() + log_v

    def n_clusters_log_pmf(self, n):
        return _n_clusters_kernel(float(self.gamma), float(self.rate), n)

    def n_clusters_mean(self, n):
        return _n_clusters_mean_kernel(float(self.gamma), float(self.rate), n)

    def draw_partition(self, n, rng):
        return _draw_partition_kernel(float(self.gamma), float(self.rate), n, rng)

    def gibbs_type_rule(self, n, n_clusters):
        return -self.gamma, _cached_log_new_weight(n, n_clusters, self.gamma, self.rate)

    def draw_jumps(self, counts, rng, tail_mass, max_jumps):
        """Draw all jumps, whatever ``tail_mass`` is, unless there are more than ``max_jumps``.

        Jumps of clusters are gamma variables of shape ``gamma + n_c``.  The others are the components without items: a
        Poisson number with mean ``rate (1 + u)^-gamma`` of gamma variables of shape gamma.  All have rate ``1 + u``.
        """
        gamma, rate = float(self.gamma), float(self.rate)
        log_u = self.draw_log_auxiliary(int(np.sum(counts)), len(counts), rng)
        clusters = draw_log_gamma_jumps(rng, -gamma, np.array(counts, dtype="int64"))
        n_others = rng.poisson(rate * np.exp(-gamma * softplus(log_u)))
        other_jumps = -np.sort(-draw_log_gamma_jumps(rng, -gamma, np.zeros(n_others, dtype="int64")))
        return Jumps(clusters, other_jumps[:max_jumps], log_sum_exp(other_jumps[max_jumps:]), -softplus(log_u), log_u)


@kernel
def _log_poisson(rate):
    """Log probabilities of 0, 1, ... under the Poisson distribution, for all terms of the sum over M."""
    values = np.empty(int(rate + 12.0 * math.sqrt(rate)) + N_TERMS_AT_RATE_ZERO)
    log_rate = math.log(rate)
    for m in range(values.shape[0]):
        if m < 100:
            values[m] = m * log_rate - rate - math.lgamma(m + 1.0)
        else:
            # Stirling's series, without the cancellation of m log(rate) and log m!.
            values[m] = m - rate - m * math.log(m / rate) - 0.5 * math.log(2.0 * math.pi * m) - stirling_series(m)
    return values


def _symbolic_log_poisson(m, rate):
    """Log probabilities of numbers m of at least 0 under the Poisson distribution."""
    few, many = pt.minimum(m, 100.0), pt.maximum(m, 100.0)
    stirling = many - rate - many * pt.log(many / rate) - 0.5 * pt.log(2.0 * math.pi * many)
    stirling -= stirling_series.__wrapped__(many)
    return pt.switch(pt.lt(m, 100.0), few * pt.log(rate) - rate - pt.gammaln(few + 1.0), stirling)


@kernel
def _log_terms(n, k, gamma, rate):
    """Logarithms of the summands of V(n, k), without the factor ``rate^k / (1 - e^-rate)``; the term m is M = k + m."""
    terms = _log_poisson(rate)
    for m in range(terms.shape[0]):
        terms[m] -= log_rising_factorial(gamma * (k + m), n)
    return terms


@kernel
def _log_factor(k, rate):
    """Logarithm of ``rate^k / (1 - e^-rate)``."""
    return (k - 1) * math.log(rate) + (math.log(rate) - math.log(-math.expm1(-rate)))


@kernel
def _log_eppf_kernel(gamma, rate, counts):
    n, k = 0, counts.shape[0]
    if k == 0:
        return 0.0
    sizes = k * math.log(gamma)
    for m in counts:
        n += m
        sizes += log_rising_factorial(gamma + 1.0, m - 1)
    return sizes + _log_factor(k, rate) + log_sum_exp(_log_terms(n, k, gamma, rate))


@kernel
def log_new_weight(n, k, gamma, rate):
    """Log of ``V(n+1, k+1) / V(n+1, k)``: the weight of a new cluster if a cluster of m items has weight gamma + m. It
    includes the factor gamma of a new cluster.
    """
    if k == 0:
        return math.log(gamma)
    more = log_sum_exp(_log_terms(n + 1, k + 1, gamma, rate))
    return math.log(gamma) + math.log(rate) + more - log_sum_exp(_log_terms(n + 1, k, gamma, rate))


_cached_log_new_weight = functools.lru_cache(maxsize=4096)(log_new_weight)


@kernel
def _n_clusters_kernel(gamma, rate, n):
    """Log probabilities of 1..n clusters: the logarithms of ``gamma^k V(n, k) S(n, k)``, where sigma is -gamma."""
    log_pmf = log_stirling_numbers(n, -gamma)
    log_poisson = _log_poisson(rate)
    n_terms = log_poisson.shape[0]
    log_rising = np.empty(n + n_terms)
    for x in range(1, n + n_terms):
        log_rising[x] = log_rising_factorial(gamma * x, n)
    terms = np.empty(n_terms)
    for k in range(1, n + 1):
        for m in range(n_terms):
            terms[m] = log_poisson[m] - log_rising[k + m]
        log_pmf[k - 1] += k * math.log(gamma) + _log_factor(k, rate) + log_sum_exp(terms)
    return log_pmf


@kernel
def _n_clusters_mean_kernel(gamma, rate, n):
    """Mean of ``M (1 - P(a component has no item | M))``."""
    values = _log_poisson(rate)
    total = 0.0
    for m in range(1, values.shape[0]):
        log_empty = -math.inf
        if m > 1:
            log_empty = log_rising_factorial(gamma * (m - 1), n) - log_rising_factorial(gamma * m, n)
        total -= math.exp(values[m]) * m * math.expm1(log_empty)
    return total / -math.expm1(-rate)


@kernel
def _draw_partition_kernel(gamma, rate, n, rng):
    """Draw M, then the components of items one by one, with the weights of components integrated out."""
    labels = np.zeros(n, dtype=np.int64)
    # The first event of a Poisson process on [0, rate] with at least one event, then the number of further events.
    first = -math.log1p(rng.random() * math.expm1(-rate))
    n_components = 1 + rng.poisson(max(rate - first, 0.0))
    k = 0
    for i in range(n):
        if rng.random() * (i + gamma * n_components) < i:
            labels[i] = labels[rng.integers(0, i)]
        else:
            # A component at random: components with items come first, in order of appearance.
            labels[i] = min(rng.integers(0, n_components), k)
            k = max(k, labels[i] + 1)
    return labels
