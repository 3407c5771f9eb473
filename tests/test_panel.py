"""Draws of a column of a panel against their exact probabilities."""

import numpy as np
import pytest

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.moves.gibbs import draw_column

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


def test_nothing_is_drawn_where_nothing_is_possible():
    with pytest.raises(ValueError, match="all weights are 0, or one is not finite"):
        draw_many(np.random.default_rng(3), np.full(LANES, -np.inf), 3, 0, 10)
