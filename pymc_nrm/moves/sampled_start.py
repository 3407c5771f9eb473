"""Starts of chains over many items from chains on some of them.

Merges of clusters are easy among few items and rare among many.
"""

import numpy as np

# Chains on so many items, one after the other, lead to the start of a chain on more.
START_SIZES = (1000, 20_000)
_START_SWEEPS = 60


def is_many(n):
    """Whether a chain on n items starts from chains on some of them."""
    return n > START_SIZES[-1]


def climb(rng, n, begin, advance, held=(), sweeps=None):
    """Run chains on more and more of n random items; return the last of them, and its items.

    ``begin(items, previous)`` makes a chain from the one before, None at first, whose items come first among its own;
    ``advance(chain)`` makes a sweep, of which ``sweeps`` has numbers by those of items.  All chains hold ``held``.
    """
    # Items may be in an order that tells of their clusters.
    order = rng.permutation(n)
    if len(held):
        order = np.concatenate([held, order[~np.isin(order, held)]])
    chain, sweeps = None, sweeps or dict.fromkeys(START_SIZES, _START_SWEEPS)
    for size, number in sorted({min(size, n): number for size, number in sweeps.items()}.items()):
        chain = begin(order[:size], chain)
        for _ in range(number):
            advance(chain)
    return chain, order[:size]
