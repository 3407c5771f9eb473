"""Derivatives of the operations on scatter matrices of clusters."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_nrm.families.scatter import ProductsWithRows, log_determinants

LABELS = np.array([1, 0, 1, 2, 1, 0])
CLUSTERS = [np.flatnonzero(cluster) for cluster in np.arange(3)[:, None] == LABELS]


@pytest.fixture
def values(rng):
    """Psi and rows."""
    root = rng.normal(size=(3, 4))
    return root @ root.T, rng.normal(size=(6, 3))


def operation(Psi, rows):
    return log_determinants(Psi, rows, pt.constant(LABELS), pt.constant(3))


def dense(Psi, rows):
    return pt.stack([pt.linalg.slogdet(Psi + rows[items].T @ rows[items])[1] for items in CLUSTERS])


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_log_determinants(values, order):
    results = []
    for function in (operation, dense):
        Psi, rows = pt.matrix("Psi"), pt.matrix("rows")
        found = pt.grad((function(Psi, rows) * [0.5, -2.0, 3.0]).sum(), [Psi, rows])
        if order == 2:
            found = pt.grad((found[0][0, 1] * found[0][1, 0]) + (found[1] ** 3).sum(), [Psi, rows])
        results.append(pytensor.function([Psi, rows], found, mode="FAST_COMPILE")(*values))
    for found, expected in zip(*results, strict=True):
        # Only symmetric matrices are allowed, along which derivatives agree.
        found, expected = ((a + a.T if a.shape == (3, 3) else a) for a in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_products_with_rows(values, mode, rng):
    _, rows = values
    matrices, weights = rng.normal(size=(3, 3, 3)), rng.normal(size=(6, 3))
    M, x = pt.tensor3("M"), pt.matrix("x")
    product = ProductsWithRows()(M, x, pt.constant(LABELS))
    gradient = pt.grad((product * weights).sum(), [M, x])
    found = pytensor.function([M, x], [product, *gradient], mode=mode)(matrices, rows)
    expected = [
        np.einsum("rij,rj->ri", matrices[LABELS], rows),
        np.array([weights[items].T @ rows[items] for items in CLUSTERS]),
        np.einsum("rij,ri->rj", matrices[LABELS], weights),
    ]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
