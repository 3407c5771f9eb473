"""Probabilities with which a kernel chooses, read from the kernel itself by giving it chosen uniform variables."""

import numpy as np

# Multiplier of the generator PCG64 (O'Neill 2014, "PCG: a family of simple fast space-efficient statistically good
# algorithms for random number generation").
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_MODULUS = 1 << 128
_BITS = 53


def generator_with_uniform(k):
    """A generator whose next uniform variable is ``k / 2^53``."""
    # A draw advances the state, then rotates the exclusive or of its halves by the upper six bits: if the upper half is
    # 0, the output is the lower half, and a uniform variable keeps its upper 53 bits.
    bits = np.random.PCG64(0)
    state = bits.state
    state["state"]["state"] = ((k << (64 - _BITS)) - state["state"]["inc"]) * pow(_MULTIPLIER, -1, _MODULUS) % _MODULUS
    bits.state = state
    return np.random.Generator(bits)


def probability(holds, above=0.0):
    """The probability that ``holds(rng)`` is true, to an error of 2^-53.

    It must be true for all uniform variables below this probability, which is at least ``above``.
    """
    low, high = int(above * (1 << _BITS)), 1 << _BITS
    while low < high:
        middle = (low + high) // 2
        if holds(generator_with_uniform(middle)):
            low = middle + 1
        else:
            high = middle
    return low / (1 << _BITS)
