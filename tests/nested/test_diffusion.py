"""The kernels of normal diffusions against enumeration of all trees and dense matrix-t algebra."""

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.prediction_rules import Levels
from pymc_nrm.nested.families.base import whitened_tree
from pymc_nrm.nested.moves.diffusion_moves import move_item, new_work, split_or_merge
from pymc_nrm.nested.moves.diffusion_sweep import diffusion_sweep, random_regraft
from pymc_nrm.testing import largest_z, partition_frequencies, total_variation, z_scores
from tests.helpers import all_chains
from tests.nested.dense_trees import dense_log_likelihood

X = np.array([[-1.2, 0.3], [-0.7, 0.8], [0.9, -0.4], [1.6, 0.1]])
MU, TAU = np.array([0.1, 0.2]), np.array([0.8, 2.0, 1.5, 0.7])
FAMILIES = {
    "full": nrm.nested.NormalDiffusion(MU, TAU, np.array([[1.0, 0.3], [0.3, 0.6]]), 4.5),
    "independent": nrm.nested.IndependentNormalDiffusion(MU, TAU, np.array([2.0, 1.5]), np.array([0.5, 0.4])),
}
LEVELS = {
    "DP": Levels(np.array([0.7, 1.3, 0.9]), np.zeros(3)),
    "PY": Levels(np.array([-0.2, 1.3, 0.5]), np.array([0.4, 0.6, 0.3])),
}


def all_trees(n, depth):
    """Paths of all trees, shape (n_trees, n, depth); the label of a node is its first item."""
    trees = [[[np.flatnonzero(row == label)[0] for label in row] for row in chain] for chain in all_chains(n, depth)]
    return np.array(trees).transpose(0, 2, 1)


def log_prior(paths, levels):
    """Log probability of a tree whose items choose their nodes one after the other."""
    total = 0.0
    for i, path in enumerate(paths):
        above = np.arange(i)
        for level in range(paths.shape[1]):
            alpha, sigma = levels.alpha[level], levels.sigma[level]
            children = paths[above, level]
            here = above[children == path[level]]
            if len(above):
                # The first item of a node has no choice.
                new = alpha + sigma * len(np.unique(children))
                total += np.log((len(here) - sigma if len(here) else new) / (len(above) + alpha))
            above = here
    return total


@kernel
def _write_firsts(paths, draw):
    for level in range(paths.shape[1]):
        for i in range(paths.shape[0]):
            first = 0
            while paths[first, level] != paths[i, level]:
                first += 1
            draw[i, level] = first


@kernel
def diffusion_chain(rng, paths, levels, family, data, n_moves, n_draws):
    """Paths after each sweep, shape (n_draws, n, depth); the label of a node is its first item."""
    draws = np.empty((n_draws, *paths.shape), dtype=np.int64)
    for t in range(n_draws):
        diffusion_sweep(rng, paths, levels, family, data, n_moves)
        _write_firsts(paths, draws[t])
    return draws


@kernel
def diffusion_moves_once(rng, starts, levels, family, data, n_items, n_regrafts, n_splits):
    """Paths after some moves of each kind from each of the given starts, shape of ``starts``; starts change."""
    n, depth = starts.shape[1:]
    ends = np.empty_like(starts)
    work, units = new_work(n, data.values.shape[1], depth), np.empty((2, n), dtype=np.int64)
    for t in range(starts.shape[0]):
        tree, values, _ = whitened_tree(rng, starts[t], family, data)
        for _ in range(n_items):
            move_item(rng, tree, levels, values, int(rng.random() * n), work)
        for _ in range(n_regrafts):
            random_regraft(rng, tree, levels, work)
        for _ in range(n_splits):
            split_or_merge(rng, tree, levels, values, units, work)
        _write_firsts(starts[t], ends[t])
    return ends


def posterior(family, levels, n, depth):
    """All trees, and their probabilities given the first n items."""
    trees = all_trees(n, depth)
    log_p = np.array([log_prior(tree, levels) + dense_log_likelihood(family, tree, X[:n]) for tree in trees])
    p = np.exp(log_p - log_p.max())
    return trees, p / p.sum()


def inputs(kind, rule, n, depth):
    """Levels, family and data as kernels read them, all trees and their posterior probabilities."""
    family = FAMILIES[kind]._replace(tau=TAU[: depth + 1])
    levels = Levels(*[field[:depth].copy() for field in LEVELS[rule]])
    data = prepare_data(family, X[:n])
    return levels, localise(family, data), data, *posterior(family, levels, n, depth)


def check_law(draws, trees, p):
    """Compare draws of trees, shape (n_draws, n, depth), with their probabilities."""
    states, rows = draws.reshape(1, len(draws), -1), trees.reshape(len(trees), -1)
    z = z_scores(states, rows, p)
    # The expected total variation of as many independent draws is at most this; sweeps are nearly independent.
    noise = 0.5 * np.sqrt(2.0 / np.pi * p * (1.0 - p) / len(draws)).sum()
    distance = total_variation(partition_frequencies(states, rows), p)
    assert np.abs(z).max() < largest_z(states.shape, z.size)
    assert distance <= 3.0 * noise


SHORT = [(1, 1, 0, 20_000), *((3, *row, 20_000) for row in [(1, 2), (2, 0), (3, 3)]), (4, 2, 2, 20_000)]
LONG = [(4, *row, 400_000) for row in [(2, 0), (2, 2), (3, 3)]]


@pytest.mark.slow
@pytest.mark.parametrize("rule", LEVELS)
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize(("n", "depth", "n_moves", "n_draws"), SHORT + LONG)
def test_sweeps_have_the_posterior_law(kind, rule, n, depth, n_moves, n_draws):
    levels, family, data, trees, p = inputs(kind, rule, n, depth)
    paths = np.zeros((n, depth), dtype="int64")
    draws = diffusion_chain(np.random.default_rng(1), paths, levels, family, data, n_moves, n_draws)
    check_law(draws, trees, p)


MOVES = {"items": (1, 0, 0), "regraft": (0, 1, 0), "split or merge": (0, 0, 1), "two splits or merges": (0, 0, 2)}


@pytest.mark.quick("4-2-40000-full-DP-items")
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("rule", LEVELS)
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize(
    ("n", "depth", "n_starts"), [(4, 2, 40_000), (3, 3, 40_000), *((4, depth, 500_000) for depth in (1, 2, 3))]
)
def test_moves_keep_the_posterior_law(kind, rule, move, n, depth, n_starts):
    """Trees from the posterior have the same law after a few moves: one number for each kind of move."""
    levels, family, data, trees, p = inputs(kind, rule, n, depth)
    rng = np.random.default_rng(3)
    starts = trees[rng.choice(len(trees), size=n_starts, p=p)]
    ends = diffusion_moves_once(rng, starts.copy(), levels, family, data, *MOVES[move])
    check_law(ends, trees, p)
    # The moves are not idle.
    assert depth == 1 or (ends != starts).any(axis=(1, 2)).mean() > 0.1
