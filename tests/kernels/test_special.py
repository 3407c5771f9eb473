"""Numerics of kernels, each against an independent computation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp, psi

from pymc_nrm.kernels import special
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import (
    LANES,
    exp_within,
    log_above_one,
    log_positive,
    squared_lengths,
    squared_lengths_of_items,
)
from pymc_nrm.kernels.pairs import add_pairs, divide_pairs, fused_multiply_add, multiply_pairs, split_at, split_product
from pymc_nrm.moves.gibbs import draw_column


@pytest.mark.parametrize(
    "x",
    [[0.0, 1.0, -2.0], [-1e5, -1e5 + 3.0], [1e300, 0.0], [-np.inf, 2.0], [-np.inf] * 2, [], [np.inf, 1.0], [1, np.nan]],
)
def test_log_sum_exp(x):
    x = np.array(x, dtype=float)
    expected = logsumexp(x) if x.size else -np.inf
    assert special.log_sum_exp(x) == pytest.approx(expected, rel=1e-14, nan_ok=True)


@pytest.mark.parametrize("x", [1e-300, 1e-8, 0.3, 1.0, 1.4616321449683623, 9.999, 10.0, 1e3, 1e17])
def test_digamma(x):
    assert special.digamma(x) == pytest.approx(psi(x), rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
def test_categorical_frequencies(offset):
    probabilities = np.array([0.0, 0.5, 0.0, 0.3, 0.2, 0.0])
    with np.errstate(divide="ignore"):
        log_weights = np.log(probabilities) + offset
    rng = np.random.default_rng(1)
    n_draws = 5000
    draws = [special.draw_categorical(rng, log_weights) for _ in range(n_draws)]
    counts = np.bincount(draws, minlength=6)
    assert counts[probabilities == 0.0].sum() == 0
    error = np.sqrt(n_draws * probabilities * (1.0 - probabilities))
    assert (np.abs(counts - n_draws * probabilities) <= 4.5 * error).all()


@pytest.mark.parametrize("d", [1, 2, 6])
def test_cholesky_update(d):
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d + 2))
    A = root @ root.T
    x = 3.0 * rng.normal(size=d)
    L = np.linalg.cholesky(A)
    special.cholesky_update(L, x.copy())
    np.testing.assert_allclose(L, np.linalg.cholesky(A + np.outer(x, x)), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("a", [1e-6, 0.5, 99.0, 101.0, 1e4, 1e9])
@pytest.mark.parametrize("n", [1, 5, 1000])
def test_log_rising_factorial(a, n):
    exact = math.fsum(math.log(a + i) for i in range(n))
    assert special.log_rising_factorial(a, n) == pytest.approx(exact, rel=1e-12, abs=1e-12)


def test_softplus_and_log_gamma():
    for x in (-1000.0, -3.0, 0.0, 3.0, 1000.0):
        assert special.softplus(x) == pytest.approx(np.logaddexp(0.0, x), rel=1e-14)
    np.testing.assert_allclose(special.log_gamma(np.array([3.0, 4.0])), np.log([2.0, 6.0]))


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


@kernel
def of_each(x, is_exponential, out):
    for k in range(x.shape[0]):
        out[k] = exp_within(x[k]) if is_exponential else log_above_one(x[k]) if x[k] >= 1.0 else log_positive(x[k])


@kernel
def lengths(panel, x, n_blocks, out):
    squared_lengths(panel, x, n_blocks, out)


@kernel
def lengths_of_items(factor, x, out):
    squared_lengths_of_items(factor, x, out)


def test_exponential_and_logarithm_over_their_ranges():
    rng = np.random.default_rng(1)
    x = np.concatenate([1 + 10.0 ** rng.uniform(-16, 308, 10_000), [1.0, np.sqrt(2), 2.0, np.finfo(float).max]])
    x = np.concatenate([x, 1.0 / x, [5e-324, 1e-310, 1e-290]])
    y = np.concatenate([rng.uniform(-700, 700, 10_000), [0.0, -700.0, 700.0]])
    logarithms, exponentials = np.empty_like(x), np.empty_like(y)
    of_each(x, False, logarithms)
    of_each(y, True, exponentials)
    np.testing.assert_allclose(logarithms, np.log(x), rtol=1e-15)
    np.testing.assert_allclose(exponentials, np.exp(y), rtol=1e-13)
    assert exponentials[-3] == 1.0


@pytest.mark.parametrize("d", [1, 2, 7])
def test_squared_lengths(d):
    rng = np.random.default_rng(d)
    n_blocks = 3
    factors = np.tril(rng.normal(size=(n_blocks * LANES, d, d)))
    shifts, x = rng.normal(size=(n_blocks * LANES, d)), rng.normal(size=d)
    rows = [[shifts[:, i, None], factors[:, i, : i + 1]] for i in range(d)]
    columns = np.concatenate([part for row in rows for part in row], axis=1)
    panel = np.ascontiguousarray(columns.reshape(n_blocks, LANES, -1).transpose(0, 2, 1))
    expected = ((factors @ x + shifts) ** 2).sum(axis=1)
    for function in (squared_lengths, lengths):
        out = np.full(n_blocks * LANES, np.nan)
        function(panel, x, n_blocks, out)
        np.testing.assert_allclose(out, expected, rtol=1e-13)
        out[:] = np.nan
        function(panel, x, 2, out)
        np.testing.assert_array_equal(np.isnan(out), np.arange(n_blocks * LANES) >= 2 * LANES)
    items = rng.normal(size=(LANES, d))
    expected = ((items @ factors[3].T + shifts[3]) ** 2).sum(axis=1)
    for function in (squared_lengths_of_items, lengths_of_items):
        out = np.full(LANES, np.nan)
        function(columns[3], np.ascontiguousarray(items.T), out)
        np.testing.assert_allclose(out, expected, rtol=1e-13)


N_DRAWS = 40_000


@kernel
def draw_many(rng, log_weights, n_columns, likely, n_draws):
    counts = np.zeros(n_columns)
    for _ in range(n_draws):
        counts[draw_column(rng, log_weights.copy(), n_columns, likely)] += 1.0
    return counts


@pytest.mark.parametrize("likely", [0, 2])
@pytest.mark.parametrize(
    "log_weights",
    [
        [0.0, -1.0, -2.0],
        [-1.0, 3.0, 0.5],
        [0.0, 30.0, 29.0],
        [0.0, 499.5, 499.0],
        [0.0, 800.0, 799.0],
        [0.0, -50.0, 0.0],
        [-np.inf, 1.0, 1.5],
        [-np.inf, 1.0, -np.inf],
        [1.0, -np.inf, -np.inf],
        [1e6, 1e6 + 1, 1e6 - 1],
        list(np.linspace(-3, 0, LANES + 5)),
    ],
)
def test_frequencies(log_weights, likely):
    width = -(-len(log_weights) // LANES) * LANES
    padded = np.full(width, -np.inf)
    padded[: len(log_weights)] = log_weights
    counts = draw_many(np.random.default_rng(3), padded, len(log_weights), likely, N_DRAWS)
    probabilities = np.exp(np.array(log_weights) - max(log_weights))
    probabilities /= probabilities.sum()
    assert (counts[probabilities < 1e-15] == 0).all()
    deviation = np.sqrt(N_DRAWS * probabilities * (1 - probabilities))
    assert (np.abs(counts - N_DRAWS * probabilities) <= 4.5 * deviation + 1e-6).all()
