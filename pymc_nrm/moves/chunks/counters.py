"""Random numbers of rows by Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").

A number is a function of a seed, a call, a stream and a row, and of nothing else: the chunk of the row, the thread and
the order of rows do not matter.
"""

import numpy as np

from pymc_nrm.kernels.generic import kernel

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_FIRST_STEP, _SECOND_STEP = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_FIVE, _SIX, _PLACE = np.uint64(5), np.uint64(6), np.uint64(26)
_UNIT = 2.0**-53


@kernel
def philox(a, b, c, d, first_key, second_key):
    """Four words of 32 bits from a counter of four and a key of two, all uint64."""
    for _ in range(10):
        first, second = _FIRST_FACTOR * a, _SECOND_FACTOR * c
        a = (second >> _HALF) ^ b ^ first_key
        c = (first >> _HALF) ^ d ^ second_key
        b, d = second & _LOW, first & _LOW
        first_key = (first_key + _FIRST_STEP) & _LOW
        second_key = (second_key + _SECOND_STEP) & _LOW
    return a, b, c, d


@kernel
def row_uniform(seed, call, stream, row):
    """A number in [0, 1) of 53 bits; the seed is uint64, the others are whole numbers of at least 0."""
    number = np.uint64(row)
    a, b, _, _ = philox(number & _LOW, number >> _HALF, np.uint64(call), np.uint64(stream), seed & _LOW, seed >> _HALF)
    return float(((a >> _FIVE) << _PLACE) + (b >> _SIX)) * _UNIT
