"""The pass of splits and merges: rows of disjoint pairs of clusters draw their halves, or halves are evaluated."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.moves.chunks.counters import row_uniform
from pymc_nrm.moves.chunks.exact_sums import add_logarithm, add_rounded, round_statistics
from pymc_nrm.moves.chunks.passes import check_bounds

__all__ = ["EVALUATE", "SPLIT", "Halves", "scan_pairs"]

# What a scan does with the rows of a pair: draw their halves, or evaluate the halves that are there.
SPLIT, EVALUATE = 0, 1


class Halves(NamedTuple):
    """Pairs of clusters and parameters of their halves: clusters (m, 2), the second -1 if there is one; modes (m,);
    rows of the anchors (m, 2); parameters (m, 2, size) and logarithms of weights (m, 2).
    """

    clusters: Any
    modes: Any
    anchors: Any
    parameters: Any
    log_weights: Any


@kernel
def rows_by_cluster(labels, n_clusters):
    """Rows in the order of their clusters, and where each cluster starts among them."""
    starts = np.zeros(n_clusters + 1, dtype=np.int64)
    for i in range(labels.shape[0]):
        starts[labels[i] + 1] += 1
    for k in range(n_clusters):
        starts[k + 1] += starts[k]
    places, order = starts.copy(), np.empty(labels.shape[0], dtype=np.int64)
    for i in range(labels.shape[0]):
        order[places[labels[i]]] = i
        places[labels[i]] += 1
    return order, starts


@kernel(inner_loop=True, threaded=True)
def scan_rows(labels, sides, first, family, data, halves, n_clusters, draw, quanta, digits, counts, sums, words):
    """Draw or evaluate the halves of the rows of disjoint pairs of clusters; False if a statistic is too large.

    The anchors of a pair belong to its first and second half.  Shapes: ``counts`` (m, 2), ``sums`` (m, 2, size),
    ``words`` (m, 3); ``draw`` is the seed and the call of the numbers of rows.
    """
    seed, call = draw
    order, starts = rows_by_cluster(labels, n_clusters)
    panel, values = component_panel(family, LANES), np.empty(LANES)
    memory, rounded = np.zeros(sums.shape[2]), np.empty(sums.shape[2], dtype=np.int64)
    right = True
    for m in range(halves.modes.shape[0]):
        draws = halves.modes[m] == SPLIT
        for half in range(2):
            write_component(family, halves.parameters[m, half], panel, half)
        for here in range(2):
            cluster = halves.clusters[m, here]
            if cluster < 0:
                continue
            for place in range(starts[cluster], starts[cluster + 1]):
                i = order[place]
                row = first + i
                anchor = 0 if row == halves.anchors[m, 0] else 1 if row == halves.anchors[m, 1] else -1
                side = here if anchor < 0 else anchor
                if anchor < 0:
                    values[0], values[1] = halves.log_weights[m, 0], halves.log_weights[m, 1]
                    add_component_densities(family, panel, data, i, LANES, values)
                    larger = max(values[0], values[1])
                    mix = larger + np.log1p(np.exp(min(values[0], values[1]) - larger))
                    if draws:
                        side = 1 if row_uniform(seed, call, 0, row) < np.exp(values[1] - mix) else 0
                    add_logarithm(values[side] - mix, digits, words[m])
                if draws:
                    sides[i] = side
                    counts[m, side] += 1
                    right &= round_statistics(family, data, i, quanta, memory, rounded)
                    add_rounded(rounded, sums[m, side])
    return right


def scan_pairs(block, message):
    """Draw or evaluate halves; return counts and sums of those drawn, and words of log probabilities."""
    changes, preparation, quanta, halves, n_clusters, draw, digits = message
    block.begin(changes)
    m, size = len(halves.modes), len(quanta.quantum)
    counts, sums = np.zeros((m, 2), dtype=np.int64), np.zeros((m, 2, size), dtype=np.int64)
    words = np.zeros((m, 3), dtype=np.int64)
    labels, sides, data = block.labels, block.sides, block.data(preparation)
    family, first = preparation.family, block.first
    right = scan_rows(labels, sides, first, family, data, halves, n_clusters, draw, quanta, digits, counts, sums, words)
    check_bounds(right, block)
    return counts, sums, words
