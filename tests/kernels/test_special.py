"""Numerics of kernels, each against an independent computation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import beta

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
from pymc_nrm.measures.quadrature import log1mexp
from pymc_nrm.moves.gibbs import draw_column


@pytest.mark.parametrize(
    "x",
    [[0.0, 1.0, -2.0], [-1e5, -1e5 + 3.0], [1e300, 0.0], [-np.inf, 2.0], [-np.inf] * 2, [], [np.inf, 1.0], [1, np.nan]],
)
def test_log_sum_exp(x):
    x = np.array(x, dtype=float)
    expected = logsumexp(x) if x.size else -np.inf
    assert special.log_sum_exp(x) == pytest.approx(expected, rel=1e-14, nan_ok=True)


# Reference values with 400 digits, by mpmath.
DIGAMMA = {
    2.3e-308: -4.347826086956522e307,
    1e-300: -1e300,
    1e-08: -100000000.57721564,
    0.3: -3.502524222200133,
    1.0: -0.5772156649015329,
    1.4616321449683622: -9.241265521729427e-17,
    9.999: 2.2516474172057355,
    10.0: 2.251752589066721,
    1e3: 6.907255195648812,
    1e17: 39.14394658089878,
    1.7e308: 709.7268368932282,
    math.inf: math.inf,
}
# log Gamma(a + n) / Gamma(a) by a, for n = 0.5, 7 and 1e15.
LOG_RISING_FACTORIALS = {
    2.3e-308: (-707.7909345763063, -701.7840483072208, 3.353877639490996e16),
    1e-08: (-17.848315814890608, -11.841429507442264, 3.3538776394910652e16),
    0.5: (-0.5723649429247001, 6.961999293834033, 3.3538776394910684e16),
    99.9: (2.3008335967998352, 32.43498086219755, 3.353877639491376e16),
    100.0: (2.3013350982022227, 32.44178284775422, 3.3538776394913764e16),
    9999.0: (4.605107682237805, 64.47378232390793, 3.3538776395173932e16),
    1e4: (4.605157685988097, 64.47448214898023, 3.3538776395173956e16),
    1e17: (19.57197329044939, 274.00762606629144, 3.914892999706875e16),
    1e300: (345.38776394910684, 4835.428695287496, 6.907755278982138e17),
}
SOFTPLUS = {-math.inf: 0.0, -1e300: 0.0, -40.0: 4.248354255291589e-18, 0.0: 0.6931471805599453, 1.0: 1.3132616875182228}
SOFTPLUS |= {x: x for x in (36.0, 800.0, 1e300, math.inf)}
LOG1MEXP = {1e-300: -690.7755278982137, 1e-10: -23.025850929990458, 0.69999: -0.6863508672449967, math.inf: 0.0}
LOG1MEXP |= {0.7: -0.6863410028083852, 40.0: -4.248354255291589e-18, 0.0: -math.inf}
# Outside of the positive numbers: arguments at which a loop towards larger ones would never end.
NOT_POSITIVE = [-math.inf, -1.7e308, -1e17, -1e9, -3.5, -1.0, -5e-324, -0.0, 0.0, math.nan]


@pytest.mark.usefixtures("returns")
def test_special_functions_over_their_ranges():
    for function, table in [(special.digamma, DIGAMMA), (special.softplus, SOFTPLUS), (log1mexp, LOG1MEXP)]:
        for x, expected in table.items():
            assert function(x) == pytest.approx(expected, rel=1e-13, abs=1e-14 * (abs(x) > 1e-3)), (function, x)
        assert math.isnan(function(math.nan))
    for x in NOT_POSITIVE:
        assert math.isnan(special.digamma(x))
        # Their value has no meaning, but they return.
        special.log_rising_factorial(x, 3.0), special.log_gamma_ratio(x, 3.0, 0.0), log1mexp(x)


def test_log_rising_factorials_over_their_range():
    numbers = [0.0, 0.5, 7.0, 1e15]
    for a, row in LOG_RISING_FACTORIALS.items():
        for n, expected in zip(numbers, (0.0, *row), strict=True):
            assert special.log_rising_factorial(a, n) == pytest.approx(expected, rel=1e-13, abs=1e-13), (a, n)
            ratio = special.log_gamma_ratio(a, n, math.lgamma(a))
            assert ratio == pytest.approx(expected, rel=1e-13, abs=1e-10), (a, n)
            symbolic = special.symbolic_log_rising_factorial(*np.array([a, n])).eval()
            assert symbolic == pytest.approx(expected, rel=1e-13, abs=1e-13), (a, n)
    for n in numbers[1:]:
        assert math.isnan(special.log_rising_factorial(math.nan, n))


@pytest.mark.usefixtures("returns")
def test_draws_return_for_every_shape():
    rng = np.random.default_rng(1)
    for x in NOT_POSITIVE:
        assert x == 0.0 or math.isnan(special.draw_gamma(rng, x))
        special.draw_log_gamma(rng, x), special.draw_beta(rng, x, 1.0), special.draw_probability(rng, 1.0, x)
    for shape in (2.3e-308, 1e-300, 1e-9, 1e9, 1e300):
        assert 0.0 <= special.draw_probability(rng, shape, shape) <= 1.0
        assert special.draw_gamma(rng, shape) >= 0.0


@pytest.mark.every(3)
@pytest.mark.usefixtures("returns")
@pytest.mark.parametrize("a", [2.3e-308, 1e-300, 1e-5, 4e-4, 0.3, 2.0])
def test_frequencies_of_beta_variables(a):
    rng, n_draws = np.random.default_rng(3), 20_000
    x = np.array([special.draw_probability(rng, a, 3 * a) for _ in range(n_draws)])
    y, others = np.array([special.draw_beta(rng, a, 3 * a) for _ in range(n_draws)]).T
    np.testing.assert_allclose(y + others, 1.0, rtol=1e-15)
    deviation = math.sqrt(3 / 16 / (1 + 4 * a) / n_draws)
    for values in (x, y):
        assert abs(values.mean() - 0.25) < 4.5 * deviation
        large = beta.sf(0.5, max(a, 1e-12), 3 * max(a, 1e-12))
        assert abs((values > 0.5).mean() - large) < 4.5 / math.sqrt(n_draws) / 2


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


def test_log_gamma():
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
