"""All trees over a few items, their prior law by the prediction rule, and chains of the kernels of diffusions."""

import itertools

import numpy as np

from pymc_nrm.generic import kernel
from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.samplers.nested.diffusion_sweep import diffusion_sweep


def all_trees(n, depth):
    """Paths of all trees, shape (n_trees, n, depth); the label of a node is its first item."""
    partitions = all_partitions(n)
    firsts = np.array([[np.flatnonzero(row == label)[0] for label in row] for row in partitions])
    # A partition is finer than another if items with equal labels here have equal labels there.
    chains = [
        chain
        for chain in itertools.product(firsts, repeat=depth)
        if all((above == above[below]).all() for above, below in itertools.pairwise(chain))
    ]
    return np.array(chains).transpose(0, 2, 1)


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
def diffusion_chain(rng, paths, levels, family, data, n_regrafts, n_draws):
    """Paths after each sweep, shape (n_draws, n, depth); the label of a node is its first item."""
    n, depth = paths.shape
    draws = np.empty((n_draws, n, depth), dtype=np.int64)
    for t in range(n_draws):
        diffusion_sweep(rng, paths, levels, family, data, n_regrafts)
        for level in range(depth):
            for i in range(n):
                first = 0
                while paths[first, level] != paths[i, level]:
                    first += 1
                draws[t, i, level] = first
    return draws
