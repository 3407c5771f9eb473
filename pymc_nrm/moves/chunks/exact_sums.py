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

# Sums of integers stay below 2^62.
_BITS = 62


class Quanta(NamedTuple):
    """The quantum of each statistic, its reciprocal, and the largest number of quanta of a row; shape (size,)."""

    quantum: Any
    inverse: Any
    largest: Any


def quanta_of(largest, n):
    """Quanta of statistics, given their largest absolute values over all of n rows, shape (size,)."""
    exponent = np.frexp(largest)[1] + _row_bits(n) - (_BITS - 1)
    # Reciprocals of smaller quanta would overflow.
    exponent = np.where(largest > 0.0, np.maximum(exponent, -1000), 0)
    quantum, inverse = np.ldexp(1.0, exponent), np.ldexp(1.0, -exponent)
    return Quanta(quantum, inverse, np.rint(largest * inverse) + 1.0)


def _row_bits(n):
    return max(int(n) - 1, 0).bit_length()


def logarithm_digits(n):
    """Resolution of the second word of sums of logarithms over n rows, a power of two."""
    return float(2.0 ** (_BITS - _row_bits(n)))


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
def add_rounded(rounded, sums, sign):
    """Add the numbers of quanta of a row, times a sign, to sums, both int64 (size,)."""
    for j in range(rounded.shape[0]):
        sums[j] += sign * rounded[j]


@exact_kernel
def add_logarithm(value, digits, words):
    """Add a logarithm to a sum of two words, whole numbers and fractions; the third counts terms that do not fit."""
    if abs(value) < 0.5 * digits:
        whole = np.rint(value)
        words[0] += np.int64(whole)
        words[1] += np.int64(np.rint((value - whole) * digits))
    else:
        words[2] += 1


def logarithm_value(words, digits):
    """Sums of :func:`add_logarithm` from words (..., 3); NaN if a term was too large, or no number."""
    return np.where(words[..., 2] > 0, np.nan, words[..., 0] + words[..., 1] / digits)
