"""Passes over a block: what a worker does with its rows, their labels and a message.

All draws of a row use numbers of the row (``counters.py``), all sums are exact (``exact_sums.py``).
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import exponentiate, index_at
from pymc_nrm.moves.chunks.counters import row_uniform
from pymc_nrm.moves.chunks.exact_sums import add_rounded, round_statistics


class Atoms(NamedTuple):
    """Atoms above the level: ``names[k]`` is the new label of the rows of cluster k, or -1 if they draw one of the
    atoms, of which there are parameters (n_atoms, size) and logarithms of jumps (n_atoms,).
    """

    names: Any
    parameters: Any
    log_jumps: Any


@kernel(inner_loop=True, threaded=True)
def relabel_rows(labels, first, family, data, atoms, seed, call, quanta, counts, sums):
    """Draw the labels of the rows whose atoms are above the level, and sum their statistics; False if one is too large.

    Shapes: ``labels`` (n,), ``counts`` (n_atoms,), ``sums`` (n_atoms, size).
    """
    n_atoms = atoms.log_jumps.shape[0]
    width = (n_atoms + LANES - 1) // LANES * LANES
    panel, values = component_panel(family, width), np.empty(width)
    for k in range(n_atoms):
        write_component(family, atoms.parameters[k], panel, k)
    memory, rounded = np.zeros(sums.shape[1]), np.empty(sums.shape[1], dtype=np.int64)
    right = True
    for i in range(labels.shape[0]):
        name = atoms.names[labels[i]]
        if name < 0:
            name = 0
            if n_atoms > 1:
                for k in range(n_atoms):
                    values[k] = atoms.log_jumps[k]
                add_component_densities(family, panel, data, i, width, values)
                _, total = exponentiate(values, n_atoms)
                name = index_at(values, n_atoms, row_uniform(seed, call, 0, first + i) * total)
            counts[name] += 1
            right &= round_statistics(family, data, i, quanta, memory, rounded)
            add_rounded(rounded, sums[name])
        labels[i] = name
    return right


def relabel(block, message):
    """Draw labels given atoms; return counts and sums of the atoms, and the labels of the sample."""
    changes, preparation, quanta, atoms, seed, call, sample = message
    block.begin(changes)
    n_atoms, size = len(atoms.log_jumps), len(quanta.quantum)
    counts, sums = np.zeros(n_atoms, dtype=np.int64), np.zeros((n_atoms, size), dtype=np.int64)
    family, data = preparation.family, block.data(preparation)
    right = relabel_rows(block.labels, block.first, family, data, atoms, seed, call, quanta, counts, sums)
    check_bounds(right, block)
    return counts, sums, block.labels_of(sample)


def gather_rows(block, message):
    """Labels (m,) and values (m, d) of increasing row numbers."""
    changes, rows, n_columns = message
    block.begin(changes)
    values, own = np.zeros((len(rows), n_columns)), block.own(rows)
    values[own] = block.read()[rows[own] - block.first]
    return block.labels_of(rows), values


def read_labels(block, message):
    """Labels (m,) of increasing row numbers, after the changes."""
    changes, rows = message
    block.begin(changes)
    return (block.labels_of(rows),)


def sum_clusters(block, message):
    """Counts (n_clusters,) and sums (n_clusters, size) of the labels as they are after the changes."""
    changes, preparation, quanta, n_clusters = message
    block.begin(changes)
    sums = np.zeros((n_clusters, len(quanta.quantum)), dtype=np.int64)
    right = add_rows(block.labels, preparation.family, block.data(preparation), quanta, sums)
    check_bounds(right, block)
    return np.bincount(block.labels, minlength=n_clusters), sums


@kernel(threaded=True)
def add_rows(labels, family, data, quanta, sums):
    """Add the rounded statistics of all rows to those of their clusters (n_clusters, size)."""
    memory, rounded = np.zeros(sums.shape[1]), np.empty(sums.shape[1], dtype=np.int64)
    right = True
    for i in range(labels.shape[0]):
        right &= round_statistics(family, data, i, quanta, memory, rounded)
        add_rounded(rounded, sums[labels[i]])
    return right


def rounded_rows(preparation, data, n, quanta):
    """Statistics of n prepared rows as numbers of quanta, int64 (n, size)."""
    sums = np.zeros((n, len(quanta.quantum)), dtype=np.int64)
    if not add_rows(np.arange(n, dtype=np.int32), preparation.family, data, quanta, sums):
        raise ValueError("statistics of rows are larger than those that were first read: the data have changed")
    return sums


def largest_statistics(block, preparation):
    """Largest absolute statistics of the rows of a block (size,)."""
    largest = np.zeros(statistics_size(preparation.family))
    find_largest(block.n, preparation.family, block.data(preparation), largest)
    return largest


@kernel(threaded=True)
def find_largest(n, family, data, largest):
    """Write the largest absolute statistics of n rows."""
    memory = np.zeros(largest.shape[0])
    for i in range(n):
        memory.fill(0.0)
        add_item(family, memory, data, i, 1.0)
        for j in range(largest.shape[0]):
            largest[j] = max(largest[j], abs(memory[j]))


def check_bounds(right, block):
    """Raise an error if statistics of a block are larger than they were."""
    if not right:
        raise ValueError(
            f"rows {block.first} to {block.first + block.n - 1} have larger statistics than when they were first read: "
            "the data have changed"
        )
