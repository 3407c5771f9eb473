"""Rows of the table of families in the form of kernels."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import complete, localise, prepare_data
from tests.cases import LARGE, Family, rows


class Case(NamedTuple):
    """A prepared row: ``full`` has full shape, and ``local`` is what kernels get with ``data``."""

    row: Family
    family: Any
    X: Any
    dense: np.ndarray
    full: Any
    local: Any
    data: Any


def make_case(name):
    family, simulate = LARGE[name].large
    X = simulate(np.random.default_rng(20240501))
    family = complete(family, X)
    full = broadcast_hyperparameters(family, *X.shape)
    data = prepare_data(full, X)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype="float64")
    return Case(LARGE[name], family, X, dense, full, localise(full, data), data)


@pytest.fixture(scope="session", params=LARGE)
def case(request):
    return make_case(request.param)


@pytest.fixture(params=rows(LARGE, ("NormalWishart", "PoissonGamma")))
def compiled_case(request):
    """Cases for tests that compile all kernels of a family, which are slow for all families but two."""
    return make_case(request.param)
