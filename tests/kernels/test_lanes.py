"""Vector arithmetic against NumPy."""

import numpy as np
import pytest

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES, exp_within, log_above_one, squared_lengths


@kernel
def logarithms(x, out):
    for k in range(x.shape[0]):
        out[k] = log_above_one(x[k])


@kernel
def exponentials(x, out):
    for k in range(x.shape[0]):
        out[k] = exp_within(x[k])


@kernel
def lengths(panel, x, n_blocks, out):
    squared_lengths(panel, x, n_blocks, out)


def test_logarithm_over_the_whole_range():
    exponents = np.random.default_rng(1).uniform(-16, 308, 10_000)
    x = np.concatenate([1 + 10.0**exponents, [1.0, np.sqrt(2), 2.0, np.finfo(float).max]])
    out = np.empty_like(x)
    logarithms(x, out)
    np.testing.assert_allclose(out, np.log(x), rtol=1e-15)


def test_exponential_over_its_range():
    x = np.concatenate([np.random.default_rng(1).uniform(-700, 700, 10_000), [0.0, -700.0, 700.0]])
    out = np.empty_like(x)
    exponentials(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-13)
    assert out[-3] == 1.0


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
