"""The pass of splits and merges: rows of disjoint sets of clusters draw their parts, or are weighed under them."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.components import add_densities_of_items, component_panel, write_component
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import index_at
from pymc_nrm.moves.chunks.chain import Changes, Clusters, check_bounds, row_uniform
from pymc_nrm.moves.chunks.exact_sums import (
    add_logarithm,
    add_rounded,
    logarithm_digits,
    logarithm_value,
    round_statistics,
)
from pymc_nrm.moves.chunks.rows_in_lanes import mix_columns
from pymc_nrm.partitions.labels import members


class Parts(NamedTuple):
    """Sets of clusters and components of their parts, at most LANES.

    Clusters (m, k), -1 behind the last one of a set; numbers of parts (m,); whether rows draw their parts (m,), or keep
    those that are there; whether labels are summed out (m,); rows of the anchors of the parts (m, k); parameters (m, k,
    size) and logarithms of weights (m, k).
    """

    clusters: Any
    n_parts: Any
    draws: Any
    summed: Any
    anchors: Any
    parameters: Any
    log_weights: Any


@kernel(inner_loop=True, threaded=True)
def scan_rows(labels, sides, first, family, data, parts, n_clusters, draw, quanta, digits, counts, sums, words):
    """Draw the parts of the rows of disjoint sets of clusters, or weigh them; False if a statistic is too large.

    Anchors belong to their parts.  For other rows the sum has the logarithm of the density under all parts if labels
    are summed out, otherwise of the probability of the part.  Shapes: ``counts`` (m, k), ``sums`` (m, k, size), of all
    parts but the first, ``words`` (m, 3); ``draw`` is the seed and the call of the numbers of rows.
    """
    seed, call = draw
    starts, order = members(labels, n_clusters)
    panel, values, weights = component_panel(family, LANES), np.empty((LANES, LANES)), np.empty((LANES, LANES))
    total, mix, items, own = np.empty(LANES), np.empty(LANES), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    memory, rounded = np.zeros(sums.shape[2]), np.empty(sums.shape[2], dtype=np.int64)
    right = True
    for m in range(parts.n_parts.shape[0]):
        n_parts, draws, summed = parts.n_parts[m], parts.draws[m], parts.summed[m]
        for part in range(n_parts):
            write_component(family, parts.parameters[m, part], panel, part)
        here, place, n_waiting, n_clusters_here = 0, 0, 0, np.count_nonzero(parts.clusters[m] >= 0)
        while here < n_clusters_here:
            cluster = parts.clusters[m, here]
            if starts[cluster] + place < starts[cluster + 1]:
                items[n_waiting], own[n_waiting] = order[starts[cluster] + place], here
                n_waiting, place = n_waiting + 1, place + 1
            else:
                here, place = here + 1, 0
            if n_waiting < LANES and (here < n_clusters_here or n_waiting == 0):
                continue
            # Lanes beyond the last row hold the first one again.
            for lane in range(n_waiting, LANES):
                items[lane] = items[0]
            for part in range(n_parts):
                for lane in range(LANES):
                    values[part, lane] = parts.log_weights[m, part]
            add_densities_of_items(family, panel, data, items, n_parts, values)
            mix_columns(values, n_parts, weights, total, mix)
            for lane in range(n_waiting):
                i, side, is_anchor = items[lane], own[lane], False
                row = first + i
                for part in range(n_parts):
                    if row == parts.anchors[m, part]:
                        side, is_anchor = part, True
                if summed or not is_anchor:
                    if draws and not is_anchor:
                        side = index_at(weights[:, lane], n_parts, row_uniform(seed, call, 0, row) * total[lane])
                    if not summed:
                        add_logarithm(values[side, lane] - mix[lane], digits, words[m])
                    else:
                        add_logarithm(values[side, lane] if is_anchor else mix[lane], digits, words[m])
                if draws:
                    sides[i] = side
                    if side > 0:
                        counts[m, side] += 1
                        right &= round_statistics(family, data, i, quanta, memory, rounded)
                        add_rounded(rounded, sums[m, side], 1)
            n_waiting = 0
    return right


def scan_parts(block, message):
    """Draw or weigh parts; return counts and sums of those drawn, but the first of a set, words of sums of logarithms,
    and parts of rows.
    """
    changes, preparation, quanta, parts, n_clusters, draw, digits, asked = message
    block.begin(changes)
    shape, size = parts.log_weights.shape, len(quanta.quantum)
    counts, sums = np.zeros(shape, dtype=np.int64), np.zeros((*shape, size), dtype=np.int64)
    words = np.zeros((shape[0], 3), dtype=np.int64)
    labels, sides, data = block.labels, block.sides, block.data(preparation)
    family, first = preparation.family, block.first
    right = scan_rows(labels, sides, first, family, data, parts, n_clusters, draw, quanta, digits, counts, sums, words)
    check_bounds(right, block)
    found, own = np.zeros(len(asked), dtype=np.int64), block.own(asked)
    found[own] = sides[asked[own] - first]
    return counts, sums, words, found


def scan(chain, parts, asked):
    """One pass: counts (m, k) and sums (m, k, size) of parts that were drawn, sums of logarithms (m,), and the parts
    of rows, which are asked for by increasing numbers.
    """
    # The first part of a set has what is not in the others.
    first_counts, first_sums = (of_sets(parts.clusters, of_clusters) for of_clusters in chain.clusters)
    n_clusters, digits = len(chain.clusters.counts), logarithm_digits(chain.n)
    preparation, quanta, call = chain.preparation, chain.quanta, chain.next_call()
    message = (chain.take_changes(), preparation, quanta, parts, n_clusters, call, digits, asked)
    counts, sums, words, sides = chain.engine.run(scan_parts, message)
    counts[:, 0], sums[:, 0] = first_counts - counts.sum(axis=1), first_sums - sums.sum(axis=1)
    return counts, sums, logarithm_value(words, digits), sides


def of_sets(clusters, of_clusters):
    """Sums (m, ...) over sets of clusters (m, k), -1 behind the last one of a set, of numbers of clusters."""
    none = np.zeros_like(of_clusters[:1])
    return np.concatenate([of_clusters, none])[clusters].sum(axis=1)


def nearest(points, row, n_near):
    """Rows that are nearest to one of them, itself included, in no order. Shapes: ``points`` (n, d)."""
    distances = ((points - points[row]) ** 2).sum(axis=1)
    return np.argpartition(distances, min(n_near, len(points)) - 1)[:n_near]


def divide(chain, clusters, split, merged, new_counts, new_sums):
    """Make accepted splits and merges of sets of clusters (m, k): the parts of a split but the first are new clusters.

    ``split`` and ``merged`` are masks (m,), counts (m, k) and sums (m, k, size) those of parts.
    """
    counts, sums = (list(rows) for rows in chain.clusters)
    target = np.tile(np.arange(len(counts))[:, None], clusters.shape[1])
    for m in np.flatnonzero(split | merged):
        kept, others = clusters[m, 0], clusters[m, 1:]
        if split[m]:
            counts[kept], sums[kept] = new_counts[m, 0], new_sums[m, 0]
            for part in range(1, np.count_nonzero(new_counts[m])):
                target[kept, part] = len(counts)
                counts.append(new_counts[m, part])
                sums.append(new_sums[m, part])
        else:
            for cluster in others[others >= 0]:
                target[cluster] = kept
                counts[kept], sums[kept] = counts[kept] + counts[cluster], sums[kept] + sums[cluster]
                counts[cluster] = 0
    counts, sums = np.array(counts), np.array(sums)
    kept = counts > 0
    names = np.cumsum(kept) - 1
    none = np.zeros(0, dtype=np.int64)
    chain.set(Clusters(counts[kept], sums[kept]), Changes(names[target], none, none))
