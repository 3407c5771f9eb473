"""Draws of the common weights of hidden states given labels."""

import math

import numpy as np

from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import draw_beta, draw_index, draw_log_gamma, exponentiate
from pymc_nrm.states.partitions.sums import tables_given_labels

# Weights below are raised to it, so that their logarithms are finite.
LEAST_WEIGHT = 1e-300
# A share of the concentration that is the rounding error of the parameters of all states.
_LEAST_SHARE = 1e-9
# Logarithm of a mean number of states that doubles lose.
_LOG_NEGLIGIBLE = -41.0
# Sticks between two bounds of the number of states that are left.
_BETWEEN_BOUNDS = 1024


@kernel
def draw_tables(rng, counts, n_states, prior, n_tables):
    """Draw the numbers of tables of all states given transition counts, exactly."""
    tables = tables_given_labels(counts, n_states, prior)
    excess = 0
    for k in range(n_states):
        n = tables.degree[k] + 1
        joint = np.empty(n)
        for r in range(n):
            joint[r] = tables.weights[k, r] * tables.suffix[k + 1, excess + r]
        r = draw_index(rng, joint)
        n_tables[k] = tables.certain[k] + r
        excess += r


@kernel
def draw_state_weights(rng, counts, n_states, prior, weights):
    """Draw the common weights of the states given labels, and the rest of the stick behind them: exact, and independent
    of all earlier draws.

    Shapes: ``counts`` (n_states + 1, n_states) as ``count_transitions`` writes them; ``weights`` (n_states + 1,), which
    sum to 1.  Given the numbers of tables, weights are Dirichlet variables (Pitman 1996, corollary 20).
    """
    n_tables = np.empty(n_states, dtype=np.int64)
    draw_tables(rng, counts, n_states, prior, n_tables)
    for k in range(n_states):
        weights[k] = draw_log_gamma(rng, n_tables[k] - prior.discount)
    shape = _shape_of_rest(n_states, prior)
    weights[n_states] = draw_log_gamma(rng, shape) if shape > 0.0 else -math.inf
    _, total = exponentiate(weights, n_states + 1)
    for k in range(n_states + 1):
        weights[k] = max(weights[k] / total, LEAST_WEIGHT)


@kernel
def draw_next_weight(rng, n_states, prior):
    """Share of the rest of the stick that state number ``n_states`` takes, and the share that it leaves."""
    shape = _shape_of_rest(n_states + 1, prior)
    return draw_beta(rng, 1.0 - prior.discount, shape) if shape > 0.0 else (1.0, 0.0)


@kernel
def draw_weights_above(rng, n_states, remainder, prior, level):
    """Break the rest of the stick; return all weights above a level, and the sum of all others.

    The level is from 0.0001 to 0.5.  Weights come in size-biased order, so that the large ones come early: the number
    of sticks is at most about ``60 / (level discount)``, however slowly the rest decreases.
    """
    weights, n_kept, tail, n_broken = np.empty(int(max(remainder, 0.0) / level) + 1), 0, 0.0, 0
    while remainder > level:
        share, left = draw_next_weight(rng, n_states + n_broken, prior)
        weight = remainder * share
        remainder *= left
        n_broken += 1
        if weight > level and n_kept < weights.shape[0]:
            weights[n_kept] = weight
            n_kept += 1
        else:
            tail += weight
        if n_broken % _BETWEEN_BOUNDS == 0:
            check_signals()
            if _log_number_above(n_states + n_broken, prior, level / remainder) < _LOG_NEGLIGIBLE:
                break
    return weights[:n_kept], tail + remainder


@kernel
def _log_number_above(n_states, prior, share):
    """Upper bound of the log mean number of further states with more than a share of the rest, for discounts >= 0.

    The mean number is E[1 / X; X > share] of the share X of the next state, which is Beta(1 - d, theta + d) and
    stochastically smaller than Beta(1, theta + d).
    """
    if share >= 1.0:
        return -math.inf
    return _shape_of_rest(n_states + 1, prior) * math.log1p(-share) - math.log(share)


@kernel
def _shape_of_rest(n_states, prior):
    """Parameter of all states but ``n_states``; 0 if a discount below 0 leaves no others."""
    shape = prior.gamma + n_states * prior.discount
    return 0.0 if prior.discount < 0.0 and shape < _LEAST_SHARE * prior.gamma else shape
