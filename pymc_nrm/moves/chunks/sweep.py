"""One sweep of all moves over rows in chunks, and starts from chains on some of the rows."""

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import draw_log_auxiliary, log_joint_term, weights
from pymc_nrm.moves.chunks.chain import Block, Chain
from pymc_nrm.moves.chunks.engine import Engine
from pymc_nrm.moves.chunks.relabel import label_by, redraw_rows, relabel_all
from pymc_nrm.moves.chunks.splits import split_and_merge, split_and_merge_by_moments
from pymc_nrm.moves.sampled_start import climb
from pymc_nrm.moves.slice_labels import jump_law


@kernel
def _draw_law(rng, measure, n, n_clusters):
    log_u = draw_log_auxiliary(measure, n, n_clusters, rng)
    # Weights of clusters given u do not depend on the number of items.
    return jump_law(weights(measure, 3, log_u)), log_u, log_joint_term(measure, n, log_u)


def draw_law(rng, measure, chain):
    """Draw u given the partition; return the law of jumps, log u, and the term of the joint density in n and u."""
    return _draw_law(rng, measure, chain.n, len(chain.clusters.counts))


def sweep(chain, rng, law, n_pairs, n_redrawn):
    """Move the partition given u; return the numbers of splits and merges, and of rows that moved alone.

    It leaves the target given u invariant, and is irreducible.
    """
    relabel_all(chain, rng, law)
    n_splits = n_merges = 0
    for move in (split_and_merge, split_and_merge_by_moments) if n_pairs else ():
        split, merged = move(chain, rng, law, n_pairs)
        n_splits, n_merges = n_splits + split, n_merges + merged
    return n_splits, n_merges, redraw_rows(chain, rng, law, n_redrawn) if n_redrawn else 0


def start(chain, rng, measure, n_pairs):
    """Bring a chain to the clusters of chains on some of the sampled rows."""

    def begin(rows, previous):
        values = chain.sample_values[rows]
        engine = Engine([Block(0, len(rows), lambda: values)])
        current = Chain(engine, chain.preparation, np.arange(len(rows)), values, chain.quanta)
        current.begin_sweep(rng)
        if previous is not None:
            label_by(current, previous, rng, draw_law(rng, measure, previous)[0])
        return current

    def advance(current):
        current.begin_sweep(rng)
        sweep(current, rng, draw_law(rng, measure, current)[0], n_pairs, 1000)

    last, _ = climb(rng, len(chain.sample), begin, advance)
    chain.begin_sweep(rng)
    label_by(chain, last, rng, draw_law(rng, measure, last)[0])
