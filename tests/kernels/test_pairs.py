"""Arithmetic of pairs of doubles against rational numbers, inside kernels that may reassociate."""

from fractions import Fraction

import numpy as np
import pytest

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.pairs import add_pairs, divide_pairs, fused_multiply_add, multiply_pairs, split_at, split_product


@kernel
def operations(a, b, out):
    """Pairs of the sum, product and quotient of two pairs, splits of a number and a product, and one rounding."""
    out[0] = add_pairs(a[0], a[1], b[0], b[1])
    out[1] = multiply_pairs(a[0], a[1], b[0], b[1])
    out[2] = divide_pairs(a[0], a[1], b[0], b[1])
    out[3] = split_at(a[0], 1.5 * 2.0**52)
    out[4] = split_product(a[0], b[0], 1.5 * 2.0**52)
    out[5, 0] = fused_multiply_add(a[0], b[0], -a[0] * b[0])


@pytest.mark.parametrize("function", [operations, operations.__wrapped__])
def test_pairs_hold_thirty_digits(function):
    rng = np.random.default_rng(1)
    for _ in range(100):
        a, b = [np.array([x, x * 2.0**-54 * rng.uniform(-1, 1)]) for x in rng.normal(scale=1e4, size=2)]
        out = np.zeros((6, 2))
        function(a, b, out)
        total = [sum(map(Fraction, row.tolist())) for row in out]
        x, y = [sum(map(Fraction, pair.tolist())) for pair in (a, b)]
        high_x, high_y = Fraction(a[0]), Fraction(b[0])
        for found, expected in zip(total, (x + y, x * y, x / y), strict=False):
            assert abs(found - expected) <= abs(expected) * Fraction(1, 2**96) or abs(found - expected) < 2.0**-88
        assert total[3] == high_x
        assert abs(total[4] - high_x * high_y) < 2.0**-53
        assert (out[3:5, 0] == np.round(out[3:5, 0])).all() and (np.abs(out[3:5, 1]) <= 0.5 + 1e-9).all()
        rounding = high_x * high_y - Fraction(float(a[0] * b[0]))
        assert out[5, 0] == pytest.approx(float(rounding), abs=0)


def test_sums_of_high_parts_are_exact():
    x = np.random.default_rng(2).normal(scale=1e6, size=1000)
    large = 1.5 * 2.0**52 * 2.0 ** (21 + 11 - 52)
    high = np.array([split_at(value, large)[0] for value in x])
    assert Fraction(float(high.sum())) == sum(map(Fraction, high.tolist()))
