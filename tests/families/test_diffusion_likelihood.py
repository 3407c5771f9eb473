"""Likelihoods of tree families against dense matrix algebra, and gradients against finite differences."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from dense_trees import dense_log_likelihood, families, random_paths
from pytensor.compile.mode import Mode

from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.families.diffusion import IndependentNormalDiffusion, NormalDiffusion
from pymc_nrm.families.diffusion.base import broadcast_hyperparameters, log_likelihood, symbolic_log_likelihood
from pymc_nrm.families.diffusion.symbolic_scatter import residual_rows

# Compiling the graphs would take most of the time of these tests.
PYTHON = Mode("py", "fast_compile")


@pytest.mark.quick("1-1-1-independent")
@pytest.mark.parametrize("kind", ["full", "independent"])
@pytest.mark.parametrize(("n", "d", "depth"), [(1, 1, 1), (2, 3, 2), (13, 2, 1), (40, 3, 4)])
def test_kernel_and_graph_are_the_dense_law(kind, n, d, depth):
    rng = np.random.default_rng(1)
    family, paths = families(d, depth)[kind], random_paths(rng, n, depth)
    X = 100.0 + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3.0 * paths[:, :1]
    dense = dense_log_likelihood(family, paths, X)
    data = prepare_data(family, X)
    np.testing.assert_allclose(log_likelihood(paths, localise(family, data), data), dense, rtol=1e-9)
    tensors = type(family)(*[pt.as_tensor(value) for value in family])
    graph = symbolic_log_likelihood(tensors, pt.constant(paths), pt.constant(X))
    np.testing.assert_allclose(graph.eval(mode=PYTHON), dense, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "independent"])
def test_gradients_are_those_of_finite_differences(kind):
    rng = np.random.default_rng(2)
    n, d, depth = 9, 2, 3
    family, paths = families(d, depth)[kind], random_paths(rng, n, depth)
    X = rng.normal(size=(n, d)) + paths[:, :1]
    # All hyperparameters and data are functions of one vector; Psi has to stay symmetric.
    shapes = [np.shape(value) for value in (*family, X)]
    values = np.concatenate([np.ravel(value) for value in (*family, X)])
    line = pt.dvector()
    parts, start = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        part = line[start : start + size].reshape(shape) if shape else line[start]
        parts.append((part + part.T) / 2 if shape == (d, d) else part)
        start += size
    graph = symbolic_log_likelihood(type(family)(*parts[:-1]), pt.constant(paths), parts[-1])
    value, gradient = (pytensor.function([line], output, mode=PYTHON) for output in (graph, pt.grad(graph, line)))
    step = 1e-5
    numeric = [(value(values + step * e) - value(values - step * e)) / (2 * step) for e in np.eye(len(values))]
    np.testing.assert_allclose(gradient(values), numeric, rtol=1e-6, atol=1e-7)
    weights = rng.normal(size=len(values))
    second = pytensor.function([line], pt.grad((pt.grad(graph, line) * weights).sum(), line), mode=PYTHON)
    numeric = (gradient(values + step * weights) - gradient(values - step * weights)) / (2 * step)
    np.testing.assert_allclose(second(values), numeric, rtol=1e-5, atol=1e-6)


def test_labels_with_gaps_give_no_nan():
    family = broadcast_hyperparameters(IndependentNormalDiffusion(0.0, 1.0, 1.0, 1.0), 3, 1, depth=1)
    tensors = type(family)(*[pt.as_tensor(value) for value in family])
    graph = symbolic_log_likelihood(tensors, pt.constant(np.array([[0], [2], [2]])), pt.constant(np.ones((3, 1))))
    assert np.isfinite(graph.eval(mode=PYTHON))


def test_far_data_lose_no_digits():
    family = families(2, 2)["full"]
    rng = np.random.default_rng(3)
    paths, X = random_paths(rng, 10, 2), rng.normal(size=(10, 2))
    here = dense_log_likelihood(family, paths, X)
    shift = 2.0**20
    family = family._replace(mu=family.mu + shift)
    data = prepare_data(family, X + shift)
    assert abs(log_likelihood(paths, localise(family, data), data) - here) < 1e-6


@pytest.mark.parametrize("family_class", [NormalDiffusion, IndependentNormalDiffusion])
def test_from_data_is_equivariant(family_class):
    rng = np.random.default_rng(4)
    X, paths = rng.normal(size=(12, 2)), random_paths(rng, 12, 2)
    log_p = []
    scale = np.array([2.0**5, 2.0**-7])
    for values in (X, X * scale + 3.0):
        family = broadcast_hyperparameters(family_class.from_data(values, depth=2), 12, 2, depth=2)
        data = prepare_data(family, values)
        log_p.append(log_likelihood(paths, localise(family, data), data))
    np.testing.assert_allclose(log_p[1] - log_p[0], -12 * np.log(scale).sum(), atol=1e-8)


def test_bad_input():
    X = np.array([[0.0], [np.nan]])
    family = IndependentNormalDiffusion(0.0, [1.0, 1.0], 1.0, 1.0)
    with pytest.raises(ValueError, match="IndependentNormalDiffusion must have no NaN"):
        prepare_data(family, X)
    with pytest.raises(ValueError, match=r"tau of IndependentNormalDiffusion must be a scalar.*shape \(3,\); got"):
        broadcast_hyperparameters(family, 2, 1, depth=2)
    with pytest.raises(ValueError, match=r"tau of NormalDiffusion must be finite and above 0; got 0.0"):
        broadcast_hyperparameters(NormalDiffusion(0.0, [1.0, 0.0], np.eye(1), 3.0), 2, 1, depth=1)
    with pytest.raises(ValueError, match=r"nu of NormalDiffusion must be finite and greater than"):
        broadcast_hyperparameters(NormalDiffusion(0.0, [1.0, 1.0], np.eye(2), 1.0), 2, 2, depth=1)
    with pytest.raises(ValueError, match="depth must be a whole number"):
        NormalDiffusion.from_data(np.random.default_rng(1).normal(size=(9, 2)), depth=0)
    with pytest.raises(ValueError, match="static number of columns"):
        residual_rows(pt.dvector(), pt.dvector(), pt.lmatrix(), pt.dmatrix())
