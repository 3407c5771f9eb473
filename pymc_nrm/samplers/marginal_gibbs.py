"""Marginal Gibbs sampling: items move one at a time, given all others."""

import math
from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.fast import (
    add_log_predictives,
    log_predictive_without,
    panel_shape,
    update_cache,
    update_panel,
    write_panel,
)
from pymc_nrm.kernels.generic import kernel, precompile
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.partitions.clusters import attach, close_slot, grow, open_slot
from pymc_nrm.samplers.base import PartitionStep
from pymc_nrm.samplers.panel import draw_column, new_panel

# With at least `_MANY` items, sweeps visit blocks of `_PIECE` neighbours.
_MANY, _PIECE = 20_000, 64


@kernel
def random_items(rng, n, n_items):
    """``n_items`` different items out of n in uniformly random order, shape (n_items,)."""
    order = np.arange(n)
    for i in range(n_items):
        j = i + int(rng.random() * (n - i))
        order[i], order[j] = order[j], order[i]
    return order[:n_items]


@kernel
def scan_order(rng, n, n_items):
    """``n_items`` different items out of n in random order, shape (n_items,).

    If there are many items, blocks of neighbours in memory stay together, since uniformly random order makes the
    processor wait for memory.
    """
    length = 1 if n < _MANY else _PIECE
    n_pieces = (n + length - 1) // length
    items = np.empty(n_items, dtype=np.int64)
    count = 0
    for piece in random_items(rng, n_pieces, n_pieces):
        for item in range(piece * length, min(n, (piece + 1) * length)):
            if count < n_items:
                items[count] = item
                count += 1
    return items


@kernel
def gibbs_sweep(rng, state, weights, family, data, items):
    """Redraw the cluster of each of the given items, in their order.

    It leaves the target given u invariant for any fixed ``items``, and hence for random ones drawn independently of the
    partition.  It is irreducible if ``items`` are all items (Neal 2000, algorithm 3; Favaro & Teh 2013, section 4.1).
    Returns the number of items that changed their cluster.
    """
    n_done, n_moved = 0, 0
    while n_done < items.shape[0]:
        state = grow(state, family)
        n_done, moved = _sweep_while_room(rng, state, weights, family, data, items, n_done)
        n_moved += moved
    return state, n_moved


@kernel(inner_loop=True)
def _sweep_while_room(rng, state, weights, family, data, items, start):
    """Update ``items[start:]`` until one empty slot is left; return the next index and how many items moved.

    Arrays that never change identity inside the loop stay in registers.  Growing them here would cost a quarter of the
    speed.
    """
    labels, counts, active, position, size = state.labels, state.counts, state.active, state.position, state.size
    statistics, cache, join = state.statistics, state.cache, weights.join
    capacity = counts.shape[0]
    has_panel = panel_shape(family)[0] > 0
    panel = new_panel(state, join, family)
    rows, lanes, prior, values = panel.rows, panel.lanes, panel.prior, panel.values
    n_moved = 0
    for index in range(start, items.shape[0]):
        if index % 64 == 0:
            check_signals()
        if size[0] + 2 > capacity:
            return index, n_moved
        item = items[index]
        old = labels[item]
        here = position[old]
        alone = counts[old] == 1
        # Most items stay in their cluster, so do not take them out and put them back.
        own = math.nan if alone else log_predictive_without(family, statistics[old], cache[old], data, item)
        inside = not math.isnan(own)
        if alone:
            # The last cluster moves into the closed one's column, and its own column becomes that of a new cluster.
            close_slot(state, old)
            last = size[0]
            prior[here], prior[last], prior[last + 1] = prior[last], join[0], -np.inf
            if has_panel:
                write_panel(family, cache[active[here]], rows, lanes, here)
                write_panel(family, cache[old], rows, lanes, last)
        elif not inside:
            counts[old] -= 1
            update_cache(family, statistics[old], cache[old], data, item, -1.0)
            prior[here] = join[counts[old]]
            if has_panel:
                update_panel(family, cache[old], rows, lanes, here, data, item)
        n_columns = size[0] + 1
        width = (n_columns + LANES - 1) // LANES * LANES
        if has_panel:
            for k in range(width):
                values[k] = prior[k]
            add_log_predictives(family, rows, lanes, data, item, width, values)
        else:
            for k in range(n_columns):
                values[k] = prior[k] + log_predictive(family, cache[active[k]], data, item)
            for k in range(n_columns, width):
                values[k] = -np.inf
        if inside:
            values[here] = join[counts[old] - 1] + own
        chosen = draw_column(rng, values, n_columns, min(here, size[0]))
        new = chosen == size[0]
        n_moved += not (alone and new) and (alone or chosen != here)
        if inside:
            if chosen == here:
                continue
            counts[old] -= 1
            update_cache(family, statistics[old], cache[old], data, item, -1.0)
            prior[here] = join[counts[old]]
            if has_panel:
                update_panel(family, cache[old], rows, lanes, here, data, item)
        if new:
            open_slot(state)
            prior[size[0]] = join[0]
        slot = active[chosen]
        attach(state, item, slot, family, data)
        prior[chosen] = join[counts[slot]]
        if has_panel:
            update_panel(family, cache[slot], rows, lanes, chosen, data, item)
    return items.shape[0], n_moved


class MarginalGibbs(PartitionStep):
    """Gibbs sampling of a partition, one item at a time, with component parameters integrated out.

    It leaves the posterior invariant.  A full sweep is irreducible, and so are sweeps over random subsets.

    Parameters
    ----------
    vars : list of Partition
    n_items : int, optional
        Number of items to move per draw; by default all.  They are chosen at random for each draw, independently of the
        partition.  With at least 20,000 items, blocks of 64 neighbours in the data are chosen.
    **kwargs
        ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step.

    Raises
    ------
    ValueError
        If ``n_items`` is not between 1 and the number of items, or the model uses the labels in a way that the step
        does not understand.

    References
    ----------
    Neal (2000), "Markov chain sampling methods for Dirichlet process mixture models", algorithm 3; Favaro & Teh (2013),
    "MCMC for normalized random measure mixture models", section 4.1.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     step = nrm.MarginalGibbs([z])
    """

    name = "marginal_gibbs"
    stats_dtypes_shapes = {**PartitionStep.common_stats, "n_moved": (np.int64, [])}

    def __init__(self, vars: Any = None, *, n_items: int | None = None, **kwargs: Any) -> None:
        super().__init__(vars, options={"n_items": n_items}, **kwargs)

    def check_options(self, n):
        """Check the options against the number of items."""
        if self.options["n_items"] is not None:
            check_count("n_items", self.options["n_items"], 1, n)

    def precompile_moves(self, state, table, family, data):
        """Compile the kernels for the types of the arguments."""
        precompile(scan_order, self.rng, 2, 1)
        precompile(gibbs_sweep, self.rng, state, table, family, data, state.labels)

    def moves(self, state, table, family, data):
        """Do one sweep; return the new state and the statistics of the moves."""
        n = len(state.labels)
        items = scan_order(self.rng, n, self.options["n_items"] or n)
        state, n_moved = gibbs_sweep(self.rng, state, table, family, data, items)
        return state, {"n_moved": n_moved}
