"""Numbers as unevaluated sums of two doubles, a high and a low part, for differences of sums that nearly cancel.

Dekker (1971), "A floating-point technique for extending the available precision"; Ogita, Rump & Oishi (2005), "Accurate
sum and dot product".
"""

import math
from fractions import Fraction

from pymc_nrm.kernels.generic import exact_kernel, numba_extension


def fused_multiply_add(a, b, c):
    """The double nearest to ``a b + c``, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))


@numba_extension
def _compile_fused_multiply_add():
    from numba.core import types
    from numba.extending import intrinsic, overload

    def emit(context, builder, signature, arguments):
        return builder.fma(*arguments)

    @intrinsic
    def compiled(typing_context, a, b, c):
        return types.float64(types.float64, types.float64, types.float64), emit

    @overload(fused_multiply_add)
    def implementation(a, b, c):
        return lambda a, b, c: compiled(a, b, c)


@exact_kernel
def split_at(x, large):
    """Split a number below 2^51 g into a multiple of g, a power of two, and the remainder; ``large`` is 1.5 2^52 g."""
    high = (x + large) - large
    return high, x - high


@exact_kernel
def split_product(a, b, large):
    """Split a product as in :func:`split_at`; the low part is the double nearest to the remainder."""
    high = (a * b + large) - large
    return high, fused_multiply_add(a, b, -high)


@exact_kernel
def add_pairs(a, a_low, b, b_low):
    """Sum of two pairs."""
    total = a + b
    part = total - a
    low = ((a - (total - part)) + (b - part)) + (a_low + b_low)
    high = total + low
    return high, low - (high - total)


@exact_kernel
def multiply_pairs(a, a_low, b, b_low):
    """Product of two pairs."""
    product = a * b
    low = fused_multiply_add(a, b, -product) + (a * b_low + a_low * b)
    high = product + low
    return high, low - (high - product)


@exact_kernel
def divide_pairs(a, a_low, b, b_low):
    """Quotient of two pairs."""
    first = a / b
    second = ((fused_multiply_add(-first, b, a) + a_low) - first * b_low) / b
    high = first + second
    return high, second - (high - first)
