"""Units of nodes, which leave and join clusters together: the parts of clusters below nodes of a guide tree."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.fast import update_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import sum_rows
from pymc_nrm.moves.split_merge import log_weight
from pymc_nrm.networks.families.networked import pairs_of
from pymc_nrm.networks.moves.block_state import (
    add_neighbours,
    clear_tables,
    new_rows,
    put_pairs,
    start_rows,
    take_pairs,
    weigh_blocks,
)
from pymc_nrm.partitions.clusters import close_slot


class Unit(NamedTuple):
    """Sums of a unit, and memory."""

    # Rows of its pairs with each slot.
    rows: Any
    # Sums of the pairs within it, (size,), and of the statistics of its attributes, if it has several nodes.
    loop: Any
    statistics: Any
    # Memory for the statistics of a cluster with it.
    joined: Any
    # Number of the unit at its nodes, int64 of shape (n,); `number[0]` is the last number.
    marks: Any
    number: Any


@kernel
def new_unit(state, family):
    """Memory for units, as long as the state does not grow."""
    n, size, n_statistics = state.clusters.labels.shape[0], state.sums.shape[2], statistics_size(family)
    statistics, joined = np.zeros(n_statistics), np.zeros(n_statistics)
    marks, number = np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return Unit(new_rows(state, family), np.zeros(size), statistics, joined, marks, number)


@kernel(inner_loop=True)
def sum_unit(state, family, data, nodes, unit):
    """Write the sums of nodes that are in no cluster, given clusters of other nodes."""
    pairs, size = pairs_of(data), unit.loop.shape[0]
    unit.number[0] += 1
    number, n_items, squares = unit.number[0], 0.0, 0.0
    for node in nodes:
        unit.marks[node] = number
        n_items += pairs.sizes[node]
        squares += pairs.sizes[node] * pairs.sizes[node]
    start_rows(state, pairs, n_items, unit.rows)
    for p in range(size):
        share = 0.5 if p < pairs.n_undirected else 1.0
        unit.loop[p] = share * (n_items * n_items - squares) * pairs.default[p]
    for k in range(unit.statistics.shape[0]):
        unit.statistics[k] = 0.0
    for node in nodes:
        add_neighbours(state, pairs, node, unit.rows)
        for p in range(size):
            unit.loop[p] += pairs.loops[node, p]
        for entry in range(pairs.start[node], pairs.start[node + 1]):
            other = pairs.other[entry]
            if unit.marks[other] == number:
                # Pairs without direction are in the lists of both nodes.
                for p in range(0 if node < other else pairs.n_undirected, size):
                    unit.loop[p] += pairs.rows[pairs.out[entry], p]
        if nodes.shape[0] > 1:
            add_item(family, unit.statistics, data, node, 1.0)


@kernel
def weigh_unit(state, weights, family, data, nodes, unit, slot, undirected, out, into):
    """Log weight of a slot for a unit that is in no cluster, as a node has it in Gibbs updates."""
    clusters, n = state.clusters, nodes.shape[0]
    count = clusters.counts[slot]
    if n == 1:
        value = weights.join[count] + log_predictive(family, clusters.cache[slot], data, nodes[0])
    else:
        sum_rows(unit.joined, clusters.statistics[slot], unit.statistics)
        value = log_weight(weights, family, count + n, unit.joined)
        if count > 0:
            # Other nodes may be impossible without the unit, which the greatest ratio then restores.
            value -= max(log_weight(weights, family, count, clusters.statistics[slot]), -1e300)
    if value > -np.inf:
        value += weigh_blocks(state, family, unit.loop, slot, unit.rows, undirected, out, into)
    return value


@kernel
def put_unit_in(state, family, data, nodes, unit, slot, undirected, out, into):
    """Put a unit into an occupied or open slot, with the log marginals that :func:`weigh_unit` has written."""
    pairs, clusters = pairs_of(data), state.clusters
    put_pairs(state, pairs.n_undirected, unit.loop, slot, unit.rows, undirected, out, into)
    _change_attributes(clusters, family, data, nodes, unit, slot, 1.0)
    clusters.counts[slot] += nodes.shape[0]
    for node in nodes:
        state.sizes[slot] += pairs.sizes[node]
        clusters.labels[node] = slot


@kernel
def take_unit_out(state, family, data, nodes, unit):
    """Take nodes out of their cluster, which is closed if it is empty, and sum them; return its slot."""
    pairs, clusters = pairs_of(data), state.clusters
    slot = clusters.labels[nodes[0]]
    for node in nodes:
        clusters.labels[node] = -1
        state.sizes[slot] -= pairs.sizes[node]
    clusters.counts[slot] -= nodes.shape[0]
    is_empty = clusters.counts[slot] == 0
    if is_empty:
        clear_tables(state, slot)
        close_slot(clusters, slot)
    sum_unit(state, family, data, nodes, unit)
    if not is_empty:
        _change_attributes(clusters, family, data, nodes, unit, slot, -1.0)
        take_pairs(state, family, pairs.n_undirected, unit.loop, slot, unit.rows)
    return slot


@kernel
def _change_attributes(clusters, family, data, nodes, unit, slot, sign):
    """Add or subtract the attributes of a unit to the statistics of a slot."""
    statistics, cache = clusters.statistics[slot], clusters.cache[slot]
    if nodes.shape[0] == 1:
        update_cache(family, statistics, cache, data, nodes[0], sign)
    else:
        for k in range(statistics.shape[0]):
            statistics[k] += sign * unit.statistics[k]
        refresh_cache(family, statistics, cache)
