"""Probability of hidden states with transition rows and common weights integrated out.

Given the common weights beta, labels z have probability ``prod_j 1 / (a_j)_(n_j) prod_k P_k(alpha beta_k)``, where row
j has n_j transitions, ``a_0 = alpha``, ``a_j = alpha + kappa``, and P_k is the polynomial of ``state_columns.py``.  The
mean of ``prod_k beta_k^(m_k)`` over beta, for states in order of appearance, is the EPPF of the measure.  Hence

    p(z) = prod_j 1 / (a_j)_(n_j)  sum_(m_1..m_K) V(M, K) prod_k [x^(m_k)] P_k(x) alpha^(m_k) (1 - d)_(m_k - 1),

``M = m_1 + ... + m_K``, with ``V(M, K) = prod_(i=1)^(K-1) (gamma + i d) / (gamma + 1)_(M - 1)`` for a Pitman-Yor
process of concentration gamma and discount d, a Dirichlet process if d = 0.  The sums over m_1, ..., m_K are
convolutions of length D, the largest number of tables that matters.
"""

import math

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import log_rising_factorial
from pymc_nrm.states.partitions.columns import digamma_difference
from pymc_nrm.states.partitions.sums import cofactor, tables_given_labels


@kernel
def _log_total(tables, counts, n_states, prior):
    """Log probability of the labels from the sums over tables."""
    value = tables.log_factor + tables.suffix_scale[0] + math.log(tables.suffix[0, 0])
    return add_factors(value, counts, n_states, prior)


@kernel
def add_factors(log_sum, counts, n_states, prior):
    """Log probability of the labels from the log of the sum over M, without the factors of V that M does not enter."""
    value = log_sum
    for i in range(1, n_states):
        value += math.log(prior.gamma + i * prior.discount)
    for j in range(n_states + 1):
        n = row_length(counts, j, n_states)
        if n > 0:
            value -= log_rising_factorial(prior.alpha + (prior.kappa if j > 0 else 0.0), float(n))
    # Sums of the largest doubles overflow.
    return value if value < math.inf else -math.inf


@kernel
def row_length(counts, j, n_states):
    """Number of transitions of row j."""
    n = 0
    for k in range(n_states):
        n += counts[j, k]
    return n


@kernel
def is_possible(prior, n_states):
    """Whether hyperparameters are in range: a sampler may try others, for which sums do not end."""
    fine = prior.discount < 1.0 and 0.0 < prior.gamma + prior.discount < math.inf
    if prior.discount < 0.0:
        # A discount below 0 is -gamma / K for weights of K states.
        most = -prior.gamma / prior.discount
        fine = n_states <= most + 0.5 < 1e15 and abs(most - math.floor(most + 0.5)) < 1e-9 * most
    return fine and 0.0 < prior.alpha < math.inf and 0.0 <= prior.kappa < math.inf


@kernel
def log_states(counts, n_states, prior):
    """Log probability of hidden states in order of appearance, given their transition counts."""
    if not is_possible(prior, n_states):
        return math.nan
    return _log_total(tables_given_labels(counts, n_states, prior), counts, n_states, prior)


@kernel
def log_states_with_gradient(counts, n_states, prior, gradient):
    """:func:`log_states`; writes its derivatives in gamma, discount, alpha and kappa, shape (4,)."""
    gradient.fill(math.nan)
    if not is_possible(prior, n_states):
        return math.nan
    tables = tables_given_labels(counts, n_states, prior)
    gamma, discount = prior.gamma, prior.discount
    by_gamma, by_discount, by_kappa, mean, first = 0.0, 0.0, 0.0, 0.0, 0
    for i in range(1, n_states):
        by_gamma += 1.0 / (gamma + i * discount)
        by_discount += i / (gamma + i * discount)
    for k in range(n_states):
        m = tables.certain[k]
        by_size = digamma_difference(1.0 - discount, m - 1)
        for r in range(tables.degree[k] + 1):
            factor = cofactor(tables, k, first, r)
            probability = tables.weights[k, r] * factor
            mean += m * probability
            by_discount -= by_size * probability
            by_kappa += tables.slopes[k, r] * factor
            by_size += 1.0 / (m - discount)
            m += 1
        first += tables.degree[k]
    by_gamma -= _mean_digamma(tables, n_states, gamma, first)
    by_alpha = mean / prior.alpha
    for j in range(n_states + 1):
        n = row_length(counts, j, n_states)
        if n > 0:
            of_row = digamma_difference(prior.alpha + (prior.kappa if j > 0 else 0.0), n)
            by_alpha -= of_row
            by_kappa -= of_row if j > 0 else 0.0
    gradient[0], gradient[1], gradient[2], gradient[3] = by_gamma, by_discount, by_alpha, by_kappa
    return _log_total(tables, counts, n_states, prior)


@kernel
def _mean_digamma(tables, n_states, gamma, last):
    """Mean of ``digamma(gamma + M) - digamma(gamma + 1)`` over the number M of tables of all states."""
    total, mean, m = 0.0, 0.0, 0
    for k in range(n_states):
        m += tables.certain[k]
    value = digamma_difference(gamma + 1.0, m - 1)
    for a in range(last + 1):
        probability = tables.prefix[n_states, a] * tables.suffix[n_states, a]
        total += probability
        mean += probability * value
        value += 1.0 / (gamma + m)
        m += 1
    return mean / total
