"""Gibbs updates of hidden states, of the common state of a block of times, with rows and parameters integrated out.

Let a block of L times be in one state, after row j and before state l, and take all counts N without it.  Given the
weights beta of the states, with remainder r, the block is in an existing state k with probability proportional to

    (N_jk + alpha beta_k + kappa_jk)  (N_kk + s + alpha beta_k + kappa)_(L-1) / (n_k + s + alpha + kappa)_(L-1)
    (N_kl + alpha beta_l + [k = l] (kappa + s + L - 1)) / (n_k + s + alpha + kappa + L - 1)  p(x_block | x_k)

where s is 1 if row j is of state k and 0 otherwise, (a)_m a rising factorial, and the second line lacks its fraction if
no time follows.  A new state has the weight b, a piece of the remainder drawn before the choice, or the weight of the
state that the block was alone in:

    alpha r  (alpha b + kappa)_(L-1) / (alpha + kappa)_(L-1)  alpha beta_l / (alpha + kappa + L - 1)  p(x_block)

The joint density of occupied weights, in which a new state has the factor ``b^(-1-d) (r - b)^(theta + d - 1)``, is
r / b times the density without it and with b as a candidate, ``b^(-d) (r - b)^(theta + d - 1) / r``, up to a constant
that is 1 since weights of Pitman-Yor processes are consistent.  So with b fixed a new state is entered with weight
alpha r, not alpha b, while its transitions to itself use b.  With L = 1 this is the direct assignment of Teh, Jordan,
Beal & Blei (2006, section 5.3), but weights are drawn exactly from their conditional given the labels.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import refresh_cache
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.states.moves.block_gibbs import move_blocks
from pymc_nrm.states.moves.slots import draw_slot_transitions, grow_slots
from pymc_nrm.states.moves.time_gibbs import move_times

# Times of the shortest blocks.
_SHORTEST = 4


class DirectUpdates(NamedTuple):
    """Times ``begin`` to ``end - 1`` of blocks, int64 of shape (n_blocks, 2), and single times (n_times,), in order."""

    blocks: Any
    times: Any


@shared_kernel
def direct_updates(rng, labels, prior, family, data, options):
    """Redraw the common state of each block whose times share one, and then the state of each single time.

    It leaves the posterior invariant for any blocks and times that do not depend on labels, and is irreducible if the
    times are all times.  Returns the state of kernels, and the number of times that changed their state.
    """
    state = build_state(labels, family, data)
    slots = draw_slot_transitions(rng, state, prior)
    n_done, n_moved = 0, 0
    while n_done < options.blocks.shape[0]:
        state, slots = grow_slots(state, slots, family)
        n_done, moved = move_blocks(rng, state, slots, prior, family, data, options.blocks, n_done)
        n_moved += moved
    # Blocks change statistics alone.
    for k in range(state.size[0]):
        slot = state.active[k]
        refresh_cache(family, state.statistics[slot], state.cache[slot])
    n_done = 0
    while n_done < options.times.shape[0]:
        state, slots = grow_slots(state, slots, family)
        n_done, moved = move_times(rng, state, slots, prior, family, data, options.times, n_done)
        n_moved += moved
    return state, n_moved


def dyadic_blocks(rng, n):
    """Intervals that cover n times at each length 4, 8, 16, ..., the longest first, from a random offset; (m, 2)."""
    blocks, length = [np.empty((0, 2), dtype=np.int64)], _SHORTEST
    while length < 2 * n:
        begin = np.arange(-int(rng.integers(length)), n, length)
        blocks.append(np.column_stack([np.maximum(begin, 0), np.minimum(begin + length, n)]))
        length *= 2
    return np.concatenate(blocks[::-1])


def successive_times(rng, n, n_times):
    """Successive times from a random one, and again from the first after the last; (n_times,)."""
    return (int(rng.integers(n)) + np.arange(n_times)) % n if n else np.empty(0, dtype=np.int64)
