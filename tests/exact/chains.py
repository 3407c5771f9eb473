"""Compiled loops over the kernels of the steps, in which an iteration does what a step does in a draw.

Given the number of clusters, u does not depend on the partition.  Weights are therefore drawn beforehand, for every
number of clusters and every iteration: the loops then compile once per family, whatever the measure.
"""

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import Weights
from pymc_nrm.moves.gibbs import gibbs_sweep, random_items
from pymc_nrm.moves.split_merge import split_merge_moves
from pymc_nrm.moves.weights import draw_weights
from pymc_nrm.partitions.clusters import build_state, ordered_labels


@kernel
def draw_tables(rng, measure, n, n_tables):
    """Weights given 1, ..., n clusters, with a new u for each table: two arrays of shape (n, n_tables, n + 1)."""
    join = np.empty((n, n_tables, n + 1))
    moment = np.empty((n, n_tables, n + 1))
    for k in range(n):
        for t in range(n_tables):
            table, _, _ = draw_weights(rng, measure, n, k + 1)
            join[k, t] = table.join
            moment[k, t] = table.moment
    return Weights(join, moment)


@kernel
def chain(rng, labels, tables, family, data, options, n_items, n_draws):
    """Labels after each of ``n_draws`` rounds of split-merge moves and a Gibbs update, shape (n_draws, n).

    Tables of weights are used in turn; if there is a single one for each number of clusters, u is fixed.
    """
    n, n_tables = labels.shape[0], tables.join.shape[1]
    draws = np.empty((n_draws, n), dtype=np.int64)
    for t in range(n_draws):
        k = labels.max()
        weights = Weights(tables.join[k, t % n_tables], tables.moment[k, t % n_tables])
        state = build_state(labels, family, data)
        state, _ = split_merge_moves(rng, state, weights, family, data, options)
        state, _ = gibbs_sweep(rng, state, weights, family, data, random_items(rng, n, n_items))
        labels = ordered_labels(state)
        draws[t] = labels
    return draws


@kernel
def split_merge_once(rng, starts, weights, family, data, options):
    """Labels after the split-merge moves alone, from each of the given starts, shape of ``starts``."""
    ends = np.empty_like(starts)
    for t in range(starts.shape[0]):
        state = build_state(starts[t], family, data)
        state, _ = split_merge_moves(rng, state, weights, family, data, options)
        ends[t] = ordered_labels(state)
    return ends
