"""The kernels of the slice sampler: jumps against their intensity, and labels against enumerated laws given u."""

import math
from itertools import pairwise

import numpy as np
import pymc as pm
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import Weights, log_eppf, weights
from pymc_nrm.moves.slice_labels import (
    JumpLaw,
    expected_proposals,
    jump_law,
    jumps_above,
    largest_deviation,
    least_level,
    slice_move,
)
from pymc_nrm.partitions.clusters import build_state, ordered_labels
from tests.cases import MEASURES, SMALL
from tests.exact.laws import CHAINS, inputs, posterior
from tests.helpers import assert_law, label_counts, seeded

N_STARTS = 24_000
ALL = 1e6


def table_of(log_a, sigma, n, log_unit=0.0):
    """Weights of a prior of Gibbs type given u, in units of ``exp(log_unit)``."""
    join = np.log(np.maximum(np.arange(n + 1.0), 1e-9) - min(sigma, 0.0) - max(sigma, 0.0) * (np.arange(n + 1) > 0))
    join[0] = log_a
    join += log_unit
    return Weights(join, np.concatenate([[0.0], np.cumsum(join)[:-1]]))


def law_given_table(family, table):
    partitions, probabilities = posterior("DP", family)
    log_p = np.log(probabilities)
    for row, labels in enumerate(partitions):
        counts = label_counts(labels)
        log_p[row] += table.moment[counts].sum() - log_eppf(MEASURES["DP"], counts)
    return partitions, np.exp(log_p - logsumexp(log_p))


def assert_invariant(family, partitions, probabilities, table, options=ALL):
    """Assert that an update turns draws from a law into draws from it; return the share of items that were kept."""
    rng = seeded(family, table.join)
    starts = partitions[rng.choice(len(partitions), size=N_STARTS, p=probabilities)]
    ends, n_kept = np.empty_like(starts), 0
    for t, start in enumerate(starts):
        state = build_state(start, *inputs(family))
        state, counts = slice_move(rng, state, table, *inputs(family), options)
        ends[t] = ordered_labels(state)
        n_kept += counts.n_kept
    assert (ends != starts).any(axis=1).mean() > 0.05
    assert_law(ends.reshape(CHAINS, -1, starts.shape[1]), partitions, probabilities)
    return n_kept / starts.size


@pytest.mark.quick("0.4--3.0")
@pytest.mark.parametrize("sigma, log_unit", [(-2.5, 0.0), (-0.4, -3.0), (0.0, 0.0), (0.4, -3.0)])
def test_labels_are_invariant_under_any_weights_of_gibbs_type(sigma, log_unit):
    table = table_of(0.3, sigma, 5, log_unit)
    partitions, probabilities = law_given_table("NormalGamma, missing", table)
    assert_invariant("NormalGamma, missing", partitions, probabilities, table)


@pytest.mark.slow
def test_items_with_low_slices_are_kept_and_the_law_is_invariant():
    table = table_of(0.5, 0.5, 4)
    partitions, probabilities = law_given_table("PoissonGamma", table)
    share = assert_invariant("PoissonGamma", partitions, probabilities, table, 2.0)
    assert 0.2 < share < 0.8


@pytest.mark.every(3)
@pytest.mark.parametrize("sigma", [-2.5, -1.0, -0.3, 0.0, 1e-9, 0.4, 0.9])
@pytest.mark.parametrize("level", [0.01, 0.7, 3.0])
def test_jumps_have_their_intensity(sigma, level):
    edges = np.array([level, 1.5 * level, 4.0 * level, np.inf])

    def intensity(x):
        return math.exp(-(1.0 + sigma) * math.log(x) - x)

    expected = np.array([quad(intensity, low, high)[0] for low, high in pairwise(edges)])
    law = JumpLaw(math.log(3.0 / expected.sum()), sigma)
    expected *= 3.0 / expected.sum()
    rng = seeded(sigma, level)
    counts = []
    for _ in range(4000):
        jumps = jumps_above(rng, law, level)
        assert (jumps >= level).all()
        counts.append(np.histogram(jumps, edges)[0])
    # Numbers of jumps in disjoint sets are independent Poisson variables, of which sets with few jumps show little.
    often = expected * len(counts) > 50
    mean, residuals = expected[often], (np.array(counts) - expected)[:, often]
    assert (np.abs(residuals.mean(axis=0)) < 4.5 * np.sqrt(mean / len(counts))).all()
    variances, errors = (residuals**2).mean(axis=0), np.sqrt((mean + 2.0 * mean**2) / len(counts))
    assert (np.abs(variances - mean) < 4.5 * errors).all()
    if len(mean) > 1:
        assert abs(residuals[:, :2].prod(axis=1).mean()) < 4.5 * np.sqrt(mean[:2].prod() / len(counts))
    assert expected.sum() <= expected_proposals(law, level) * (1 + 1e-12)
    if sigma >= -1.0:
        # Every proposal is kept with probability exp(-1) at least, above 1 less often than on average.
        assert expected_proposals(law, level) < 4.0 * expected.sum()


def test_least_level_is_where_as_many_jumps_are_expected():
    law = JumpLaw(0.2, 0.8)
    level = least_level(law, 1e-12, 500.0)
    assert expected_proposals(law, level) == pytest.approx(500.0, rel=1e-9)
    assert least_level(law, 2 * level, 500.0) == 2 * level
    assert least_level(JumpLaw(0.2, -3.0), 1e-12, 1.0) == 1e-12


@pytest.mark.parametrize("sigma", [-1e6, -0.3, 0.0, 1e-12, 0.3, 1 - 1e-9])
def test_the_law_of_jumps_is_read_from_the_table(sigma):
    law = jump_law(table_of(0.7, sigma, 6, -40.0))
    assert law.sigma == pytest.approx(sigma, abs=1e-8 * (1 + abs(sigma)))
    assert 1.0 - law.sigma == pytest.approx(1.0 - sigma, rel=1e-6)
    assert largest_deviation(table_of(0.7, sigma, 6, -40.0)) < 1e-9


def test_weights_of_other_measures_are_refused():
    table = table_of(0.7, 0.3, 6)
    table.join[4] += 1e-3
    assert largest_deviation(table) == pytest.approx(1e-3)


def make_step(measure, n=6):
    with pm.Model():
        z = nrm.Partition("z", measure, n=n)
        return nrm.steps.SliceSampler([z], rng=1)


def test_a_measure_that_is_not_of_gibbs_type_is_refused():
    class Squared(nrm.DirichletProcess):
        pass

    @weights.register(Squared)
    def _(measure, n, log_u):
        join = np.log(np.arange(n + 1.0) ** 2 + 1.0)
        return Weights(join, np.cumsum(join) - join)

    with pytest.raises(NotImplementedError, match="measure must be of Gibbs type.*; got Squared"):
        make_step(Squared(1.0))


def test_a_prior_with_too_many_jumps_is_refused():
    message = r"SliceSampler allows 1,000,000 jumps .* partition 'z' .* DirichletProcess\(alpha=1000000000.0\)"
    with pytest.raises(pm.exceptions.SamplingError, match=message):
        make_step(nrm.DirichletProcess(1e9))


def test_a_family_without_component_densities_is_refused():
    class Mute(nrm.PoissonGamma):
        pass

    from pymc_nrm.families.components import add_component_densities

    add_component_densities.register(Mute)(add_component_densities.dispatch(object))
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        nrm.Mixture("x", z, Mute(*SMALL["PoissonGamma"].family), observed=SMALL["PoissonGamma"].X)
        with pytest.raises(NotImplementedError, match="Mute has no add_component_densities.*SliceSampler"):
            nrm.steps.SliceSampler([z])
