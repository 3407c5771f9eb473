"""One sweep of all kernels for nested partitions with weights."""

from typing import NamedTuple

import numpy as np

from pymc_nrm.generic import kernel
from pymc_nrm.partitions.clusters import State, build_state
from pymc_nrm.samplers.marginal_gibbs import random_items
from pymc_nrm.samplers.nested.blocks_of_items import log_marginals
from pymc_nrm.samplers.nested.component_split_merge import component_split_merge
from pymc_nrm.samplers.nested.franchise import build_franchise, empty_franchise, franchise_values
from pymc_nrm.samplers.nested.item_gibbs import item_gibbs
from pymc_nrm.samplers.nested.level_gibbs import level_gibbs
from pymc_nrm.samplers.nested.seating import seating_gibbs
from pymc_nrm.samplers.nested.table_gibbs import table_gibbs


class Sweep(NamedTuple):
    """Which kernels a sweep runs, in this order.

    Parameters
    ----------
    items, tables, seats, levels : bool
    components : int
        Number of splits or merges of components.
    """

    items: bool = True
    tables: bool = True
    seats: bool = True
    levels: bool = True
    components: int = 4


@kernel
def log_density(components, family, data):
    """Log density of the data given the components of the items."""
    return log_marginals(build_state(components, family, data), family).sum()


@kernel
def sequential_start(rng, n, levels, gammas, family, data):
    """A value for the start of a chain: items come in random order, each drawn given those before it.

    Returns
    -------
    ndarray of int64, shape (n, 2 depth + 1)
    """
    empty = build_state(np.zeros(0, dtype=np.int64), family, data)
    labels = np.zeros(n, dtype=np.int64)
    state = State(labels, empty.counts, empty.statistics, empty.cache, empty.active, empty.position, empty.size)
    franchise = empty_franchise(gammas.shape[0], n)
    item_gibbs(rng, franchise, state, levels, gammas, family, data, random_items(rng, n, n), False)
    return franchise_values(franchise)


@kernel
def sweep(rng, values, levels, gammas, family, data, kernels):
    """Run each of some kernels once over the whole state; it leaves the posterior invariant.

    Parameters
    ----------
    rng : numpy.random.Generator
    values : ndarray of int64, shape (n, 2 depth + 1)
    levels : Levels
    gammas : ndarray of float64, shape (depth + 1,)
    family, data : NamedTuple
    kernels : Sweep

    Returns
    -------
    values : ndarray of int64, shape (n, 2 depth + 1)
    log_likelihood : float
        Log density of the data given the components.
    """
    n = values.shape[0]
    components = values[:, values.shape[1] - 1].copy()
    state = build_state(components, family, data)
    franchise = build_franchise(values, components)
    if kernels.items:
        state = item_gibbs(rng, franchise, state, levels, gammas, family, data, random_items(rng, n, n), True)
    if kernels.tables:
        state = table_gibbs(rng, franchise, state, levels, gammas, family, data)
    if kernels.seats:
        state = seating_gibbs(rng, franchise, state, gammas, family, data)
    if kernels.levels:
        level_gibbs(rng, franchise, levels, gammas)
    if n > 1:
        for _ in range(kernels.components):
            franchise, state = component_split_merge(rng, franchise, state, gammas, family, data)
    return franchise_values(franchise), log_marginals(state, family).sum()
