"""Scores of frequencies of partitions, on which all tests of samplers rest."""

import numpy as np
import pytest

from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.testing import largest_z, z_scores

TABLE = all_partitions(3)
P = np.array([0.4, 0.3, 0.2, 0.1 - 1e-9, 1e-9])


def drawn(probabilities, chains=4, draws=1000, seed=1):
    return TABLE[np.random.default_rng(seed).choice(len(TABLE), size=(chains, draws), p=probabilities)]


def test_scores_of_independent_draws_are_below_their_limit_and_those_of_others_are_not():
    z = z_scores(drawn(P), TABLE, P)
    # The rarest partition is expected in no draw, so it is one group with the next.
    assert z.shape == (4,) and abs(z).max() < largest_z((4, 1000), z.size)
    assert abs(z_scores(drawn(P[::-1] / P.sum()), TABLE, P)).max() > 20.0


def test_a_single_draw_of_probability_zero_has_an_infinite_score():
    impossible = np.where(np.arange(5) == 2, 0.0, P)
    impossible /= impossible.sum()
    draws = drawn(impossible)
    z = z_scores(draws, TABLE, impossible)
    assert z[0] == 0.0 and abs(z).max() < largest_z((4, 1000), z.size)
    # The last draw is in no batch.
    draws[-1, -1] = TABLE[2]
    assert z_scores(draws, TABLE, impossible)[0] == np.inf


def test_one_possible_partition_needs_no_draws():
    certain = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    draws = np.broadcast_to(TABLE[1], (1, 4, 3)).copy()
    assert z_scores(draws, TABLE, certain).tolist() == [0.0, 0.0]
    draws[0, 2] = TABLE[0]
    assert z_scores(draws, TABLE, certain)[0] == np.inf


def test_too_few_draws_for_two_groups():
    with pytest.raises(ValueError, match="labels must have at least 126 draws .* 50 expected draws each; got 100"):
        z_scores(drawn(P, 2, 50), TABLE, P)
    assert z_scores(drawn(P, 1, 127), TABLE, P).size == 2
    with pytest.raises(ValueError, match=r"least must be at most 0\.4, .* two groups; got 0\.6"):
        z_scores(drawn(P), TABLE, P, least=0.6)
