"""Draws that all pictures of draws share."""

import pytest
from plot_cases import make_draws


@pytest.fixture
def draws():
    return make_draws()
