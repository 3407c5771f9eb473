"""Sums over rows as sums of integers, which do not depend on the order of their terms.

Every number of a row is rounded to a multiple of a power of two, its *quantum*, once.  Addition of integers is
associative: sums are the same for any chunks.  The statistics of a cluster are these sums times the quanta, so that
rounding changes the target slightly, and nothing else.  Quanta of statistics use the largest of all rows: with n rows,
they are at most ``n 2^-59`` times as large.  High parts of sums (``families/moments.py``) are multiples of coarser
powers of two and stay exact; with their low parts, sums have over a hundred bits.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item
from pymc_nrm.kernels.generic import exact_kernel

__all__ = ["Quanta", "add_rounded", "quanta_of", "round_statistics"]

# Sums of integers stay below 2^62.
_BITS = 62


class Quanta(NamedTuple):
    """The quantum of each statistic, its reciprocal, and the largest number of quanta of a row; shape (size,)."""

    quantum: Any
    inverse: Any
    largest: Any


def quanta_of(largest, n):
    """Quanta of statistics, given their largest absolute values over all of n rows, shape (size,)."""
    exponent = np.frexp(largest)[1] + max(int(n) - 1, 0).bit_length() - (_BITS - 1)
    # Reciprocals of smaller quanta would overflow.
    exponent = np.where(largest > 0.0, np.maximum(exponent, -1000), 0)
    quantum, inverse = np.ldexp(1.0, exponent), np.ldexp(1.0, -exponent)
    return Quanta(quantum, inverse, np.rint(largest * inverse) + 1.0)


@exact_kernel
def round_statistics(family, data, item, quanta, memory, rounded):
    """Write the statistics of one row as numbers of quanta (size,), int64, and say whether all are within bounds."""
    memory.fill(0.0)
    add_item(family, memory, data, item, 1.0)
    right = True
    for j in range(memory.shape[0]):
        scaled = np.rint(memory[j] * quanta.inverse[j])
        inside = abs(scaled) <= quanta.largest[j]
        right &= inside
        rounded[j] = np.int64(scaled) if inside else 0
    return right


@exact_kernel
def add_rounded(rounded, sums):
    """Add the numbers of quanta of a row to sums, both int64 (size,)."""
    for j in range(rounded.shape[0]):
        sums[j] += rounded[j]
