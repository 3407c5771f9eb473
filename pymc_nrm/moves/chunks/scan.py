"""The pass of splits and merges: rows of disjoint sets of clusters draw their parts, or are weighted under them."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.components import add_densities_of_items, component_panel, write_component
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.moves.chunks.chain import Changes, Clusters, moved
from pymc_nrm.moves.chunks.exact_sums import add_logarithms, logarithm_digits, logarithm_value
from pymc_nrm.moves.chunks.rows_in_lanes import draw_parts, draw_uniforms, mix_columns, take_items
from pymc_nrm.partitions.labels import members


class Parts(NamedTuple):
    """Sets of clusters and components of their parts, at most LANES.

    Clusters (m, k), -1 after the last cluster of a set; numbers of parts (m,); whether rows draw their parts (m,), or
    keep the present parts; whether labels are summed out (m,); rows of the anchors of the parts (m, k); parameters (m,
    k, size) and logarithms of weights (m, k).
    """

    clusters: Any
    n_parts: Any
    draws: Any
    summed: Any
    anchors: Any
    parameters: Any
    log_weights: Any


@shared_kernel(components=True, inner_loop=True, threaded=True)
def scan_rows(labels, sides, targets, first, family, data, parts, n_clusters, draw, digits, words):
    """Draw the parts of the rows of disjoint sets of clusters, or weight them.

    Anchors belong to their parts.  For other rows the sum has the logarithm of the density under all parts if labels
    are summed out, otherwise of the probability of the part.  Shapes: ``words`` (m, 3); ``draw`` is the seed and the
    call of the rows' random numbers; a row drawn into part k > 0 of set m gets target m times the number of columns,
    plus k.
    """
    seed, call = draw
    n_columns = parts.clusters.shape[1]
    rows, groups, starts, order = rows_of_sets(labels, parts.clusters, n_clusters)
    panel, values, weights = component_panel(family, LANES), np.empty((LANES, LANES)), np.empty((LANES, LANES))
    total, mix, terms, uniforms = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    items, lane_parts, memory = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.empty((4, LANES), np.uint64)
    for m in range(parts.n_parts.shape[0]):
        n_parts, draws, summed, has_anchors = parts.n_parts[m], parts.draws[m], parts.summed[m], False
        for part in range(n_parts):
            write_component(family, parts.parameters[m, part], panel, part)
            has_anchors |= first <= parts.anchors[m, part] < first + labels.shape[0]
        end = starts[(m + 1) * n_columns]
        for begin in range(starts[m * n_columns], end, LANES):
            n_here = take_items(order, begin, end, items)
            for lane in range(LANES):
                lane_parts[lane], items[lane] = groups[items[lane]] - m * n_columns, rows[items[lane]]
            for part in range(n_parts):
                for lane in range(LANES):
                    values[part, lane] = parts.log_weights[m, part]
            add_densities_of_items(family, panel, data, items, n_parts, values)
            mix_columns(values, n_parts, weights, total, mix)
            if draws:
                draw_uniforms(seed, call, first, items, memory, uniforms)
                draw_parts(uniforms, weights, total, n_parts, lane_parts)
            for lane in range(LANES):
                terms[lane] = mix[lane] if summed else values[lane_parts[lane], lane] - mix[lane]
            if has_anchors:
                for lane in range(n_here):
                    for part in range(n_parts):
                        if first + items[lane] == parts.anchors[m, part]:
                            lane_parts[lane], terms[lane] = part, values[part, lane] if summed else 0.0
            add_logarithms(terms, n_here, digits, words[m])
            if draws:
                for lane in range(n_here):
                    sides[items[lane]] = lane_parts[lane]
                    if lane_parts[lane] > 0:
                        targets[items[lane]] = m * n_columns + lane_parts[lane]


@kernel
def rows_of_sets(labels, clusters, n_clusters):
    """Rows of sets of clusters (m, k), their places in it, and a start for each place of an order of these rows."""
    places, n_columns, n = np.full(n_clusters, -1), clusters.shape[1], 0
    for m in range(clusters.shape[0]):
        for k in range(n_columns):
            if clusters[m, k] >= 0:
                places[clusters[m, k]] = m * n_columns + k
    rows, groups = np.empty(labels.shape[0], dtype=np.int32), np.empty(labels.shape[0], dtype=np.int32)
    for i in range(labels.shape[0]):
        rows[n], groups[n] = i, places[labels[i]]
        n += places[labels[i]] >= 0
    starts, order = members(groups[:n], clusters.size)
    return rows, groups, starts, order


def scan_parts(block, message):
    """Draw or weight parts; return counts and sums of drawn parts except the first of a set, words of sums of
    logarithms, and parts of rows.
    """
    changes, preparation, quanta, parts, n_clusters, draw, digits, asked = message
    block.begin(changes)
    shape, first, family, data = parts.log_weights.shape, block.first, preparation.family, block.data(preparation)
    words, none = np.zeros((shape[0], 3), dtype=np.int64), np.full(block.n, -1, dtype=np.int32)
    targets = none.copy()
    scan_rows(block.labels, block.sides, targets, first, family, data, parts, n_clusters, draw, digits, words)
    counts, sums = moved(block, none, targets, family, data, quanta, shape[0] * shape[1])
    asked_sides, here = np.zeros(len(asked), dtype=np.int64), block.slice_of(asked)
    asked_sides[here] = block.sides[asked[here] - first]
    return counts.reshape(shape), sums.reshape(*shape, -1), words, asked_sides


def scan(chain, parts, asked):
    """Make one pass: return counts (m, k) and sums (m, k, size) of drawn parts, sums of logarithms (m,), and the parts
    of the rows whose increasing numbers are ``asked``.
    """
    # The first part of a set holds everything that is not in the other parts.
    first_counts, first_sums = (of_sets(parts.clusters, of_clusters) for of_clusters in chain.clusters)
    n_clusters, digits = len(chain.clusters.counts), logarithm_digits(chain.n)
    preparation, quanta, call = chain.preparation, chain.quanta, chain.next_call()
    message = (chain.take_changes(), preparation, quanta, parts, n_clusters, call, digits, asked)
    counts, sums, words, sides = chain.engine.run(scan_parts, message)
    counts[:, 0], sums[:, 0] = first_counts - counts.sum(axis=1), first_sums - sums.sum(axis=1)
    return counts, sums, logarithm_value(words, digits), sides


def of_sets(clusters, of_clusters):
    """Sums (m, ...) over sets of clusters (m, k), -1 after the last cluster of a set, of values per cluster."""
    none = np.zeros_like(of_clusters[:1])
    return np.concatenate([of_clusters, none])[clusters].sum(axis=1)


def nearest(points, row, n_near):
    """Rows that are nearest to a row, including itself, in no particular order. Shapes: ``points`` (n, d)."""
    distances = ((points - points[row]) ** 2).sum(axis=1)
    return np.argpartition(distances, min(n_near, len(points)) - 1)[:n_near]


def divide(chain, clusters, split, merged, new_counts, new_sums):
    """Make accepted splits and merges of sets of clusters (m, k): the first part of a split keeps its label.

    ``split`` and ``merged`` are masks (m,); counts (m, k) and sums (m, k, size) belong to parts.
    """
    counts, sums = (list(rows) for rows in chain.clusters)
    target = np.tile(np.arange(len(counts))[:, None], clusters.shape[1])
    for m in np.flatnonzero(split | merged):
        kept, absorbed = clusters[m, 0], clusters[m, 1:]
        if split[m]:
            counts[kept], sums[kept] = new_counts[m, 0], new_sums[m, 0]
            for part in range(1, np.count_nonzero(new_counts[m])):
                target[kept, part] = len(counts)
                counts.append(new_counts[m, part])
                sums.append(new_sums[m, part])
        else:
            for cluster in absorbed[absorbed >= 0]:
                target[cluster] = kept
                counts[kept], sums[kept] = counts[kept] + counts[cluster], sums[kept] + sums[cluster]
                counts[cluster] = 0
    counts, sums = np.array(counts), np.array(sums)
    kept = counts > 0
    names = np.cumsum(kept) - 1
    none = np.zeros(0, dtype=np.int64)
    chain.set(Clusters(counts[kept], sums[kept]), Changes(names[target], none, none))
