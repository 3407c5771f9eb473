"""The kernels of every sampler, for every measure and family, against the enumerated posterior.

They are in one file so that one worker compiles each kernel once.
"""

import zlib

import numpy as np
import pytest
from cases import MEASURES, SAMPLERS
from chains import chain, split_merge_once
from laws import CHAINS, DRAWS, assert_law, inputs, law_given_u, posterior, tables
from models import check_step

from pymc_nrm.measures.base import Weights, weights
from pymc_nrm.moves.split_merge import SplitMergeOptions

U = 2.5
DRAWS_GIVEN_U = 20_000
N_STARTS = 50_000

MOVES = {
    "sequential": SplitMergeOptions(1, True, 0),
    "0 scans": SplitMergeOptions(1, False, 0),
    "1 scan": SplitMergeOptions(1, False, 1),
    "3 scans": SplitMergeOptions(1, False, 3),
    "three moves": SplitMergeOptions(3, True, 0),
}


def starts(n):
    """One cluster, singletons, and two partitions in between."""
    return [np.zeros(n, dtype=np.int64), np.arange(n), np.arange(n) % 2, np.arange(n) // 2]


def test_posterior_is_spread_out(family, measure):
    _, probabilities = posterior(measure, family)
    assert probabilities.max() < 0.4
    assert probabilities.min() > 1e-6


@pytest.mark.parametrize("sampler", [name for name, row in SAMPLERS.items() if row.split_merge is not None])
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


@pytest.mark.parametrize("sampler", ["gibbs", "gibbs of 2 items", "sequential, gibbs of 1 item", "3 scans"])
def test_chain_has_the_law_given_u(family, sampler):
    measure = "NGG"
    partitions, probabilities = law_given_u(measure, family, U)
    n = partitions.shape[1]
    row = SAMPLERS[sampler]
    table = weights(MEASURES[measure], n, np.log(U))
    fixed = Weights(*[np.broadcast_to(values, (n, 1, n + 1)).copy() for values in table])
    rngs = np.random.default_rng(zlib.crc32(f"{family} {sampler}".encode())).spawn(CHAINS)
    draws = [
        chain(rng, np.arange(n), fixed, *inputs(family), row.split_merge, row.n_items or n, DRAWS_GIVEN_U)
        for rng in rngs
    ]
    assert_law(np.array(draws)[:, 20:], partitions, probabilities)


@pytest.mark.parametrize("moves", MOVES)
def test_split_merge_moves_leave_the_law_given_u_invariant(family, moves):
    measure = "NGG"
    partitions, probabilities = law_given_u(measure, family, U)
    rng = np.random.default_rng(zlib.crc32(f"{family} {measure} {moves}".encode()))
    starts = partitions[rng.choice(len(partitions), size=N_STARTS, p=probabilities)]
    table = weights(MEASURES[measure], partitions.shape[1], np.log(U))
    ends = split_merge_once(rng, starts, table, *inputs(family), MOVES[moves])
    assert (ends != starts).any(axis=1).mean() > 0.02
    assert_law(ends.reshape(CHAINS, -1, starts.shape[1]), partitions, probabilities)


def test_split_merge_step_has_the_posterior_law(family):
    check_step("NGG", family, "sequential")
