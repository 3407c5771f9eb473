"""One sweep of all moves over rows in chunks, and initial points from chains on a sample of the rows."""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import draw_log_auxiliary, log_joint_term, weights
from pymc_nrm.moves.chunks.chain import Chain
from pymc_nrm.moves.chunks.engine import Engine
from pymc_nrm.moves.chunks.relabel import label_by, redraw_rows, relabel_all
from pymc_nrm.moves.chunks.source import blocks_of, read_source
from pymc_nrm.moves.chunks.splits import cluster_weights, split_and_merge, split_and_merge_by_moments
from pymc_nrm.moves.sampled_start import climb
from pymc_nrm.moves.slice_labels import jump_law
from pymc_nrm.partitions.labels import canonical_labels

# Numbers of sweeps for an initial point, by number of rows.  Surplus clusters among several that overlap are mostly
# gone after 150 sweeps of 5000 rows, and stay for hundreds of sweeps among more rows.
_START_SWEEPS = {1000: 60, 5000: 150, 20_000: 100}
# Clusters that overlap take many sweeps to find their shapes, among few rows as among many. With at least _TIMES_MORE
# times _MANY_ROWS rows, a chain on _MANY_ROWS of them therefore makes up to _MOST_SEGMENTS segments of _SEGMENT sweeps.
_MANY_ROWS, _TIMES_MORE = 200_000, 5
_SEGMENT, _MOST_SEGMENTS = 20, 6


@kernel
def draw_jump_law(rng, measure, n, n_clusters):
    """Draw u given a partition; return the intensity of jumps, log u, and the term in n and u."""
    log_u = draw_log_auxiliary(measure, n, n_clusters, rng)
    # Weights of clusters given u do not depend on the number of items.
    return jump_law(weights(measure, 3, log_u)), log_u, log_joint_term(measure, n, log_u)


def draw_law(rng, measure, chain):
    """Draw u given the partition; return the intensity of jumps, log u, and the joint density's term in n and u."""
    return draw_jump_law(rng, measure, chain.n, len(chain.clusters.counts))


def sweep(chain, rng, intensity, n_pairs, n_redrawn):
    """Move the partition given u; return the numbers of splits and merges, and of rows that moved alone.

    It leaves the target given u invariant, and is irreducible.
    """
    relabel_all(chain, rng, intensity)
    n_splits = n_merges = 0
    for move in (split_and_merge, split_and_merge_by_moments) if n_pairs else ():
        split, merged = move(chain, rng, intensity, n_pairs)
        n_splits, n_merges = n_splits + split, n_merges + merged
    return n_splits, n_merges, redraw_rows(chain, rng, intensity, n_redrawn) if n_redrawn else 0


def log_joint(chain, intensity, u_term):
    """Log joint density of the partition, its data and u."""
    family = chain.preparation.family
    return u_term + float(cluster_weights(intensity, family, chain.clusters.counts, chain.statistics()).sum())


def start(chain, rng, measure, n_pairs, given=None):
    """Move a chain to the clusters of chains on a sample of rows; the first starts from the labels (n,), if any."""

    def begin(values, previous, labels=None):
        n_sampled, sample = len(chain.sample), np.arange(len(values))
        if len(values) > n_sampled:
            sample = np.sort(rng.choice(sample, n_sampled, replace=False))
        engine = Engine(blocks_of(read_source(values)), chain.engine.n_threads)
        current = Chain(engine, chain.preparation, sample, values[sample], chain.quanta)
        current.begin_sweep(rng)
        if previous is not None:
            label_by(current, previous, rng, draw_law(rng, measure, previous)[0])
        elif labels is not None:
            current.restore(canonical_labels(labels))
        return current

    def advance(current):
        current.begin_sweep(rng)
        intensity, _, u_term = draw_law(rng, measure, current)
        sweep(current, rng, intensity, n_pairs, 1000)
        return log_joint(current, intensity, u_term)

    def begin_on_sample(rows, previous):
        return begin(chain.sample_values[rows], previous, None if given is None else given[chain.sample[rows]])

    last, _ = climb(rng, len(chain.sample), begin_on_sample, advance, sweeps=_START_SWEEPS)
    if chain.n >= _TIMES_MORE * _MANY_ROWS:
        rows = np.sort(rng.choice(chain.n, _MANY_ROWS, replace=False, shuffle=False))
        last = begin(np.concatenate(list(chain.engine.each(rows_of, rows))), last)
        settle(advance, last)
    chain.begin_sweep(rng)
    label_by(chain, last, rng, draw_law(rng, measure, last)[0])


def rows_of(block, rows):
    """Values (m, d) of the rows in a block among increasing row numbers; a pass."""
    return block.read()[rows[block.slice_of(rows)] - block.first]


def settle(advance, chain):
    """Make sweeps of a chain until its log joint density does not rise beyond its scatter in two segments."""
    means, variances = [], []
    while len(means) < _MOST_SEGMENTS:
        joints = np.array([advance(chain) for _ in range(_SEGMENT)])
        means.append(joints.mean())
        variances.append(joints.var() / _SEGMENT)
        if len(means) > 2 and means[-1] - means[-3] < 2.0 * math.sqrt(variances[-1] + variances[-3]):
            break
