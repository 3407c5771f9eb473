"""The kernels of normal diffusions against enumeration of all trees and dense matrix-t algebra."""

import sys
from pathlib import Path

import numpy as np
import pytest
from nested_trees import all_trees, diffusion_chain, log_prior

from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.nested.levels import Levels
from pymc_nrm.testing.enumeration import total_variation
from pymc_nrm.testing.scores import largest_z, partition_frequencies, z_scores
from pymc_nrm.tree_families import IndependentNormalDiffusion, NormalDiffusion

sys.path.append(str(Path(__file__).parents[1] / "tree_families"))
from dense_trees import dense_log_likelihood

X = np.array([[-1.2, 0.3], [-0.7, 0.8], [0.9, -0.4], [1.6, 0.1]])
MU, TAU = np.array([0.1, 0.2]), np.array([0.8, 2.0, 1.5, 0.7])
FAMILIES = {
    "full": NormalDiffusion(MU, TAU, np.array([[1.0, 0.3], [0.3, 0.6]]), 4.5),
    "independent": IndependentNormalDiffusion(MU, TAU, np.array([2.0, 1.5]), np.array([0.5, 0.4])),
}
LEVELS = {
    "DP": Levels(np.array([0.7, 1.3, 0.9]), np.zeros(3)),
    "PY": Levels(np.array([-0.2, 1.3, 0.5]), np.array([0.4, 0.6, 0.3])),
}


def posterior(family, levels, n, depth):
    """All trees, and their probabilities given the first n items."""
    trees = all_trees(n, depth)
    log_p = np.array([log_prior(tree, levels) + dense_log_likelihood(family, tree, X[:n]) for tree in trees])
    p = np.exp(log_p - log_p.max())
    return trees, p / p.sum()


def test_prior_sums_to_one():
    for levels in LEVELS.values():
        assert len(all_trees(4, 2)) == 60
        np.testing.assert_allclose(sum(np.exp(log_prior(tree, levels)) for tree in all_trees(4, 2)), 1.0)


def check_chain(kind, rule, n, depth, n_regrafts, n_draws, seed=1):
    family = FAMILIES[kind]._replace(tau=TAU[: depth + 1])
    levels = Levels(*[field[:depth].copy() for field in LEVELS[rule]])
    trees, p = posterior(family, levels, n, depth)
    data = prepare_data(family, X[:n])
    rng = np.random.default_rng(seed)
    paths = np.zeros((n, depth), dtype="int64")
    draws = diffusion_chain(rng, paths, levels, localise(family, data), data, n_regrafts, n_draws)
    states, rows = draws.reshape(1, n_draws, -1), trees.reshape(len(trees), -1)
    z = z_scores(states, rows, p)
    assert np.abs(z).max() < largest_z(states.shape, z.size), (np.abs(z).max(), (z**2).mean())
    # The expected total variation of as many independent draws is at most this; sweeps are nearly independent.
    noise = 0.5 * np.sqrt(2.0 / np.pi * p * (1.0 - p) / n_draws).sum()
    distance = total_variation(partition_frequencies(states, rows), p)
    print(
        f"{kind} {rule} n={n} L={depth} regrafts={n_regrafts}: TV {distance:.4f} (noise {noise:.4f}), "
        f"max |z| {np.abs(z).max():.2f}, mean z^2 {(z**2).mean():.2f} of {z.size}"
    )
    assert distance <= 3.0 * noise


@pytest.mark.parametrize("rule", LEVELS)
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize(
    ("n", "depth", "n_regrafts"), [(1, 1, 0), (3, 1, 2), (3, 2, 0), (4, 2, 0), (4, 2, 2), (3, 3, 3)]
)
def test_sweeps_have_the_posterior_law(kind, rule, n, depth, n_regrafts):
    check_chain(kind, rule, n, depth, n_regrafts, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("rule", LEVELS)
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize(("depth", "n_regrafts"), [(2, 0), (2, 2), (3, 3)])
def test_long_chains_have_the_posterior_law(kind, rule, depth, n_regrafts):
    check_chain(kind, rule, 4, depth, n_regrafts, 400_000, seed=2)
