"""The table of measures: to test a new one, add a row.

A row is a measure with float fields.  All tests that take ``measure`` run on every row, those that take
``levy_measure`` on every one with a Levy intensity; rows of ``SLOW`` are slow.
"""

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.base import log_levy_intensity

MEASURES = [
    nrm.DirichletProcess(0.02),
    nrm.DirichletProcess(500.0),
    nrm.NormalizedInverseGaussian(3.0),
    nrm.NormalizedGeneralizedGamma(1.5, 1e-9),
    nrm.NormalizedGeneralizedGamma(0.3, 0.25),
    nrm.NormalizedGeneralizedGamma(0.1, 0.999),
    nrm.PitmanYorProcess(0.3, 1.0),
    nrm.PitmanYorProcess(0.5, -0.3),
    nrm.MixtureOfFiniteMixtures(0.4, 6.0),
]

SLOW = [
    nrm.DirichletProcess(1.0),
    nrm.NormalizedInverseGaussian(0.05),
    nrm.NormalizedGeneralizedGamma(1.5, 0.0),
    nrm.NormalizedGeneralizedGamma(40.0, 0.5),
    nrm.NormalizedGeneralizedGamma(1.0, 0.9),
    nrm.PitmanYorProcess(0.0, 1.5),
    nrm.PitmanYorProcess(1e-9, 2.0),
    nrm.PitmanYorProcess(1e-18, 2.0),
    nrm.PitmanYorProcess(0.2, 0.0),
    nrm.PitmanYorProcess(0.7, 5.0),
    nrm.PitmanYorProcess(0.9, -0.8),
    nrm.MixtureOfFiniteMixtures(1.0, 3.0),
    nrm.MixtureOfFiniteMixtures(0.1, 40.0),
    nrm.MixtureOfFiniteMixtures(30.0, 0.3),
    nrm.MixtureOfFiniteMixtures(2.0, 3000.0),
]


ROWS = [pytest.param(row, id=repr(row)) for row in MEASURES]
ROWS += [pytest.param(row, id=repr(row), marks=pytest.mark.slow) for row in SLOW]


@pytest.fixture(params=ROWS)
def measure(request):
    return request.param


ALL = [*MEASURES, *SLOW]
FAST = [repr(nrm.NormalizedGeneralizedGamma(0.3, 0.25)), repr(nrm.PitmanYorProcess(0.3, 1.0))]


COMPILED = [pytest.param(row, id=repr(row), marks=[pytest.mark.slow] * (repr(row) not in FAST)) for row in ALL]


@pytest.fixture(params=COMPILED)
def compiled_measure(request):
    """Rows for tests that compile all kernels of a measure, which are slow for all measures but two."""
    return request.param


@pytest.fixture(params=[row for row in ROWS if not lacking(type(row.values[0]), [log_levy_intensity])])
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
