"""Marginal Gibbs sampling: every item is moved, one at a time, given all others."""

import math

import numpy as np

from pymc_nrm.checks import check_count
from pymc_nrm.families.base import log_predictive, log_predictive_without, update_cache
from pymc_nrm.generic import kernel, precompile
from pymc_nrm.partitions import attach, close_slot, grow, open_slot
from pymc_nrm.samplers.base import PartitionStep


@kernel
def random_items(rng, n, n_items):
    """``n_items`` different items of n in uniformly random order, shape (n_items,)."""
    order = np.arange(n)
    for i in range(n_items):
        j = i + int(rng.random() * (n - i))
        order[i], order[j] = order[j], order[i]
    return order[:n_items]


@kernel
def gibbs_sweep(rng, state, weights, family, data, items):
    """Redraw the cluster of each of the given items, in their order.

    Leaves the target given u invariant for any fixed ``items``, and hence for random ones drawn without looking at the
    partition; irreducible when the items are all of them (Neal 2000, algorithm 3; Favaro & Teh 2013, section 4.1).

    Returns
    -------
    state : State
    n_moved : int
        How many items changed their cluster.
    """
    n_done, n_moved = 0, 0
    while n_done < items.shape[0]:
        state = grow(state, family)
        n_done, moved = _sweep_while_room(rng, state, weights, family, data, items, n_done)
        n_moved += moved
    return state, n_moved


@kernel
def _sweep_while_room(rng, state, weights, family, data, items, start):
    """Gibbs updates of ``items[start:]`` until the last empty slot but one is taken; how far it came, how many moved.

    Arrays that never change identity inside the loop stay in registers: growing here would cost a quarter of the speed.
    """
    labels, counts, active, size = state.labels, state.counts, state.active, state.size
    statistics, cache, join = state.statistics, state.cache, weights.join
    capacity = counts.shape[0]
    log_weights = np.empty(capacity)
    n_moved = 0
    for index in range(start, items.shape[0]):
        if size[0] + 2 > capacity:
            return index, n_moved
        item = items[index]
        old = labels[item]
        alone = counts[old] == 1
        # Most items stay where they were: then nothing needs to be taken out and put back.
        own = math.nan if alone else log_predictive_without(family, statistics[old], cache[old], data, item)
        inside = not math.isnan(own)
        if alone:
            close_slot(state, old)
        elif not inside:
            counts[old] -= 1
            update_cache(family, statistics[old], cache[old], data, item, -1.0)
        n_clusters = size[0]
        # The entry behind the occupied slots is an empty one, of weight join[0]: the new cluster.
        highest = -np.inf
        for k in range(n_clusters + 1):
            slot = active[k]
            if inside and slot == old:
                value = join[counts[slot] - 1] + own
            else:
                value = join[counts[slot]] + log_predictive(family, cache[slot], data, item)
            log_weights[k] = value
            if value > highest:
                highest = value
        # Weights below exp(-40) of the highest are lost to rounding in any case.
        total = 0.0
        for k in range(n_clusters + 1):
            if log_weights[k] > highest - 40.0:
                total += math.exp(log_weights[k] - highest)
            log_weights[k] = total
        threshold = rng.random() * total
        chosen = 0
        while chosen < n_clusters and log_weights[chosen] <= threshold:
            chosen += 1
        slot = active[chosen]
        if chosen == n_clusters:
            n_moved += not alone
        else:
            n_moved += slot != old or alone
        if inside:
            if slot == old:
                continue
            counts[old] -= 1
            update_cache(family, statistics[old], cache[old], data, item, -1.0)
        if chosen == n_clusters:
            open_slot(state)
        attach(state, item, slot, family, data)
    return items.shape[0], n_moved


class MarginalGibbs(PartitionStep):
    """Gibbs sampling of a partition, one item at a time, component parameters integrated out.

    Leaves the posterior invariant.  A full sweep is irreducible; so are sweeps over random subsets.

    Parameters
    ----------
    vars : list of Partition
    n_items : int, optional
        Number of items to move per draw, chosen anew at random without regard to the partition; all by default.
    **kwargs
        ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step.

    Raises
    ------
    ValueError
        If ``n_items`` is not between 1 and the number of items, or something in the model uses the labels in a way that
        the step does not understand.

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

    def __init__(self, vars=None, *, n_items=None, **kwargs):
        super().__init__(vars, options={"n_items": n_items}, **kwargs)

    def check_options(self, n):
        """Check the options against the number of items."""
        if self.options["n_items"] is not None:
            check_count("n_items", self.options["n_items"], 1, n)

    def precompile_moves(self, state, table, family, data):
        """Compile the kernels for the types at hand."""
        precompile(random_items, self.rng, 2, 1)
        precompile(gibbs_sweep, self.rng, state, table, family, data, state.labels)

    def moves(self, state, table, family, data):
        """One sweep; the new state and the statistics of the moves."""
        n = len(state.labels)
        items = random_items(self.rng, n, self.options["n_items"] or n)
        state, n_moved = gibbs_sweep(self.rng, state, table, family, data, items)
        return state, {"n_moved": n_moved}
