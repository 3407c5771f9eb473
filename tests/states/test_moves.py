"""Every move of hidden states, and the moves of a draw together, against the enumerated posterior of five times."""

import pytest
from enumerated_states import CASES, FAMILIES, MOVES, posterior, run
from helpers import assert_law, seeded


@pytest.mark.quick("sticky-NormalGamma, missing-default")
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
def test_chains_have_the_posterior(case, family, move):
    draws = run(case, family, move, seeded(case, family, move), 5000)
    assert_law(draws, *posterior(case, family))
