"""Proposals of split-merge moves, to machine precision: a forced allocation has the probability of a free one."""

from itertools import product

import numpy as np
import pytest
from cases import rows
from scipy.special import expit

from pymc_nrm.families import NormalGamma, NormalWishart, PoissonGamma
from pymc_nrm.measures import NormalizedGeneralizedGamma
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.split_merge import allocate_by_scans, allocate_items, choose_side, start_sides
from pymc_nrm.testing import kernel_inputs

N = 7
FREE = np.full(N - 2, -1)
CASES = {
    "PoissonGamma": (PoissonGamma(1.0, 0.3), np.array([0, 9, 3, 4, 5, 2, 6])),
    "NormalGamma": (
        NormalGamma(mu=0.0, kappa=0.2, alpha=2.0, beta=1.0),
        np.array([[0, 0], [3, 2], [1, 0.5], [2, 0.4], [1.5, 2], [-1, 0.2], [1.4, 1.1]]),
    ),
    "NormalWishart": (
        NormalWishart(mu=0.0, kappa=0.2, Psi=np.eye(2), nu=4.0),
        np.array([[0, 0], [3, 2], [1, 0.5], [2, 0.4], [1.5, 2], [-1, 0.2], [1.4, 1.1]]),
    ),
}


def allocate(case, n_scans, seed, goals):
    """Sides about items 0 and 1, where the other items are placed, and the log probability of the allocation."""
    family, data = kernel_inputs(*CASES[case])
    table = weights(NormalizedGeneralizedGamma(0.8, 0.4), N, 0.3)
    sides = start_sides(family, data, 0, 1)
    goals = np.array(goals, dtype=np.int64)
    placed = np.empty_like(goals)
    arguments = (np.random.default_rng(seed), sides, table, family, data, np.arange(2, N), placed, goals)
    log_q = allocate_items(*arguments, False) if n_scans is None else allocate_by_scans(*arguments, n_scans)
    return sides, placed, log_q


@pytest.fixture(params=rows(CASES, ["NormalGamma"]))
def case(request):
    return request.param


# None stands for sequential allocation.
@pytest.fixture(params=[None, 0, 1, 3], ids=lambda n_scans: f"{n_scans} scans" if n_scans is not None else "sequential")
def n_scans(request):
    return request.param


def test_forced_allocation_has_the_probability_of_the_free_one(case, n_scans):
    """With one seed, orders and launch states agree: a free run draws its choices of the last scan after them."""
    probabilities = set()
    for seed in range(40):
        sides, placed, log_q = allocate(case, n_scans, seed, FREE)
        again, same, log_p = allocate(case, n_scans, seed, placed)
        assert log_p == pytest.approx(log_q, rel=1e-10, abs=1e-10)
        np.testing.assert_array_equal(same, placed)
        for first, second in zip(sides, again, strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)
        probabilities.add(round(log_q, 8))
    assert len(probabilities) > 10


def test_probabilities_of_all_allocations_sum_to_one(case, n_scans):
    for seed in range(10):
        log_q = [allocate(case, n_scans, seed, placed)[2] for placed in product((0, 1), repeat=N - 2)]
        assert np.exp(log_q).sum() == pytest.approx(1.0, rel=1e-10)


@pytest.mark.parametrize("log_odds", [-800.0, -1.2, 0.4, 800.0])
def test_sides_are_drawn_with_the_probability_that_is_given(log_odds):
    rng, n_draws = np.random.default_rng(1), 4000
    probability = expit(log_odds)
    sides, log_q = np.array([choose_side(rng, log_odds, -1) for _ in range(n_draws)]).T
    assert abs(sides.mean() - probability) <= 4.5 * np.sqrt(probability * (1.0 - probability) / n_draws)
    for side in (0, 1):
        assert choose_side(rng, log_odds, side) == (side, pytest.approx(-np.logaddexp(0.0, log_odds * (1 - 2 * side))))
        assert (log_q[sides == side] == choose_side(rng, log_odds, side)[1]).all()


def test_sides_hold_their_items(case, n_scans):
    family, data = kernel_inputs(*CASES[case])
    for seed in range(10):
        sides, placed, _ = allocate(case, n_scans, seed, FREE)
        members = np.concatenate([[0, 1], placed])
        np.testing.assert_array_equal(sides.counts, np.bincount(members, minlength=2))
        single = [start_sides(family, data, i, i).statistics[0] for i in range(N)]
        for side in (0, 1):
            total = sum(single[i] for i in np.flatnonzero(members == side))
            np.testing.assert_allclose(sides.statistics[side], total, rtol=1e-9, atol=1e-12)
