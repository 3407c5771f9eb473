"""Published sub-cluster samplers of ``benchmarks/``: these tests find them wrong where exact sweeps are right."""

import functools
import importlib
import pathlib

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.testing import exact_posterior, kernel_inputs, mean_and_error
from tests.helpers import distance_to_law, seeded

pytestmark = pytest.mark.slow

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
MEASURE = nrm.DirichletProcess(1.0)
X = np.array([-1.5, -1.2, 0.2, 1.3, 1.6])
# Normal items of variance 1 but for a part in a thousand, about means of variance 4.
FAMILY = nrm.NormalGamma(mu=0.0, kappa=0.25, alpha=1e6, beta=1e6)
CHAINS = 4

# Rows of the benchmark, with the least total variation of a program and the sign of the error of K of one part.
LEAST_DISTANCE = {
    "Chang & Fisher": 0.25,
    "Chang & Fisher, always splittable": 0.15,
    "DPMM.jl": 0.4,
    "DPMMSubClusters.jl, burnout 20": 0.8,
    "DPMMSubClusters.jl, burnout 5": 0.5,
    "DPMMSubClusters.jl, burnout 1": 0.15,
}
SIGNS = {"labels, with clusters dropped": -1, "splits along halves": 1, "merges of DPMMSubClusters.jl": -1}


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # the benchmark sets these, which must not affect later tests
    return importlib.import_module("published_subclusters")


@functools.cache
def posterior():
    return exact_posterior(MEASURE, FAMILY, X)


def chains(benchmark, row, n_draws=10_000):
    family, data = kernel_inputs(FAMILY, X)
    rules, length, n_gibbs = row
    options = weights(MEASURE, len(X), 0.0), family, data, rules, length, n_gibbs, n_draws
    starts = [np.zeros(5, dtype=np.int64), np.arange(5), np.arange(5) % 2, np.arange(5) // 2]
    rngs = seeded(*rules, length).spawn(CHAINS)
    return np.array([benchmark.subcluster_chain(*pair, *options)[100:] for pair in zip(rngs, starts, strict=True)])


def test_every_program_is_tested(benchmark):
    assert [*benchmark.PROGRAMS] == ["exact Gibbs sweeps", *LEAST_DISTANCE]
    assert {*SIGNS} < {*benchmark.PARTS}


@pytest.mark.parametrize("program", LEAST_DISTANCE)
def test_published_chain_is_found_wrong(program, benchmark):
    distance, largest = distance_to_law(chains(benchmark, benchmark.PROGRAMS[program]), *posterior())
    assert distance > LEAST_DISTANCE[program] and largest > 1.5


@pytest.mark.parametrize("part", SIGNS)
def test_each_part_is_wrong_between_exact_sweeps(part, benchmark):
    draws, (partitions, probabilities) = chains(benchmark, benchmark.PARTS[part]), posterior()
    distance, largest = distance_to_law(draws, partitions, probabilities)
    assert distance > 0.08 and largest > 1.5
    mean, error, _ = mean_and_error(draws.max(axis=-1) + 1.0)
    assert SIGNS[part] * (mean - probabilities @ (partitions.max(axis=1) + 1.0)) > 10.0 * error


def test_exact_chain_of_the_same_length_is_right(benchmark):
    distance, largest = distance_to_law(chains(benchmark, benchmark.PROGRAMS["exact Gibbs sweeps"]), *posterior())
    assert distance < 0.02 and largest < 1.0
