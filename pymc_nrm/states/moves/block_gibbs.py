"""Gibbs updates of blocks of times: see ``states/moves/direct.py`` for the weights."""

import numpy as np

from pymc_nrm.families.base import add_item
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import copy_row, sum_rows
from pymc_nrm.moves.gibbs import draw_column
from pymc_nrm.partitions.clusters import open_slot
from pymc_nrm.states.moves.slots import close_state, count_run, entry_weight, log_run, neighbours, offer_weight


@kernel
def _common_label(labels, starts, begin, end):
    """The label of a block of times in one sequence that share it, or -1."""
    for t in range(begin + 1, end):
        if starts[t] or labels[t] != labels[begin]:
            return -1
    return labels[begin]


@kernel(inner_loop=True)
def move_blocks(rng, state, slots, prior, family, data, blocks, first):
    """Redraw the states of ``blocks[first:]`` until one empty slot is left; return the next one, and how many times
    moved.
    """
    labels, counts, active, size, statistics = state.labels, state.counts, state.active, state.size, state.statistics
    capacity = counts.shape[0]
    marginals, values = np.zeros(capacity), np.empty(whole_lanes(capacity))
    row_size = statistics.shape[1]
    block, before, joined = np.empty(row_size), np.empty(row_size), np.empty(row_size)
    for k in range(size[0]):
        marginals[active[k]] = log_marginal(family, statistics[active[k]])
    n_moved = 0
    for index in range(first, blocks.shape[0]):
        if index % 64 == 0:
            check_signals()
        if size[0] + 2 > capacity:
            return index, n_moved
        begin, end = blocks[index, 0], blocks[index, 1]
        old = _common_label(labels, prior.starts, begin, end)
        if old < 0:
            continue
        length = end - begin
        block.fill(0.0)
        for t in range(begin, end):
            add_item(family, block, data, t, 1.0)
        origin, following = neighbours(labels, prior.starts, begin, end)
        count_run(slots, origin, old, length, following, -1)
        together = marginals[old]
        counts[old] -= length
        alone = counts[old] == 0
        if alone:
            candidate, left = close_state(state, slots, old)
        else:
            candidate, left = offer_weight(rng, slots, prior, size[0])
            copy_row(before, statistics[old])
            for i in range(row_size):
                statistics[old, i] -= block[i]
            marginals[old] = log_marginal(family, statistics[old])
        n_states = size[0]
        here = n_states
        for k in range(n_states):
            slot = active[k]
            entry = entry_weight(slots, prior, origin, slot)
            values[k] = log_run(slots, prior, origin, slot, slots.weights[slot], entry, length, following)
            if slot == old:
                here = k
                values[k] += together - marginals[slot]
            else:
                sum_rows(joined, statistics[slot], block)
                values[k] += log_marginal(family, joined) - marginals[slot]
        entry = prior.alpha * slots.remainder[0]
        of_block = together if alone else log_marginal(family, block)
        values[n_states] = log_run(slots, prior, origin, active[n_states], candidate, entry, length, following)
        values[n_states] += of_block
        chosen = draw_column(rng, values, n_states + 1, here)
        slot = active[chosen]
        if chosen == n_states:
            open_slot(state)
            slots.weights[slot], slots.remainder[0] = candidate, left
        if slot == old and not alone:
            copy_row(statistics[slot], before)
            marginals[slot] = together
        else:
            sum_rows(statistics[slot], statistics[slot], block)
            marginals[slot] = log_marginal(family, statistics[slot])
        counts[slot] += length
        count_run(slots, origin, slot, length, following, 1)
        if slot != old:
            n_moved += length
            for t in range(begin, end):
                labels[t] = slot
    return blocks.shape[0], n_moved
