"""Densities of means and covariances of clusters, and two normal components with the moments of one.

With ``S = L L'`` the covariance of the whole, e is a vector of the unit ball with density proportional to ``1 -
|e|^2``, ``C C' = L (I - e e') L'`` and U a matrix beta variable of mean p I.  The parts have the means ``m + q delta``
and ``m - p delta``, ``delta = L e / sqrt(p q)``, and covariances ``C U C' / p`` and ``C (I - U) C' / q``.  Derivatives
of all four in (m, S, e, U) have the determinant ``|L| (p q)^(-d/2) |C|^(d+1) (p q)^(-d(d+1)/2)``.
"""

import math

import numpy as np

from pymc_nrm.families.shared.factors import draw_bartlett, factor_in_place, solve_column
from pymc_nrm.families.shared.two_components import beta_shapes
from pymc_nrm.families.shared.wishart_rows import log_determinant, new_workspace, posterior_factor
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import log_rising_factorial

_LOG_2_PI, _LOG_PI = math.log(2.0 * math.pi), math.log(math.pi)


@kernel
def factored_covariance(parameters, factor):
    """Write the Cholesky factor of the covariance in a row of parameters; return the log determinant."""
    d = factor.shape[0]
    for i in range(d):
        for j in range(d):
            factor[i, j] = parameters[d + i * d + j]
    return factored(factor)


@kernel
def factored(A):
    """Overwrite a matrix with its Cholesky factor; return the log determinant."""
    factor_in_place(A)
    total = 0.0
    for i in range(A.shape[0]):
        total += 2.0 * math.log(A[i, i])
    return total


@kernel
def normal_wishart_log_density(family, statistics, parameters):
    """Log density of the mean and the lower triangle of the covariance of a cluster given its statistics."""
    d = family.mu.shape[0]
    work, factor, column = new_workspace(d), np.empty((d, d)), np.empty(d)
    # Psi_n is F F' + w s s'.
    weight = posterior_factor(family, statistics, column, work)
    nu_n, kappa_n = family.nu + statistics[0], family.kappa + statistics[0]
    log_covariance = factored_covariance(parameters, factor)
    for i in range(d):
        column[i] = parameters[i] - column[i]
    distance = kappa_n * solve_column(factor, column) + weight * solve_column(factor, work[d + 3])
    for j in range(d):
        for i in range(d):
            column[i] = work[i, j] if i >= j else 0.0
        distance += solve_column(factor, column)
    total = d * (math.log(kappa_n) - _LOG_2_PI - nu_n * math.log(2.0) - 0.5 * (d - 1.0) * _LOG_PI)
    total += nu_n * log_determinant(family, statistics) - (nu_n + d + 2.0) * log_covariance - distance
    for i in range(d):
        total -= 2.0 * math.lgamma(0.5 * (nu_n - i))
    return 0.5 * total


@kernel
def write_part(within, factor, bartlett, share, column, parameters):
    """Write the covariance ``X X' / share`` with ``X = within inverse(factor) bartlett``."""
    d = factor.shape[0]
    for j in range(d):
        for i in range(d):
            column[i] = bartlett[i, j]
        solve_column(factor, column)
        for i in range(d):
            bartlett[i, j] = 0.0
            for m in range(i + 1):
                bartlett[i, j] += within[i, m] * column[m]
    for i in range(d):
        for j in range(d):
            total = 0.0
            for m in range(d):
                total += bartlett[i, m] * bartlett[j, m]
            parameters[d + i * d + j] = total / share


@kernel
def split_normal(parameters, p, q, rng, first, second):
    """Draw two normal components, rows of means (d) and covariances (d, d), given the whole."""
    d = int(math.sqrt(parameters.shape[0]))
    whole, within, factor = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    first_factor, second_factor, shift, column = np.zeros((d, d)), np.zeros((d, d)), np.empty(d), np.empty(d)
    factored_covariance(parameters, whole)
    length = 0.0
    for i in range(d):
        column[i] = rng.standard_normal()
        length += column[i] * column[i]
    scale = math.sqrt(rng.beta(0.5 * d, 2.0) / length)
    for i in range(d):
        shift[i] = 0.0
        for j in range(i + 1):
            shift[i] += whole[i, j] * (scale * column[j])
    for i in range(d):
        first[i] = parameters[i] + math.sqrt(q / p) * shift[i]
        second[i] = parameters[i] - math.sqrt(p / q) * shift[i]
        for j in range(d):
            within[i, j] = parameters[d + i * d + j] - shift[i] * shift[j]
    factored(within)
    a, b = beta_shapes(0.5 * (d + 4.0), p, q)
    draw_bartlett(2.0 * a, rng, first_factor)
    draw_bartlett(2.0 * b, rng, second_factor)
    for i in range(d):
        for j in range(d):
            factor[i, j] = 0.0
            for m in range(d):
                factor[i, j] += first_factor[i, m] * first_factor[j, m] + second_factor[i, m] * second_factor[j, m]
    factored(factor)
    write_part(within, factor, first_factor, p, column, first)
    write_part(within, factor, second_factor, q, column, second)


@kernel
def join_normal(p, q, first, second, parameters):
    """Write the mean and covariance of the whole, and return the log density of ``join_parameters``."""
    d = int(math.sqrt(parameters.shape[0]))
    factor, shift = np.empty((d, d)), np.empty(d)
    log_first, log_second = factored_covariance(first, factor), factored_covariance(second, factor)
    for i in range(d):
        shift[i] = first[i] - second[i]
        parameters[i] = p * first[i] + q * second[i]
    for k in range(d, d + d * d):
        parameters[k] = p * first[k] + q * second[k]
    log_within = factored_covariance(parameters, factor)
    for i in range(d):
        for j in range(d):
            parameters[d + i * d + j] += p * q * (shift[i] * shift[j])
    # 1 - |e|^2 is the share of the covariance within parts in the determinant.
    log_share = -math.log1p(p * q * solve_column(factor, shift))
    log_p, log_q = math.log(p), math.log(q)
    a, b = beta_shapes(0.5 * (d + 4.0), p, q)
    half = 0.5 * (d + 1.0)
    total = log_share + math.log(0.5 * (d + 2.0)) + math.lgamma(0.5 * d + 1.0) - 0.5 * d * _LOG_PI
    total += (a - half) * (d * log_p + log_first - log_within) + (b - half) * (d * log_q + log_second - log_within)
    total -= log_matrix_beta_function(d, a, b)
    return total - half * log_within - 0.5 * (log_within - log_share) + 0.5 * d * (d + 2.0) * (log_p + log_q)


@kernel
def log_matrix_beta_function(d, a, b):
    """Logarithm of ``Gamma_d(a) Gamma_d(b) / Gamma_d(a + b)``."""
    small, large = min(a, b), max(a, b)
    total = 0.25 * d * (d - 1.0) * _LOG_PI
    for i in range(d):
        total += math.lgamma(small - 0.5 * i) - log_rising_factorial(large - 0.5 * i, small)
    return total
