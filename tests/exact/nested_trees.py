"""All trees over a few items, their prior law by the prediction rule, and chains of the kernels of diffusions."""

import numpy as np
from helpers import all_chains

from pymc_nrm.families.diffusion.base import whitened_tree
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.moves.nested.diffusion_moves import move_item, new_work, split_or_merge
from pymc_nrm.moves.nested.diffusion_sweep import diffusion_sweep, random_regraft


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
