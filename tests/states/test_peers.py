"""Samplers of others that benchmarks compare with ours, against the enumerated posterior of five times."""

import importlib
import pathlib

import numpy as np
import pytest

from pymc_nrm.testing import all_partitions
from tests.helpers import assert_law, distance_to_law, in_order, seeded
from tests.states.enumerated_states import CASES, CHAINS, N, inputs, posterior

pytestmark = pytest.mark.slow

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
FAMILY, N_PARTICLES, LEVEL, DRAWS = "NormalWishart", 4, 0.1, 20_000


@pytest.fixture
def peer(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return lambda name: importlib.import_module(f"peers.{name}")


def start_of(k):
    """Labels of a chain and weights of its states, with that of all others."""
    labels = all_partitions(N)[0 if k % 2 == 0 else -1].copy()
    return labels, np.full(labels.max() + 2, 1.0 / (labels.max() + 2))


def run(draw, case, options):
    chains = []
    for k, rng in enumerate(seeded(case, *options).spawn(CHAINS)):
        (labels, weights), draws = start_of(k), np.empty((DRAWS, N), dtype=np.int64)
        for t in range(DRAWS):
            weights = draw(rng, labels, weights, CASES[case].prior(), *inputs(FAMILY), *options)
            draws[t] = labels
        chains.append(draws[100:])
    return np.array(chains)


@pytest.mark.parametrize("case", ["no kappa", "sticky", "two sequences"])
def test_beam_sampler_has_the_posterior(peer, case):
    assert_law(run(peer("beam").beam_draw, case, ()), *posterior(case, FAMILY))


@pytest.mark.parametrize("case", ["no kappa", "sticky", "two sequences"])
def test_particle_gibbs_has_the_posterior(peer, case):
    draw = peer("particle_gibbs").particle_gibbs_draw
    assert_law(run(draw, case, (N_PARTICLES, LEVEL)), *posterior(case, FAMILY))


@pytest.mark.parametrize(("n_states", "most"), [(5, 0.2), (60, 0.02)])
def test_weak_limit_approaches_the_posterior(peer, n_states, most):
    """Its states are 5 or 60 of equal prior weight, so that it has another posterior, which tends to ours."""
    case, (family, data) = "sticky", inputs(FAMILY)
    prior, memory, draws = CASES[case].prior(), np.empty((N, n_states)), []
    for rng in seeded(n_states).spawn(CHAINS):
        labels, beta = rng.integers(n_states, size=N), np.full(n_states, 1.0 / n_states)
        chain = np.empty((DRAWS, N), dtype=np.int64)
        for t in range(DRAWS):
            peer("weak_limit").weak_limit_draw(rng, labels, beta, prior, family, data, memory)
            chain[t] = labels
        draws.append(in_order(chain[100:]))
    distance, _ = distance_to_law(np.array(draws), *posterior(case, FAMILY))
    assert distance < most
