"""Fixtures over the tables of ``cases``; rows that are not ``FAST`` are slow, since kernels compile for each family."""

import pytest

from tests.cases import MEASURES, family_rows, rows


@pytest.fixture(scope="session", params=family_rows())
def family(request):
    return request.param


@pytest.fixture(scope="session", params=rows(MEASURES))
def measure(request):
    return request.param
