"""Draw the labels of all rows at once, given the jumps above a fixed level and their atoms; Gibbs updates of rows.

Given u, the atoms (J, theta) of the random measure are a Poisson process of intensity ``nu(dJ) h(dtheta)`` (see
``moves/slice_labels.py``), and labels are atoms with joint density ``prod_i J_(z_i) f(x_i | theta_(z_i))``.  Given the
partition, jumps of clusters are gamma variables of shape ``n_c - sigma``, their parameters come from the posterior of
the cluster, and all other atoms are again such a process, independent of the partition.  Rows whose atom has a jump
above the level draw one of the atoms above it, with probability proportional to ``J f(x | theta)``; other rows stay.
The jump of a row remains above the level, so this is a Gibbs update of labels given the atoms and the set of these
rows.  Atoms below the level are never drawn: nothing is truncated.
"""

import math

import numpy as np

from pymc_nrm.families.base import refresh_cache
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import copy_row, draw_gamma
from pymc_nrm.measures.base import Weights
from pymc_nrm.moves.chunks.chain import Atoms, Changes, Clusters, gather_rows, no_changes, relabel, rounded_rows
from pymc_nrm.moves.gibbs import gibbs_sweep
from pymc_nrm.moves.slice_labels import jumps_above
from pymc_nrm.partitions.clusters import empty_state

# In units of 1 / (1 + u): a Dirichlet process has 0.22 alpha jumps above it, besides the jumps of clusters.
LEVEL = 1.0


@kernel
def draw_atoms(rng, intensity, family, counts, statistics, level):
    """Jumps and parameters of the clusters, and then of all other atoms above the level."""
    n_clusters = counts.shape[0]
    other_jumps = jumps_above(rng, intensity, level)
    jumps = np.empty(n_clusters + other_jumps.shape[0])
    parameters = np.empty((jumps.shape[0], parameters_size(family)))
    no_data = np.zeros(statistics.shape[1])
    for k in range(jumps.shape[0]):
        if k < n_clusters:
            jumps[k] = draw_gamma(rng, counts[k] - intensity.sigma)
            if jumps[k] > level:
                draw_parameters(family, statistics[k], rng, parameters[k])
        else:
            jumps[k] = other_jumps[k - n_clusters]
            draw_parameters(family, no_data, rng, parameters[k])
    return jumps, parameters


def relabel_all(chain, rng, intensity, level=LEVEL):
    """Draw labels given atoms above the level. It leaves the target given u invariant, and is irreducible."""
    counts, _ = chain.clusters
    jumps, parameters = draw_atoms(rng, intensity, chain.preparation.family, counts, chain.statistics(), level)
    draw_labels(chain, jumps > level, jumps, parameters)


def label_by(chain, other, rng, intensity):
    """Draw the labels of all rows given atoms of the clusters of another chain, for an initial point."""
    counts, _ = other.clusters
    jumps, parameters = draw_atoms(rng, intensity, other.preparation.family, counts, other.statistics(), LEVEL)
    chain.reset()
    if (jumps > LEVEL).any():
        draw_labels(chain, jumps > LEVEL, jumps, parameters, have_atoms=False)


def draw_labels(chain, above, jumps, parameters, have_atoms=True):
    """Draw the labels of rows whose atoms are above the level among these; clusters of other rows are unchanged.

    If the clusters of the chain have no atoms, all rows draw one.
    """
    counts, sums = chain.clusters
    n_atoms, atom_of_cluster, names = int(above.sum()), np.full(len(counts), -1), np.full(len(counts), -1)
    drawing = np.flatnonzero(above[: len(counts)]) if have_atoms else atom_of_cluster[:0]
    staying = np.flatnonzero(~above[: len(counts)]) if have_atoms else atom_of_cluster[:0]
    atom_of_cluster[drawing], names[staying] = np.arange(len(drawing)), n_atoms + np.arange(len(staying))
    atoms = Atoms(names, atom_of_cluster, parameters[above], np.log(jumps[above]))
    seed, call = chain.next_call()
    message = (chain.take_changes(), chain.preparation, chain.quanta, atoms, seed, call, chain.sample)
    new_counts, new_sums, sample_labels = chain.engine.run(relabel, message)
    new_counts[: len(drawing)] += counts[drawing]
    new_sums[: len(drawing)] += sums[drawing]
    new_counts, new_sums = np.append(new_counts, counts[staying]), np.concatenate([new_sums, sums[staying]])
    kept = new_counts > 0
    new_names = np.cumsum(kept) - 1
    clusters = Clusters(new_counts[kept], new_sums[kept])
    chain.set(clusters, no_changes(len(kept), np.maximum(new_names, 0)), new_names[sample_labels])


@kernel
def state_of(family, labels, counts, statistics):
    """State of clusters with all their rows, of which only some, with these labels (m,), may move."""
    n_clusters = counts.shape[0]
    state = empty_state(labels, n_clusters + 8, family)
    for k in range(n_clusters):
        state.counts[k] = counts[k]
        copy_row(state.statistics[k], statistics[k])
        refresh_cache(family, state.statistics[k], state.cache[k])
    state.size[0] = n_clusters
    return state


def joining_weights(intensity, n):
    """Table of the log weights of joining clusters of up to n rows, used for both tables to save memory."""
    join = np.empty(n + 1)
    join[0] = intensity.log_scale + math.lgamma(1.0 - intensity.sigma)
    join[1:] = np.log(np.arange(1.0, n + 1.0) - intensity.sigma)
    return Weights(join, join)


def redraw_rows(chain, rng, intensity, n_rows):
    """Redraw the clusters of random rows, one after the other, given the clusters of all other rows.

    It leaves the target given u invariant, and is irreducible: any row may be chosen.  Rows are chosen independently of
    labels.  Returns the number of rows that moved.
    """
    n_rows = min(n_rows, chain.n)
    rows = np.sort(rng.choice(chain.n, n_rows, replace=False, shuffle=False))
    labels, values = chain.engine.run(gather_rows, (chain.take_changes(), rows, chain.n_columns))
    family, data = chain.preparation.family, chain.preparation(values)
    counts, sums = chain.clusters
    state = state_of(family, labels.copy(), counts, chain.statistics())
    weights = joining_weights(intensity, int(counts.max()) + n_rows + 1)
    state, n_moved = gibbs_sweep(rng, state, weights, family, data, rng.permutation(n_rows))
    # Slots of clusters that closed and opened again hold other clusters, so update counts and sums row by row.
    capacity = len(state.counts)
    new_counts = np.append(counts, np.zeros(capacity - len(counts), dtype=np.int64))
    new_sums = np.concatenate([sums, np.zeros((capacity - len(counts), sums.shape[1]), dtype=np.int64)])
    moved = np.flatnonzero(labels != state.labels)
    if len(moved):
        rounded = rounded_rows(chain.preparation, chain.preparation(values[moved]), len(moved), chain.quanta)
        for slots, sign in ((labels[moved], -1), (state.labels[moved], 1)):
            np.add.at(new_counts, slots, sign)
            np.add.at(new_sums, slots, sign * rounded)
    kept = new_counts > 0
    new_names = np.maximum(np.cumsum(kept) - 1, 0)
    target = no_changes(len(counts), new_names[: len(counts)]).target
    chain.set(Clusters(new_counts[kept], new_sums[kept]), Changes(target, rows, new_names[state.labels]))
    return n_moved
