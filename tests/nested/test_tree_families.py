"""Tree families against dense matrix algebra: likelihoods, gradients, draws of data and of node means, and starts."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

import pymc_nrm as nrm
from pymc_nrm.families.base import Dense, localise, prepare_data
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.nested.families.base import (
    broadcast_hyperparameters,
    draw_data,
    draw_node_means,
    log_likelihood,
    node_moments,
    symbolic_log_likelihood,
)
from pymc_nrm.nested.families.node_tree import build_node_tree
from pymc_nrm.nested.families.symbolic_scatter import residual_rows
from pymc_nrm.nested.moves.diffusion_sweep import diffusion_start
from tests.helpers import is_canonical
from tests.nested.dense_trees import dense_log_likelihood, families, item_covariance, random_paths

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


def test_labels_with_gaps_give_no_nan():
    family = broadcast_hyperparameters(nrm.nested.IndependentNormalDiffusion(0.0, 1.0, 1.0, 1.0), 3, 1, depth=1)
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


@pytest.mark.parametrize("family_class", [nrm.nested.NormalDiffusion, nrm.nested.IndependentNormalDiffusion])
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
    family = nrm.nested.IndependentNormalDiffusion(0.0, [1.0, 1.0], 1.0, 1.0)
    with pytest.raises(ValueError, match="IndependentNormalDiffusion must have no NaN"):
        prepare_data(family, X)
    with pytest.raises(ValueError, match=r"tau of IndependentNormalDiffusion .*shape \(3,\); got"):
        broadcast_hyperparameters(family, 2, 1, depth=2)
    with pytest.raises(ValueError, match=r"tau of NormalDiffusion must be finite and above 0; got 0.0"):
        broadcast_hyperparameters(nrm.nested.NormalDiffusion(0.0, [1.0, 0.0], np.eye(1), 3.0), 2, 1, depth=1)
    with pytest.raises(ValueError, match=r"nu of NormalDiffusion must be finite and greater than"):
        broadcast_hyperparameters(nrm.nested.NormalDiffusion(0.0, [1.0, 1.0], np.eye(2), 1.0), 2, 2, depth=1)
    with pytest.raises(ValueError, match="depth must be a whole number"):
        nrm.nested.NormalDiffusion.from_data(np.random.default_rng(1).normal(size=(9, 2)), depth=0)
    with pytest.raises(ValueError, match="static number of columns"):
        residual_rows(pt.dvector(), pt.dvector(), pt.lmatrix(), pt.dmatrix())


N, D, DEPTH = 5, 2, 2


@kernel
def many_data(family, paths, rng, n_draws):
    draws = np.empty((n_draws, paths.shape[0], family.mu.shape[0]))
    for t in range(n_draws):
        draws[t] = draw_data(family, paths, rng)
    return draws


@kernel
def many_node_means(family, paths, data, rng, n_draws):
    draws = np.empty((n_draws, paths.shape[1] + 1, *data.values.shape))
    for t in range(n_draws):
        draws[t], _ = draw_node_means(family, paths, data, rng)
    return draws


def with_moments(kind):
    """A family under which S has a mean and fourth moments, and this mean."""
    family = families(D, DEPTH)[kind]
    if kind == "full":
        family = family._replace(nu=12.0)
        return family, family.Psi / (12.0 - D - 1.0)
    family = family._replace(alpha=np.array([6.0, 7.0]))
    return family, np.diag(family.beta / (family.alpha - 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "independent"])
def test_data_have_the_mean_and_covariance_of_the_law(kind):
    family, S = with_moments(kind)
    paths = random_paths(np.random.default_rng(1), N, DEPTH)
    draws = many_data(family, paths, np.random.default_rng(2), 40_000).reshape(-1, N * D)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - np.tile(family.mu, N)) < 5.0 * error).all()
    centred = draws - np.tile(family.mu, N)
    products = centred[:, :, None] * centred[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(draws))
    expected = np.kron(item_covariance(paths, family.tau), S)
    assert (np.abs(products.mean(axis=0) - expected) < 5.0 * error).all()


def dense_node_means(family, paths, X):
    """Levels and labels of all nodes, and their means and variances by the normal rule for joint covariances."""
    n, depth = paths.shape
    columns = np.column_stack([np.zeros(n, dtype="int64"), paths]).T
    names = [np.unique(column) for column in columns]
    nodes = [own[:, None] == column for own, column in zip(names, columns, strict=True)]
    membership = np.concatenate(nodes)
    levels = np.repeat(np.arange(depth + 1), [len(rows) for rows in nodes])
    below = (membership[:, None, :] <= membership[None, :, :]).all(axis=2)
    # Two nodes share the steps to the nodes that are above both, themselves included.
    above = below & (levels[None, :] <= levels[:, None])
    shared = (above * family.tau[levels]) @ above.T
    with_items = (above * family.tau[levels]) @ membership
    weights = np.linalg.solve(item_covariance(paths, family.tau), with_items.T).T
    means, variances = family.mu + weights @ (X - family.mu), np.diag(shared - weights @ with_items.T)
    return levels, np.concatenate(names), means, variances


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "independent"])
def test_node_means_given_the_data(kind):
    family, _ = with_moments(kind)
    rng = np.random.default_rng(3)
    paths = random_paths(rng, N, DEPTH)
    X = 50.0 + rng.normal(size=(N, D))
    data = prepare_data(family, X)
    local = localise(family, data)
    levels, labels, means, variances = dense_node_means(family, paths, X)
    tree = build_node_tree(paths, data.values - local.mu, local.tau)
    found, spread = (values[levels, labels] for values in node_moments(tree))
    np.testing.assert_allclose(found + family.mu, means, rtol=1e-9)
    np.testing.assert_allclose(spread, variances, rtol=1e-9)
    R = X - family.mu
    Q = R.T @ np.linalg.solve(item_covariance(paths, family.tau), R)
    if kind == "full":
        S = (family.Psi + Q) / (family.nu + N - D - 1.0)
    else:
        S = np.diag((family.beta + np.diag(Q) / 2.0) / (family.alpha + N / 2.0 - 1.0))
    draws = many_node_means(local, paths, data, np.random.default_rng(4), 40_000)[:, levels, labels]
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - means) < 5.0 * error).all()
    products = (draws - means)[:, :, :, None] * (draws - means)[:, :, None, :]
    error = products.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(products.mean(axis=0) - variances[:, None, None] * S) < 5.0 * error).all()


def clustered(rng):
    """Three groups of two clusters of ten items: 16 apart between the groups, 8 within them."""
    cluster = np.repeat(np.arange(6), 10)
    middle = np.array([0.0, 8.0, 24.0, 32.0, 48.0, 56.0])[cluster]
    return cluster, middle[:, None] * [1.0, -1.0] + 0.1 * rng.normal(size=(60, 2))


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_columns_are_nested_and_canonical(depth):
    rng = np.random.default_rng(1)
    for values in (clustered(rng)[1], rng.normal(size=(30, 3)), np.repeat(rng.normal(size=(4, 1)), 5, axis=0)):
        paths = diffusion_start(Dense(values), depth, rng)
        assert paths.shape == (len(values), depth)
        assert paths.dtype == np.int64
        for column, above in zip(paths.T[1:], paths.T[:-1], strict=True):
            assert is_canonical(column)
            assert len(np.unique(np.column_stack([column, above]), axis=0)) == column.max() + 1


def test_clusters_are_leaves():
    cluster, values = clustered(np.random.default_rng(1))
    paths = diffusion_start(Dense(values), 2, np.random.default_rng(1))
    np.testing.assert_array_equal(paths[:, 1], cluster)
    assert 2 <= paths[:, 0].max() + 1 <= 3


def test_nothing_to_cut():
    rng = np.random.default_rng(1)
    for values in (np.ones((1, 2)), np.ones((5, 2))):
        assert (diffusion_start(Dense(values), 3, rng) == 0).all()
    # A constant feature is left out.
    cluster, values = clustered(rng)
    values = np.column_stack([values, np.full(60, 7.0)])
    np.testing.assert_array_equal(diffusion_start(Dense(values), 1, rng)[:, 0], cluster)


@pytest.mark.parametrize("family_class", [nrm.nested.NormalDiffusion, nrm.nested.IndependentNormalDiffusion])
def test_depth_of_learned_families_is_checked(family_class):
    with pm.Model(), pytest.raises(ValueError, match="depth must be a whole number"):
        family_class.learned("x", np.random.default_rng(0).normal(size=(12, 3)), depth=0)


def test_names_and_coordinates_of_learned_families():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 2)), columns=["length", "width"])
    with pm.Model() as model:
        tau = nrm.nested.NormalDiffusion.learned("y", X, depth=2).tau
    assert list(model.coords["y_feature"]) == ["length", "width"]
    assert model.coords["y_level"] == ("level_1", "level_2")
    tau = pm.draw(tau, random_seed=1)
    assert tau.shape == (3,)
    np.testing.assert_allclose(tau[0], tau[1:].sum())
