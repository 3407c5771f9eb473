"""Draws of data and of node means against dense matrix algebra."""

import numpy as np
import pytest
from dense_trees import families, item_covariance, random_paths

from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.families.diffusion.base import draw_data, draw_node_means, node_moments
from pymc_nrm.families.diffusion.node_tree import build_node_tree
from pymc_nrm.kernels.generic import kernel

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
