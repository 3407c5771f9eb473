"""Weights of states without times: pieces broken off the rest of the stick, in size-biased order."""

import math

import numpy as np

from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.partitions.state_weights import draw_next_weight

# Sticks to break, per state and per unit of concentration over discount, until few weights above the level remain.
_MOST_STICKS = 2000.0
# Logarithm of a probability that doubles lose.
_LOG_NEGLIGIBLE = -41.0


@kernel
def effective_level(prior, level):
    """The level, or a higher one if discounts are so large that weights above it would take too many sticks to find.

    It is a function of hyperparameters alone.
    """
    if prior.discount <= 0.0:
        return level
    # After m sticks about m^(1 - 1 / discount) remains.
    return max(level, _MOST_STICKS ** (1.0 - 1.0 / prior.discount))


@kernel
def sticks_above(rng, prior, n_states, remainder, level):
    """Break the remainder of the weights until it is below the level; return all pieces above it, and the sum of the
    rest.
    """
    pieces, n_pieces, tail = np.empty(int(max(remainder, 0.0) / level) + 1), 0, 0.0
    # The mean number of pieces above the level is at most (1 - level)^theta / level^2.
    theta = prior.gamma + n_states * prior.discount
    if theta * math.log1p(-level) - 2.0 * math.log(level) < _LOG_NEGLIGIBLE:
        return pieces[:0], remainder
    n_broken = 0
    while remainder > level:
        if n_broken % 1024 == 0:
            check_signals()
        share, left = draw_next_weight(rng, n_states + n_broken, prior)
        piece = remainder * share
        remainder *= left
        n_broken += 1
        if piece > level and n_pieces < pieces.shape[0]:
            pieces[n_pieces] = piece
            n_pieces += 1
        else:
            tail += piece
    return pieces[:n_pieces], tail + remainder
