"""All values of nested partitions of a few items."""

import functools

import numpy as np

from pymc_nrm.partitions.labels import all_partitions


def _refines(fine, coarse):
    return all(len(set(coarse[fine == label])) == 1 for label in set(fine))


@functools.cache
def all_values(n, depth, has_weights):
    """Every value of a nested partition of n items, shape (n_values, n, width)."""
    partitions = all_partitions(n)
    finer = {
        tuple(coarse): [fine for fine in partitions if _refines(fine, coarse)] for coarse in map(np.array, partitions)
    }
    chains = [[np.zeros(n, dtype=np.int64)]]
    for _ in range(depth):
        chains = [[*chain, fine] for chain in chains for fine in finer[tuple(chain[-1])]]
    values = []
    for _, *nodes in chains:
        tables = [[]]
        if has_weights:
            tables = [[top] for top in partitions]
            for level in range(depth):
                tables = [
                    [*chain, fine]
                    for chain in tables
                    for fine in finer[tuple(chain[-1])]
                    if _refines(fine, nodes[level])
                ]
        values += [np.column_stack([*nodes, *chain[::-1]]) for chain in tables]
    return np.array(values)
