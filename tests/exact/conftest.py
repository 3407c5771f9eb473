"""Fixtures over the tables of ``cases``."""

import pytest
from cases import FAMILIES, MEASURES


@pytest.fixture(scope="session", params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="session", params=MEASURES)
def measure(request):
    return request.param
