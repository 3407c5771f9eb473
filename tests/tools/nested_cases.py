"""Nested partitions made without sampling."""

import itertools

import numpy as np
import xarray as xr

from tests.helpers import canonical_labels


def draw_paths(rng, n, n_levels, alpha=1.0):
    """Paths of n items from the nested Chinese restaurant process, shape (n, n_levels), with names of nodes."""
    counts, paths = {(): []}, np.empty((n, n_levels), dtype="int64")
    names = {}
    for i in range(n):
        node = ()
        for level in range(n_levels):
            weights = np.array([*counts[node], alpha], dtype="float64")
            child = int(rng.choice(len(weights), p=weights / weights.sum()))
            if child == len(counts[node]):
                counts[node].append(0)
            counts[node][child] += 1
            node = (*node, child)
            counts.setdefault(node, [])
            paths[i, level] = names.setdefault((level, node), 7 + 3 * len(names))
    return paths


def random_draws(rng, n=9, n_levels=3, n_chains=2, n_draws=20, alpha=1.0, **kwargs):
    """Draws from the prior, dimensions ``chain``, ``draw``, ``animal`` and ``column``, with nodes named at random."""
    values = np.stack([draw_paths(rng, n, n_levels, alpha) for _ in range(n_chains * n_draws)])
    values = values.reshape(n_chains, n_draws, n, n_levels)
    coords = {
        "chain": np.arange(n_chains),
        "draw": np.arange(n_draws),
        "animal": [f"animal {i}" for i in range(n)],
        "column": [f"level_{level + 1}" for level in range(n_levels)],
    }
    attrs = {"nested_partition": n_levels}
    return xr.DataArray(values, dims=("chain", "draw", "animal", "column"), coords=coords, name="h", attrs=attrs)


def noisy_draws(rng, truth, n_draws=40, n_chains=2, moved=0.15):
    """Draws around a truth, shape (L, n): a few items take the path of another item or a new one."""
    n_levels, n = truth.shape
    values = np.empty((n_chains, n_draws, n, n_levels), dtype="int64")
    for chain, draw in itertools.product(range(n_chains), range(n_draws)):
        paths = truth.T.copy()
        for i in np.flatnonzero(rng.random(n) < moved):
            level = rng.integers(n_levels + 1)
            paths[i] = paths[rng.integers(n)]
            paths[i, level:] = 1000 + i
        values[chain, draw] = paths
    return xr.DataArray(values, dims=("chain", "draw", "item", "level"), name="h")


def sets_of(chain):
    """The clades of nested partitions (L, n), the whole set among them."""
    clades = {frozenset(range(chain.shape[1]))}
    for row in chain:
        clades |= {frozenset(np.flatnonzero(row == label).tolist()) for label in np.unique(row)}
    return clades


def canonical_levels(draws):
    """Labels of each level of draws (chain, draw, item, column), renamed one row at a time."""
    values = np.moveaxis(draws.values, 3, 2)
    return np.apply_along_axis(canonical_labels, 3, values)
