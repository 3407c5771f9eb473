"""One sweep of all kernels for nested partitions with weights, random trees and known paths."""

from typing import NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.moves.nested.component_split_merge import component_split_merge
from pymc_nrm.moves.nested.franchise import build_franchise, franchise_values, redraw_tables
from pymc_nrm.moves.nested.item_gibbs import franchise_without_items, item_gibbs
from pymc_nrm.moves.nested.level_gibbs import level_gibbs
from pymc_nrm.moves.nested.table_gibbs import log_marginals, seating_gibbs, table_gibbs
from pymc_nrm.partitions.clusters import build_state, empty_state
from pymc_nrm.partitions.nested_laws.levels import KnownPaths, Levels


class Sweep(NamedTuple):
    """Which kernels a sweep runs, in this order."""

    items: bool = True
    # tables, levels: Kernels that change nodes, so that they run in random trees only.
    tables: bool = True
    seats: bool = True
    levels: bool = True
    # Number of splits or merges of components.
    components: int = 4
    # Whether all tables are redrawn given the components; it gains nothing in random trees and runs for known paths
    # only.
    arrangement: bool = True


@kernel
def log_density(components, family, data):
    """Log density of the data given the components of the items."""
    return log_marginals(build_state(components, family, data), family).sum()


@kernel
def sequential_start(rng, n, levels, gammas, family, data):
    """A value for the start of a chain: items come in random order, each drawn given those before it. Shapes: returns
    (n, 2 depth + 1).
    """
    state = empty_state(np.zeros(n, dtype=np.int64), 8, family)
    franchise = franchise_without_items(levels, gammas.shape[0], n)
    item_gibbs(rng, franchise, state, levels, gammas, family, data, random_items(rng, n, n), False)
    return franchise_values(franchise)


@generic
def _update_tables(levels, rng, franchise, state, gammas, family, data, kernels):
    return seating_gibbs(rng, franchise, state, gammas, family, data) if kernels.seats else state


@_update_tables.register(Levels)
def _update_tables_and_nodes(levels, rng, franchise, state, gammas, family, data, kernels):
    if kernels.tables:
        state = table_gibbs(rng, franchise, state, levels, gammas, family, data)
    if kernels.seats:
        state = seating_gibbs(rng, franchise, state, gammas, family, data)
    if kernels.levels:
        level_gibbs(rng, franchise, levels, gammas)
    return state


@generic
def _update_arrangement(levels, rng, values, gammas):
    pass


@_update_arrangement.register(KnownPaths)
def _update_arrangement_of_known_paths(levels, rng, values, gammas):
    redraw_tables(rng, values, gammas)


@kernel
def sweep(rng, values, levels, gammas, family, data, kernels):
    """Run each of some kernels once over the whole state, and leave the posterior invariant; known paths stay. Returns
    the log density of the data given the components. Shapes: ``values`` (n, 2 depth + 1), ``gammas`` (depth + 1,);
    returns ``values`` (n, 2 depth + 1).
    """
    n = values.shape[0]
    components = values[:, values.shape[1] - 1].copy()
    state = build_state(components, family, data)
    franchise = build_franchise(values, components)
    if kernels.items:
        state = item_gibbs(rng, franchise, state, levels, gammas, family, data, random_items(rng, n, n), True)
    state = _update_tables(levels, rng, franchise, state, gammas, family, data, kernels)
    if n > 1:
        for _ in range(kernels.components):
            franchise, state = component_split_merge(rng, franchise, state, gammas, family, data)
    values = franchise_values(franchise)
    if kernels.arrangement:
        _update_arrangement(levels, rng, values, gammas)
    return values, log_marginals(state, family).sum()
