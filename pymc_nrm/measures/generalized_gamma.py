"""Numerics of the generalized gamma measures, in terms of their two parameters alpha and sigma.

A measure of this class has :func:`stable_parameters`, and gets its other methods from :func:`generalized_gamma`.
``L`` stands for ``log(1 + u)`` throughout.  If ``sigma = 0``, the measure is the Dirichlet process: u is independent of
the partition, integrals over u are beta functions, and no quadrature is needed.
"""

import functools
import math
import types
from typing import NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.special import draw_gamma, draw_log_gamma, log_gamma, log_rising_factorial, softplus
from pymc_nrm.measures import base
from pymc_nrm.measures.eppf_operation import LogEPPF
from pymc_nrm.measures.gibbs_type import (
    draw_cluster,
    gibbs_type_weights,
    log_stirling_numbers,
    size_factors,
)
from pymc_nrm.measures.jumps import Jumps, draw_stable_jumps
from pymc_nrm.measures.log_concave import draw_log_concave
from pymc_nrm.measures.quadrature import (
    find_window,
    laplace_exponent_at,
    log_growth,
    log_integral,
    log_integrand,
)

N_FORWARD_NODES = 512

# Lay new nodes when the weight at an end of the grid exceeds this share of the total.
_LARGEST_END = 1e-15

# Upper limit of log u, which only an alpha below 1e-306 reaches; only the value of u depends on log u there.
LARGEST_LOG_U = 1e308


@generic
def stable_parameters(measure):
    """The pair (alpha, sigma) of a generalized gamma measure."""
    raise NotImplementedError


class GeneralizedGamma:
    """Methods of every measure with ``stable_parameters``."""

    def log_levy_intensity(self, w):
        alpha, sigma = stable_parameters(self)
        return np.log(alpha) - log_gamma(1.0 - sigma) - (1.0 + sigma) * np.log(w) - w

    def laplace_exponent(self, u):
        alpha, sigma = stable_parameters(self)
        L = np.log1p(u)
        return alpha * (np.expm1(sigma * L) / sigma if sigma > 0.0 else L)

    def log_tilted_moment(self, m, u):
        alpha, sigma = stable_parameters(self)
        return np.log(alpha) + log_gamma(m - sigma) - log_gamma(1.0 - sigma) + (sigma - m) * np.log1p(u)

    def log_joint_term(self, n, log_u):
        alpha, sigma = stable_parameters(self)
        # (n - 1) log u - n log(1 + u)
        powers = -log_u - n * softplus(-log_u)
        return powers - laplace_exponent_at(alpha, sigma, softplus(log_u)) - math.lgamma(n)

    def log_joint_increment(self, n, log_u):
        # log u - log(1 + u) - log n
        return -softplus(-log_u) - math.log(n)

    def draw_log_auxiliary(self, n, n_clusters, rng):
        alpha, sigma = stable_parameters(self)
        if sigma > 0.0:
            return draw_log_concave(rng, LogU(float(n), float(n_clusters), float(alpha), float(sigma)))
        return draw_log_u_without_sigma(float(alpha), n, rng)

    def weights(self, n, log_u):
        alpha, sigma = stable_parameters(self)
        return gibbs_type_weights(n, float(sigma), log_growth(float(alpha), float(sigma), softplus(float(log_u))))

    def log_eppf(self, counts):
        alpha, sigma = stable_parameters(self)
        return _log_eppf_kernel(float(alpha), float(sigma), np.asarray(counts))

    def symbolic_log_eppf(self, counts):
        alpha, sigma = (base.as_float64_scalar(value) for value in stable_parameters(self))
        return LogEPPF()(counts, alpha, sigma)[0]

    def n_clusters_log_pmf(self, n):
        alpha, sigma = stable_parameters(self)
        return _n_clusters_kernel(float(alpha), float(sigma), n)

    def draw_partition(self, n, rng):
        alpha, sigma = stable_parameters(self)
        if sigma == 0.0:
            return _draw_from_urn(float(alpha), n, rng)
        return _draw_by_quadrature(float(alpha), float(sigma), n, rng)

    def gibbs_type_rule(self, n, n_clusters):
        alpha, sigma = (float(value) for value in stable_parameters(self))
        return sigma, _log_new_weight(alpha, sigma, n, n_clusters)

    def draw_jumps(self, counts, rng, tail_mass, max_jumps):
        alpha, sigma = (float(value) for value in stable_parameters(self))
        log_u = base.draw_log_auxiliary(self, int(np.sum(counts)), len(counts), rng)
        log_a = log_growth(alpha, sigma, softplus(log_u))
        jumps = draw_stable_jumps(rng, log_a, sigma, counts, tail_mass, max_jumps)
        return Jumps(*jumps, -softplus(log_u), log_u)


def generalized_gamma[T](measure_type: type[T]) -> type[T]:
    """Decorator that adds the methods of the class to a measure with ``stable_parameters`` that lacks them."""
    for name, method in vars(GeneralizedGamma).items():
        if isinstance(method, types.FunctionType) and name not in vars(measure_type):
            setattr(measure_type, name, method)
    return measure_type


@functools.lru_cache(maxsize=4096)
def _log_new_weight(alpha, sigma, n, k):
    """Log of ``V(n+1, k+1) / V(n+1, k)``: the weight of a new cluster if a cluster of m items has weight m - sigma."""
    if sigma == 0.0 or k == 0:
        return math.log(alpha)
    return math.log(alpha) + log_integral(n + 1, k + 1, alpha, sigma) - log_integral(n + 1, k, alpha, sigma)


class LogU(NamedTuple):
    """Conditional distribution of s = log u given n items in k clusters; its log density is concave in s.

    The log density is ``n s + (k sigma - n) softplus(s) - alpha expm1(sigma softplus(s)) / sigma``, which follows from
    the joint density of the partition and u (Favaro & Teh 2013, section 3.2).
    """

    n: float
    k: float
    alpha: float
    sigma: float

    def log_density(self, s):
        # n s - n softplus(s) = -n softplus(-s)
        L = softplus(s)
        tilt = self.k * self.sigma * L - laplace_exponent_at(self.alpha, self.sigma, L)
        return -self.n * softplus(-s) + tilt

    def log_density_derivative(self, s):
        L = softplus(s)
        growth = log_growth(self.alpha, self.sigma, L)
        if growth > 700.0:
            return -math.inf
        share = math.exp(s - L)
        slope = self.k * self.sigma - math.exp(growth)
        return self.n * math.exp(-L) + share * slope


@kernel
def draw_log_u_without_sigma(alpha, n, rng):
    """Draw log u of the Dirichlet process of mass alpha, which is independent of the partition of the n items."""
    # Since u / (1 + u) ~ Beta(n, alpha), u is a ratio of gamma variables.
    log_numerator = math.log(draw_gamma(rng, float(n)))
    return min(log_numerator - draw_log_gamma(rng, alpha), LARGEST_LOG_U)


@kernel
def _log_eppf_kernel(alpha, sigma, counts):
    n, sizes = size_factors(counts, sigma)
    return sizes + _log_v(n, counts.shape[0], alpha, sigma) if n > 0 else 0.0


@kernel
def _log_v(n, k, alpha, sigma):
    """Logarithm of ``V(n, k) = alpha^k I(n, k) / Gamma(n)``, the factor of the EPPF that depends only on n and k."""
    if sigma == 0.0:
        return (k - 1) * math.log(alpha) - log_rising_factorial(alpha + 1.0, n - 1)
    return k * math.log(alpha) - math.lgamma(n) + log_integral(n, k, alpha, sigma)


@kernel
def _n_clusters_kernel(alpha, sigma, n):
    """Log probabilities of 1..n clusters: the logarithms of ``V(n, k) S(n, k)``."""
    log_pmf = log_stirling_numbers(n, sigma)
    for k in range(1, n + 1):
        log_pmf[k - 1] += _log_v(n, k, alpha, sigma)
    return log_pmf


@kernel
def _lay_nodes(n, k, alpha, sigma, weight, decay, growth):
    """Write, at nodes for n and k, the integrand up to a factor, ``1 - exp(-L)`` and ``alpha exp(sigma L)``."""
    low, high = find_window(n, k, alpha, sigma)
    spacing = (high - low) / (weight.shape[0] - 1)
    largest = -math.inf
    for j in range(weight.shape[0]):
        x, L, _, weight[j] = log_integrand(n, k, alpha, sigma, low + j * spacing)
        decay[j] = -math.expm1(-L)
        growth[j] = alpha * (1.0 + sigma * x)
        largest = max(largest, weight[j])
    for j in range(weight.shape[0]):
        weight[j] = math.exp(weight[j] - largest)


@kernel
def _draw_from_urn(alpha, n, rng):
    labels = np.zeros(n, dtype=np.int64)
    k = 1
    for i in range(1, n):
        if rng.random() * (alpha + i) < alpha:
            labels[i] = k
            k += 1
        else:
            labels[i] = labels[rng.integers(0, i)]
    return labels


@kernel
def _draw_by_quadrature(alpha, sigma, n, rng):
    """Draw the labels of items one by one.

    With k clusters of i items, the next item opens a cluster with probability ``V(i+1, k+1) / V(i, k)`` and joins
    cluster c with probability ``(n_c - sigma) V(i+1, k) / V(i, k)``.  The step from (i, k) to (i+1, k) multiplies the
    integrand of V by ``1 - e^-L``, the step to (i+1, k+1) by ``(1 - e^-L) alpha e^(sigma L)``.  On fixed nodes neither
    needs a transcendental function.  New nodes are laid when the integrand has moved towards an end of the grid, or
    the number of items has grown by a quarter.
    """
    labels = np.zeros(n, dtype=np.int64)
    counts = np.zeros(n, dtype=np.int64)
    weight = np.empty(N_FORWARD_NODES)
    decay = np.empty(N_FORWARD_NODES)
    growth = np.empty(N_FORWARD_NODES)
    if n > 0:
        counts[0] = 1
    k = 1
    expiry = 0.0
    stale = True
    for i in range(1, n):
        if stale or i > expiry:
            _lay_nodes(i, k, alpha, sigma, weight, decay, growth)
            expiry = 1.25 * i
        total_old, total_new = 0.0, 0.0
        for j in range(N_FORWARD_NODES):
            weight[j] *= decay[j]
            total_old += weight[j]
            total_new += weight[j] * growth[j]
        chance_old = (i - k * sigma) * total_old
        chance_new = total_new
        if rng.random() * (chance_old + chance_new) < chance_new:
            labels[i] = k
            k += 1
            for j in range(N_FORWARD_NODES):
                weight[j] *= growth[j]
            total_old = total_new
        else:
            labels[i] = draw_cluster(rng, labels, counts, i, sigma)
        counts[labels[i]] += 1
        stale = (
            weight[0] > _LARGEST_END * total_old
            or weight[-1] > _LARGEST_END * total_old
            or not 1e-100 < total_old < 1e100
        )
    return labels
