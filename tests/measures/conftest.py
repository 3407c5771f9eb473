"""The table of measures as fixtures.

All tests that take ``measure`` run on every measure of the table, those that take ``levy_measure`` on every one with a
Levy intensity.
"""

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.base import log_levy_intensity
from tests.cases import OF_MEASURES

MEASURES = [measure for row in OF_MEASURES.values() for measure in row.others]
SLOW = [measure for row in OF_MEASURES.values() for measure in row.slow]
FAST = [nrm.NormalizedGeneralizedGamma(0.3, 0.25), nrm.PitmanYorProcess(0.3, 1.0)]


def rows(fast):
    """Measures as parameters of a test, all slow but some."""
    fast = {repr(row) for row in fast}  # two measures with the same numbers are equal as tuples
    return [
        pytest.param(row, id=repr(row), marks=[pytest.mark.slow] * (repr(row) not in fast))
        for row in [*MEASURES, *SLOW]
    ]


@pytest.fixture(params=rows(MEASURES))
def measure(request):
    return request.param


@pytest.fixture(params=rows(FAST))
def compiled_measure(request):
    """Rows for tests that compile all kernels of a measure, which are slow for all measures but two."""
    return request.param


@pytest.fixture(params=[row for row in rows(MEASURES) if not lacking(type(row.values[0]), [log_levy_intensity])])
def levy_measure(request):
    return request.param


@pytest.fixture(scope="session")
def integrate():
    """Log of the integral of exp(f) over the line, and means of functions under exp(f), by Gauss-Legendre panels.

    f is log-concave and takes arrays.  Panels have equal widths where f is within 60 of its maximum, and shorter ones
    near 0.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.geomspace(1e-3, 1e14, 8001)
    grid = np.concatenate([-half[::-1], half])

    def log_integral(f, *functions):
        values = f(grid)
        kept = np.flatnonzero(values > values.max() - 60.0)
        low, high = grid[max(kept[0] - 1, 0)], grid[min(kept[-1] + 1, len(grid) - 1)]
        edges = np.union1d(np.linspace(low, high, 300), np.linspace(max(low, -60.0), min(high, 60.0), 300))
        edges = edges[(edges >= low) & (edges <= high)]
        width = np.diff(edges) / 2.0
        x = (edges[1:] + edges[:-1])[:, None] / 2.0 + width[:, None] * nodes
        terms = f(x)
        largest = terms.max()
        mass = np.exp(terms - largest) * weights * width[:, None]
        means = [(mass * function(x)).sum() / mass.sum() for function in functions]
        return largest + np.log(mass.sum()), *means

    return log_integral
