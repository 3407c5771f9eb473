"""One sweep of the published sampler: weights and parameters, then all items, then tables for the value."""

from typing import NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.partitions.clusters import build_state, ordered_labels
from pymc_nrm.partitions.labels import canonical_columns
from pymc_nrm.partitions.nested_laws.forward import members
from pymc_nrm.published.huang.item_moves import move_item
from pymc_nrm.published.huang.node_measures import (
    customer_counts,
    draw_measures,
    item_counts,
    open_component,
    with_room,
)
from pymc_nrm.samplers.marginal_gibbs import random_items
from pymc_nrm.samplers.nested.franchise import build_franchise
from pymc_nrm.samplers.nested.sweep import log_density


class Repairs(NamedTuple):
    """What a sweep does otherwise than published; with all three it leaves the posterior invariant."""

    # Whether weights are drawn given customers, that is items at leaves and tables of the children elsewhere; as
    # published (eqs. 7 and 8), given items at all nodes.
    counts_customers: bool = False
    # Whether a new component counts as chosen at the nodes of the path, so that its share of the remainder has a
    # parameter larger by 1.
    counts_picks: bool = False
    # Whether a component whose only item is taken out is forgotten before the item moves.
    drops_singletons: bool = False


@kernel
def draw_values(rng, franchise, state, weight, gammas, leaf):
    """Draw tables given paths, components and weights; return a value, shape (n, 2 depth + 1).

    Customers of a node with one component are seated by a Chinese restaurant process whose concentration is gamma times
    the weight of the component in the parent, from the leaves to level 1 (Teh, Jordan, Beal & Blei 2006). Shapes:
    ``weight`` (depth + 1, n, capacity), ``gammas`` (depth + 1,), ``leaf`` (n,).
    """
    n, depth, capacity = leaf.shape[0], gammas.shape[0] - 1, state.counts.shape[0]
    nodes, values = franchise.nodes, np.empty((leaf.shape[0], 2 * gammas.shape[0] - 1), dtype=np.int64)
    # A customer is known by one of its items; nodes of the customers climb with the levels.
    customers, places, own = np.arange(n), leaf.copy(), np.arange(n)
    for level in range(depth, 0, -1):
        rooms = places * capacity + state.labels[customers]
        start, order = members(rooms, n * capacity)
        groups = np.empty(customers.shape[0], dtype=np.int64)
        first = np.empty(customers.shape[0], dtype=np.int64)
        n_groups = 0
        for j in range(customers.shape[0]):
            room = rooms[order[j]]
            seated = j - start[room]
            above = nodes.above[level, room // capacity]
            a = gammas[level] * weight[level - 1, above, room % capacity]
            if seated == 0 or rng.random() * (seated + a) < a:
                groups[order[j]] = n_groups
                first[n_groups] = order[j]
                n_groups += 1
            else:
                groups[order[j]] = groups[order[start[room] + int(rng.random() * seated)]]
        for i in range(n):
            own[i] = groups[own[i]]
            values[i, 2 * depth - level] = own[i]
        above = np.empty(n_groups, dtype=np.int64)
        for group in range(n_groups):
            above[group] = nodes.above[level, places[first[group]]]
        customers, places = customers[first[:n_groups]], above
    values[:, 2 * depth] = ordered_labels(state)
    for i in range(n):
        node = leaf[i]
        for level in range(depth, 0, -1):
            values[i, level - 1] = node
            node = nodes.above[level, node]
    canonical_columns(values, n)
    return values


@kernel
def published_sweep(rng, values, levels, gammas, family, data, repairs, truncation):
    """Algorithm 2 of Huang et al. (2020), as published or with some of its errors repaired.

    As published it does not leave the posterior invariant.  With all repairs and no truncation it does, and alone it is
    irreducible: each of its parts is a draw from a full conditional, or a Metropolis-Hastings update, of a law that
    weights, parameters and tables complete.  Nothing but the value passes from one sweep to the next. Returns the log
    density of the data given the components, and the number of paths that were accepted. Shapes: ``values`` (n, 2 depth
    + 1), ``gammas`` (depth + 1,); returns ``values`` (n, 2 depth + 1).
    """
    n, depth = values.shape[0], gammas.shape[0] - 1
    components = values[:, 2 * depth].copy()
    state = build_state(components, family, data)
    franchise = build_franchise(values, components)
    leaf = np.empty(n, dtype=np.int64)
    for i in range(n):
        leaf[i] = franchise.host[depth, franchise.seat[i]]
    counts = np.zeros((depth + 1, n, state.counts.shape[0]))
    if repairs.counts_customers:
        customer_counts(franchise, counts)
    else:
        item_counts(franchise.nodes, leaf, components, counts)
    measures = draw_measures(rng, franchise, state, gammas, counts, family)
    nowhere = np.full(depth + 1, -1, dtype=np.int64)
    while measures.remainder[0, 0] >= truncation:
        check_signals()
        state, measures = with_room(state, measures, family)
        open_component(rng, franchise, state, measures, gammas, family, data, -1, nowhere)
    n_accepted = 0
    for item in random_items(rng, n, n):
        check_signals()
        state, measures, is_accepted = move_item(
            rng, franchise, state, measures, levels, gammas, family, data, leaf, item, repairs
        )
        n_accepted += is_accepted
    values = draw_values(rng, franchise, state, measures.weight, gammas, leaf)
    return values, log_density(values[:, 2 * depth].copy(), family, data), n_accepted
