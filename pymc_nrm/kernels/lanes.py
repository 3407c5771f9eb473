"""Arithmetic on many clusters side by side, for the vector units of a processor."""

import math
from functools import partial

import numpy as np

from pymc_nrm.kernels.generic import kernel, numba_extension

# Twice the widest registers of today, so that sums of products need not wait for each other; narrower machines use
# more instructions.  Compilers vectorise plain loops over multiples of `LANES` numbers without a remainder.
LANES = 16

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Bits of 1 minus bits of sqrt(1/2), without the lowest: adding them moves the mantissa to sqrt(1/2) .. sqrt(2).
_MANTISSA_SHIFT = 0x00095F6199300000
_LOG_SERIES = tuple(2.0 / (2 * k + 1) for k in range(1, 10))
_EXP_SERIES = tuple(1.0 / math.factorial(k) for k in range(13))


@kernel
def whole_lanes(n):
    """The least multiple of LANES that is at least n."""
    return (n + LANES - 1) // LANES * LANES


@kernel
def log_above_one(x):
    """Natural logarithm of a finite number of at least 1, without branches, to about one unit in the last place.

    With ``x = 2^e m`` and m in sqrt(1/2) .. sqrt(2), it sums the series of ``log m = 2 artanh(s)``, where
    ``s = (m - 1) / (m + 1)`` and s^2 is below 0.03.  The series is split into parts that need not wait for each
    other.
    """
    bits = np.float64(x).view(np.int64)
    exponent = ((bits + _MANTISSA_SHIFT) >> 52) - 1023
    m = np.int64(bits - (exponent << 52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    w = z * z
    c = _LOG_SERIES
    even = c[0] + w * (c[2] + w * (c[4] + w * (c[6] + w * c[8])))
    odd = c[1] + w * (c[3] + w * (c[5] + w * c[7]))
    return float(exponent) * _LN2_HIGH + (2.0 * s + (s * z * (even + z * odd) + float(exponent) * _LN2_LOW))


@kernel
def log_positive(x):
    """Natural logarithm of a finite positive number, without branches."""
    is_small = x < 1e-290
    return log_above_one(x * 2.0**600 if is_small else x) - (600.0 * math.log(2.0) if is_small else 0.0)


@kernel
def exp_within(x):
    """Exponential of a number in -700 .. 700, without branches, to a relative error of 1e-13, or 1e-14 near zero.

    With ``exp x = 2^n exp r``, r is within log(2) / 2 of zero.
    """
    n = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    w = r * r
    v = w * w
    c = _EXP_SERIES
    low = (c[0] + c[1] * r) + w * (c[2] + c[3] * r)
    middle = (c[4] + c[5] * r) + w * (c[6] + c[7] * r)
    high = (c[8] + c[9] * r) + w * (c[10] + c[11] * r)
    # Older processors, too, have vector instructions for conversion to short integers.
    scale = np.int64((np.int64(np.int32(n)) + 1023) << 52).view(np.float64)
    return (low + v * (middle + v * (high + v * c[12]))) * scale


def squared_lengths(panel, x, n_blocks, out):
    """Squared lengths ``|W x + b|^2`` for the lower triangular W and the b of each cluster, in place. Shapes: ``panel``
    (n_blocks, n_rows, LANES), ``x`` (d,), ``out`` (at least n_blocks * LANES,).
    """
    row = 0
    total = np.zeros((n_blocks, LANES))
    for i in range(len(x)):
        y = panel[:n_blocks, row] + np.einsum("bjl,j->bl", panel[:n_blocks, row + 1 : row + 2 + i], x[: i + 1])
        total += y**2
        row += 2 + i
    out[: n_blocks * LANES] = total.ravel()


def squared_lengths_of_items(factor, x, out):
    """:func:`squared_lengths` of LANES items, x (d, LANES), and one cluster, factor (n_rows,), in place."""
    row = 0
    out.fill(0.0)
    for i in range(len(x)):
        out += (factor[row] + factor[row + 1 : row + 2 + i] @ x[: i + 1]) ** 2
        row += 2 + i


@numba_extension
def _compile_squared_lengths():
    # Compilers do not vectorise these sums: plain loops take three to five times as long.
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic, overload

    flags = ("contract", "reassoc", "nsz", "arcp")
    lanes = ir.VectorType(ir.DoubleType(), LANES)
    whole, short = ir.IntType(64), ir.IntType(32)

    def lane_pointer(builder, array):
        return builder.bitcast(array.data, lanes.as_pointer())

    def emit_lengths(builder, d, row, factor, value, total):
        """Add the squared length to ``total``: ``factor(index)`` and ``value(j)`` return lanes of W or b, and of x."""
        y, one = cgutils.alloca_once(builder, lanes), ir.Constant(whole, 1)

        def add_product(target, a, b):
            product = builder.fmul(a, b, flags=flags)
            builder.store(builder.fadd(builder.load(target), product, flags=flags), target)

        builder.store(ir.Constant(lanes, [0.0] * LANES), total)
        with cgutils.for_range(builder, d) as i:
            start = builder.load(row)
            builder.store(factor(start), y)
            start, length = builder.add(start, one), builder.add(i.index, one)
            with cgutils.for_range(builder, length) as j:
                add_product(y, factor(builder.add(start, j.index)), value(j.index))
            add_product(total, builder.load(y), builder.load(y))
            builder.store(builder.add(start, length), row)

    def load(builder, pointer, index):
        return builder.load(builder.gep(pointer, [index]), align=8)

    def spread(builder, pointer, index):
        undefined, number = ir.Constant(lanes, ir.Undefined), builder.load(builder.gep(pointer, [index]))
        single = builder.insert_element(undefined, number, ir.Constant(short, 0))
        return builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(short, LANES), [0] * LANES))

    def emit(context, builder, signature, arguments):
        panel, x, out = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 3))
        n_rows, d = builder.extract_value(panel.shape, 1), builder.extract_value(x.shape, 0)
        rows, results = lane_pointer(builder, panel), lane_pointer(builder, out)
        total, row = cgutils.alloca_once(builder, lanes), cgutils.alloca_once(builder, whole)
        with cgutils.for_range(builder, arguments[2]) as block:
            builder.store(builder.mul(block.index, n_rows), row)
            of_clusters, of_item = partial(load, builder, rows), partial(spread, builder, x.data)
            emit_lengths(builder, d, row, of_clusters, of_item, total)
            builder.store(builder.load(total), builder.gep(results, [block.index]), align=8)
        return context.get_dummy_value()

    def emit_of_items(context, builder, signature, arguments):
        factor, x, out = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in range(3))
        total, row = cgutils.alloca_once(builder, lanes), cgutils.alloca_once(builder, whole)
        builder.store(ir.Constant(whole, 0), row)
        of_cluster, of_items = partial(spread, builder, factor.data), partial(load, builder, lane_pointer(builder, x))
        emit_lengths(builder, builder.extract_value(x.shape, 0), row, of_cluster, of_items, total)
        builder.store(builder.load(total), lane_pointer(builder, out), align=8)
        return context.get_dummy_value()

    def check(*arrays):
        if any(array.ndim != ndim or array.layout != "C" or array.dtype != types.float64 for array, ndim in arrays):
            raise TypeError("squared lengths need contiguous arrays of doubles")

    @intrinsic
    def compiled(typing_context, panel, x, n_blocks, out):
        check((panel, 3), (x, 1), (out, 1))
        return types.void(panel, x, types.intp, out), emit

    @intrinsic
    def compiled_of_items(typing_context, factor, x, out):
        check((factor, 1), (x, 2), (out, 1))
        return types.void(factor, x, out), emit_of_items

    @overload(squared_lengths)
    def implementation(panel, x, n_blocks, out):
        return lambda panel, x, n_blocks, out: compiled(panel, x, n_blocks, out)

    @overload(squared_lengths_of_items)
    def implementation_of_items(factor, x, out):
        return lambda factor, x, out: compiled_of_items(factor, x, out)
