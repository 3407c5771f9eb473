"""Fixtures over the tables of ``cases``; rows that are not ``FAST`` are slow, since kernels compile for each family."""

import pytest
from cases import FAMILIES, FAST, MEASURES


def rows(table):
    """Names of a table, with slow rows marked."""
    return [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in table]


FAMILY_ROWS = rows(FAMILIES)
for row in FAMILY_ROWS:
    # Tests of the kernels of one family run in one process, see tests/conftest.py.
    row.marks.append(pytest.mark.xdist_group(row.values[0].split(",")[0]))


@pytest.fixture(scope="session", params=FAMILY_ROWS)
def family(request):
    return request.param


@pytest.fixture(scope="session", params=rows(MEASURES))
def measure(request):
    return request.param
