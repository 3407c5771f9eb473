"""Every move of hidden states, and the moves of a draw together, against the enumerated posterior of five times."""

import pytest

from tests.helpers import assert_law, seeded
from tests.states.enumerated_states import CASES, FAMILIES, MOVES, posterior, run

FAMILY, *OTHERS = FAMILIES
ROWS = [(case, FAMILY, move) for case in CASES for move in MOVES]
ROWS += [(case, family, move) for family in OTHERS for case in ("sticky", "two sequences") for move in MOVES]


def check(case, family, move, n_draws):
    draws = run(case, family, move, seeded(case, family, move), n_draws)
    assert_law(draws, *posterior(case, family))


@pytest.mark.parametrize(
    ("case", "move"),
    [
        pytest.param("no kappa", "single", marks=pytest.mark.slow),
        ("sticky", "default"),
        pytest.param("discount", "default", marks=pytest.mark.slow),
    ],
)
def test_moves_have_the_posterior_in_short(case, move):
    check(case, FAMILY, move, 5000 if move == "single" else 3000)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "family", "move"), ROWS)
def test_moves_have_the_posterior(case, family, move):
    check(case, family, move, 20_000)
