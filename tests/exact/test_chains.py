"""Long chains of every sampler, for every measure and family, against the enumerated posterior."""

import zlib

import numpy as np
import pytest
from cases import SAMPLERS
from chains import chain
from laws import CHAINS, DRAWS, assert_law, inputs, posterior, tables


def starts(n):
    """One cluster, every item alone, and two in between."""
    return [np.zeros(n, dtype=np.int64), np.arange(n), np.arange(n) % 2, np.arange(n) // 2]


def test_posterior_is_spread_out(family, measure):
    _, probabilities = posterior(measure, family)
    assert probabilities.max() < 0.4
    assert probabilities.min() > 1e-6


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chain_has_the_posterior_law(family, measure, sampler):
    partitions, probabilities = posterior(measure, family)
    n = partitions.shape[1]
    row = SAMPLERS[sampler]
    seed = zlib.crc32(f"{family} {measure} {sampler}".encode())
    rngs = np.random.default_rng(seed).spawn(CHAINS)
    draws = [
        chain(rng, start, table, *inputs(family), row.split_merge, row.n_items or n, DRAWS)
        for rng, start, table in zip(rngs, starts(n), tables(measure, n), strict=True)
    ]
    assert_law(np.array(draws)[:, 20:], partitions, probabilities)
