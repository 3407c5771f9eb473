"""Gibbs updates of random rows, which open and close small clusters."""

import math

import numpy as np

from pymc_nrm.families.base import cache_size, refresh_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.measures.base import Weights
from pymc_nrm.moves.chunks.blocks import Changes, no_changes
from pymc_nrm.moves.chunks.chain import Clusters
from pymc_nrm.moves.chunks.passes import gather_rows, rounded_rows
from pymc_nrm.moves.gibbs import gibbs_sweep
from pymc_nrm.partitions.clusters import State


@kernel
def state_of(family, labels, counts, statistics):
    """State of clusters of which only some rows, with these labels (m,), may move."""
    n_clusters = counts.shape[0]
    capacity = n_clusters + 8
    state = State(
        labels,
        np.zeros(capacity, dtype=np.int64),
        np.zeros((capacity, statistics.shape[1])),
        np.zeros((capacity, cache_size(family))),
        np.arange(capacity),
        np.arange(capacity),
        np.zeros(1, dtype=np.int64),
    )
    for k in range(n_clusters):
        state.counts[k] = counts[k]
        copy_row(state.statistics[k], statistics[k])
    for k in range(capacity):
        refresh_cache(family, state.statistics[k], state.cache[k])
    state.size[0] = n_clusters
    return state


@kernel
def joining_weights(law, n):
    """Table of the log weights of joining clusters of up to n rows."""
    join = np.empty(n + 1)
    unit = law.log_scale + math.lgamma(1.0 - law.sigma)
    join[0] = unit
    for m in range(1, n + 1):
        join[m] = math.log(m - law.sigma)
    return Weights(join, join)


def redraw_rows(chain, rng, law, n_rows):
    """Redraw the clusters of random rows, one after the other, given those of all others.

    It leaves the target given u invariant, and is irreducible: any row may be chosen.  Rows are chosen without looking
    at labels.  Returns how many have moved.
    """
    n_rows = min(n_rows, chain.n)
    rows = np.sort(rng.choice(chain.n, n_rows, replace=False, shuffle=False))
    labels, values = chain.engine.run(gather_rows, (chain.take_changes(), rows, chain.n_columns))
    family, data = chain.preparation.family, chain.preparation(values)
    counts, sums = chain.clusters
    state = state_of(family, labels.copy(), counts, chain.statistics())
    weights = joining_weights(law, int(counts.max()) + n_rows + 1)
    state, n_moved = gibbs_sweep(rng, state, weights, family, data, rng.permutation(n_rows))
    # Slots of clusters that were closed and opened again hold other clusters, which counts and sums follow row by row.
    capacity = len(state.counts)
    new_counts = np.append(counts, np.zeros(capacity - len(counts), dtype=np.int64))
    new_sums = np.concatenate([sums, np.zeros((capacity - len(counts), sums.shape[1]), dtype=np.int64)])
    rounded = rounded_rows(chain.preparation, data, n_rows, chain.quanta)
    for moved, sign in ((labels, -1), (state.labels, 1)):
        np.add.at(new_counts, moved, sign)
        np.add.at(new_sums, moved, sign * rounded)
    kept = new_counts > 0
    new_names = np.maximum(np.cumsum(kept) - 1, 0)
    target = no_changes(len(counts), new_names[: len(counts)]).target
    chain.set(Clusters(new_counts[kept], new_sums[kept]), Changes(target, rows, new_names[state.labels]))
    return n_moved
