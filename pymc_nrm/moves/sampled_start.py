"""Initial points of chains over many items, from chains on samples of the items.

Merges of clusters are easy among few items and rare among many.
"""

import numpy as np

# Sizes of successive chains that lead to the initial point of a chain on more items.
START_SIZES = (1000, 20_000)
_START_SWEEPS = 60


def is_many(n):
    """Whether a chain on n items starts from chains on samples of them."""
    return n > START_SIZES[-1]


def climb(rng, n, begin, advance, held=(), sweeps=None):
    """Run chains on growing random samples of n items; return the last chain, and its items.

    ``begin(items, previous)`` makes a chain from the previous one, None at first, whose items come first among its own;
    ``advance(chain)`` makes a sweep; ``sweeps`` maps numbers of items to numbers of sweeps.  All chains include
    ``held``.
    """
    # The order of the items may be informative about their clusters.
    order = rng.permutation(n)
    if len(held):
        order = np.concatenate([held, order[~np.isin(order, held)]])
    chain, sweeps = None, sweeps or dict.fromkeys(START_SIZES, _START_SWEEPS)
    for size, number in sorted({min(size, n): number for size, number in sweeps.items()}.items()):
        chain = begin(order[:size], chain)
        for _ in range(number):
            advance(chain)
    return chain, order[:size]
