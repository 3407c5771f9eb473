"""Sums over rows as sums of integers, which do not depend on the order of their terms.

Every number of a row is rounded to a multiple of a power of two, its *quantum*, once.  Addition of integers is
associative: sums are the same for any chunks.  The statistics of a cluster are these sums times the quanta, so rounding
changes the target slightly, and nothing else.  Quanta of statistics are set by the largest values of all rows: with n
rows, they are at most ``n 2^-59`` times as large.  High parts of sums (``families/shared/moments.py``) are multiples of
coarser powers of two and stay exact; with their low parts, sums have over a hundred bits.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import exact_kernel
from pymc_nrm.kernels.lanes import LANES

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


@shared_kernel(threaded=True)
def move_rows(before, after, family, data, quanta, counts, sums):
    """Move rows from the sums of ``before`` to the sums of ``after``, both (n,), -1 for none, where they differ; return
    False if a statistic is too large.  Shapes: ``counts`` (m,), ``sums`` (m, size), int64.
    """
    size, right = sums.shape[1], True
    memory, rounded = np.empty(size), np.empty(size, dtype=np.int64)
    for i in range(after.shape[0]):
        if before[i] != after[i]:
            memory.fill(0.0)
            add_item(family, memory, data, i, 1.0)
            for j in range(size):
                scaled = np.rint(memory[j] * quanta.inverse[j])
                inside = abs(scaled) <= quanta.largest[j]
                right &= inside
                rounded[j] = np.int64(scaled) if inside else 0
            for target, sign in ((before[i], -1), (after[i], 1)):
                if target >= 0:
                    counts[target] += sign
                    for j in range(size):
                        sums[target, j] += sign * rounded[j]
    return right


@exact_kernel
def add_logarithms(terms, n, digits, words):
    """Add the first of LANES logarithms to a sum of two words, whole numbers and fractions; the third counts terms that
    do not fit.
    """
    for lane in range(LANES):
        fits = abs(terms[lane]) < 0.5 * digits
        term = terms[lane] if fits and lane < n else 0.0
        whole = np.rint(term)
        words[0] += np.int64(whole)
        words[1] += np.int64(np.rint((term - whole) * digits))
        words[2] += lane < n and not fits


def logarithm_value(words, digits):
    """Sums of :func:`add_logarithms` from words (..., 3); NaN if a term was too large or NaN."""
    return np.where(words[..., 2] > 0, np.nan, words[..., 0] + words[..., 1] / digits)
