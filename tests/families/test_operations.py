"""Values and derivatives of operations of PyTensor whose values kernels compute, against products of matrices."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_nrm.families.scatter import ProductsWithRows, log_determinants, random_covariance, symbolic_covariance

LABELS = np.array([1, 0, 1, 2, 1, 0])
CLUSTERS = [np.flatnonzero(cluster) for cluster in np.arange(3)[:, None] == LABELS]


def dense_log_determinants(Psi, rows):
    return pt.stack([pt.linalg.slogdet(Psi + rows[items].T @ rows[items])[1] for items in CLUSTERS])


def case(name, rng):
    """An operation, the same by products of matrices, and values of its inputs."""
    if name == "log_determinants":
        root = rng.normal(size=(3, 4))
        operation = lambda Psi, rows: log_determinants(Psi, rows, pt.constant(LABELS), pt.constant(3))  # noqa: E731
        return operation, dense_log_determinants, [root @ root.T, rng.normal(size=(6, 3))]
    d = int(name[-1])
    scale = pt.constant(np.linalg.cholesky(np.cov(rng.normal(size=(d, 9))).reshape(d, d)))
    functions = [lambda *inputs, of=of: of(scale, *inputs) for of in (random_covariance, symbolic_covariance)]
    return *functions, [rng.chisquare(4.0, size=d), rng.normal(size=d * (d - 1) // 2)]


# How often the output is derived, and by how many inputs; the rest of the cotangents are disconnected.
@pytest.mark.quick("log_determinants-1-2")
@pytest.mark.parametrize(("order", "n_inputs"), [(1, 2), (2, 2), (2, 1)])
@pytest.mark.parametrize("name", ["log_determinants", "covariance 1", "covariance 2", "covariance 4"])
def test_derivatives(name, order, n_inputs, rng):
    *functions, values = case(name, rng)
    results = []
    for function in functions:
        inputs = [pt.tensor(shape=value.shape, dtype="float64") for value in values]
        output = function(*inputs)
        # The cotangent depends on the inputs, too.
        found = [output, *pt.grad((output**2 * np.linspace(-1.0, 2.0, 3 if output.ndim == 1 else 1)).sum(), inputs)]
        if order == 2:
            # Only symmetric matrices are allowed, along which derivatives agree.
            first = [(g + g.T if g.ndim == 2 and g.type.shape[0] == g.type.shape[1] else g) for g in found[1:]]
            total = sum((g**2).sum() for g in first[:n_inputs])
            found = pt.grad(total, inputs, disconnected_inputs="ignore")
        options = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
        results.append(pytensor.function(inputs, found, **options)(*values))
    for found, expected in zip(*results, strict=True):
        found, expected = ((a + a.T if a.shape == (3, 3) else a) for a in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log_determinants", "covariance 4"])
def test_compiled(name, rng):
    operation, dense, values = case(name, rng)
    inputs = [pt.tensor(shape=value.shape, dtype="float64") for value in values]
    found, expected = (
        pytensor.function(inputs, [f(*inputs), *pt.grad(f(*inputs).sum(), inputs)], mode=mode)(*values)
        for f, mode in ((operation, "NUMBA"), (dense, "FAST_COMPILE"))
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.quick("FAST_COMPILE")
@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_products_with_rows(mode, rng):
    rows, matrices, weights = rng.normal(size=(6, 3)), rng.normal(size=(3, 3, 3)), rng.normal(size=(6, 3))
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
