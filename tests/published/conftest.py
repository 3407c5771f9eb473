"""Measures of the tests of published samplers."""

import pytest

from tests.cases import MEASURES, rows


@pytest.fixture(scope="session", params=rows(MEASURES))
def measure(request):
    return request.param
