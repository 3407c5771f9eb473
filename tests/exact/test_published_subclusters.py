"""The published sub-cluster samplers, which these tests must find wrong where exact Gibbs sweeps are right."""

import functools
import warnings

import numpy as np
import pytest
from helpers import distance_to_law, mixture_of, refused, seeded

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.published.chang_fisher_sweep import (
    CHANG_FISHER,
    DPMM_JL,
    DPMM_SUBCLUSTERS,
    Rules,
    subcluster_chain,
)
from pymc_nrm.testing import exact_posterior, kernel_inputs, mean_and_error, total_variation
from pymc_nrm.testing.scores import partition_frequencies

PublishedSubclusters = nrm.published.PublishedSubclusters
MEASURE = nrm.DirichletProcess(1.0)
X = np.array([-1.5, -1.2, 0.2, 1.3, 1.6])
# Normal items of variance 1 but for a part in a thousand, about means of variance 4.
FAMILY = nrm.NormalGamma(mu=0.0, kappa=0.25, alpha=1e6, beta=1e6)
CHAINS = 4

# Rules, length of the memory, and the least total variation.
PROGRAMS = {
    "Chang & Fisher": (Rules(CHANG_FISHER, False), 1, 0.25),
    "Chang & Fisher, always splittable": (Rules(CHANG_FISHER, True), 1, 0.15),
    "DPMM.jl": (Rules(DPMM_JL, False), 4, 0.4),
    "DPMMSubClusters.jl, burnout 20": (Rules(DPMM_SUBCLUSTERS, False), 20, 0.8),
    "DPMMSubClusters.jl, burnout 5": (Rules(DPMM_SUBCLUSTERS, False), 5, 0.5),
    "DPMMSubClusters.jl, burnout 1": (Rules(DPMM_SUBCLUSTERS, False), 1, 0.15),
}
# Parts between exact sweeps, and the sign of the error of the number of clusters.
PARTS = {
    "labels": (Rules(DPMM_SUBCLUSTERS, False, True, False, False), -1),
    "splits": (Rules(DPMM_SUBCLUSTERS, False, False, True, False), 1),
    "merges": (Rules(DPMM_SUBCLUSTERS, False, False, False, True), -1),
}


@functools.cache
def posterior():
    return exact_posterior(MEASURE, FAMILY, X)


def chains(rules, length, n_gibbs, n_draws):
    family, data = kernel_inputs(FAMILY, X)
    table = weights(MEASURE, len(X), 0.0)
    starts = [np.zeros(5, dtype=np.int64), np.arange(5), np.arange(5) % 2, np.arange(5) // 2]
    options = table, family, data, rules, length, n_gibbs, n_draws
    rngs = seeded(*rules, length).spawn(CHAINS)
    return np.array([subcluster_chain(*pair, *options)[100:] for pair in zip(rngs, starts, strict=True)])


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_published_chain_is_found_wrong(program):
    rules, length, least = PROGRAMS[program]
    found, largest = distance_to_law(chains(rules, length, 0, 10_000), *posterior())
    assert found > least and largest > 1.5


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_wrong_between_exact_sweeps(part):
    rules, sign = PARTS[part]
    draws, (partitions, probabilities) = chains(rules, 1, 1, 10_000), posterior()
    found, largest = distance_to_law(draws, partitions, probabilities)
    assert found > 0.08 and largest > 1.5
    mean, error, _ = mean_and_error(draws.max(axis=-1) + 1.0)
    assert sign * (mean - probabilities @ (partitions.max(axis=1) + 1.0)) > 10.0 * error


def make_model(measure=MEASURE):
    return mixture_of(FAMILY, X, measure)


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["chang_fisher", "dpmm_jl", "dpmm_subclusters_jl"])
def test_step_makes_the_draws_of_the_chain(rules):
    model = make_model()
    with model, pytest.warns(UserWarning, match="does not leave the posterior invariant"):
        step = PublishedSubclusters([model["z"]], rules=rules, rng=1)
    point, draws = {"z": np.zeros(5, dtype=np.int64)}, []
    for _ in range(3_000):
        point, [stats] = step.step(point)
        draws.append(point["z"])
        assert set(stats) == set(PublishedSubclusters.stats_dtypes_shapes)
    program, length, _ = PROGRAMS[
        {"dpmm_jl": "DPMM.jl", "chang_fisher": "Chang & Fisher"}.get(rules, "DPMMSubClusters.jl, burnout 20")
    ]
    partitions, _ = posterior()
    expected = partition_frequencies(chains(program, length, 0, 10_000), partitions)
    assert total_variation(partition_frequencies(np.array(draws)[100:], partitions), expected) < 0.12
    # Accept labels that something else has changed.
    for row in partitions[::5]:
        step.step({"z": row})


def step_of(measure=MEASURE, **options):
    model = make_model(measure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PublishedSubclusters([model["z"]], model=model, **options)


test_what_is_refused = refused(
    lambda options: step_of(**options),
    ({"rules": "julia"}, "rules must be one of"),
    ({"burnout": 3}, "burnout must be None unless"),
    ({"rules": "dpmm_subclusters_jl", "burnout": 0}, "burnout"),
    ({"rules": "dpmm_jl", "always_splittable": True}, "always_splittable must be False unless"),
    ({"measure": nrm.PitmanYorProcess(0.3, 1.0)}, "must have a DirichletProcess; that of 'z' is a PitmanYorProcess"),
)


@pytest.mark.slow
def test_exact_chain_of_the_same_length_is_right():
    found, largest = distance_to_law(chains(Rules(CHANG_FISHER, False), 0, 1, 10_000), *posterior())
    assert found < 0.02 and largest < 1.0
