"""Draws that all pictures of draws share."""

import pytest

from tests.plots.plot_cases import make_draws


@pytest.fixture
def draws():
    return make_draws()
