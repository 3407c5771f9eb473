"""Splits and merges of components with the tree fixed: all seats of one or two components are redrawn."""

import math

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.moves.gibbs import random_items
from pymc_nrm.moves.split_merge import draw_pair
from pymc_nrm.nested.moves.franchise import Blocks, Franchise, remove_customer, seat_customer
from pymc_nrm.nested.moves.table_gibbs import draw_seat, path_weights
from pymc_nrm.partitions.clusters import attach, close_slot, copied_state, grow, open_slot


@kernel
def component_split_merge(rng, franchise, state, gammas, family, data):
    """Split a component in two or merge two, by Metropolis-Hastings with two uniformly drawn anchors.

    All items of the components of the anchors leave their tables and return one by one, the anchors first, the others
    in random order, each to its leaf.  In a split each anchor opens a component, and every other item draws its seat
    among the seats that serve either; in a merge all items join the component of the first anchor::

        before    first, second in one component          first, second in two
        proposal  first -> a, second -> b, others a or b   first, second and others -> a

    The target is a product of prediction rules, in any order of the items.  With the weight w of the drawn seat and the
    sum s of the weights of all allowed seats, an item contributes w to the target and w / s to the probability of the
    proposal.  The acceptance ratio is therefore the product of the sums of the proposal, divided by the product of the
    sums when the same order of items takes the old seats.

    The move leaves the posterior invariant.  Alone it is not irreducible: the tree stays as it is.
    """
    state = grow(state, family)
    labels = state.labels
    first, second = draw_pair(rng, labels.shape[0])
    slot, other = labels[first], labels[second]
    items = _items_of(rng, state, first, second)
    paths, old = _seats_of(franchise, items)
    depth = old.shape[1] - 1
    for k in range(items.shape[0]):
        remove_customer(franchise, paths[k, depth], depth, old[k, depth])
    state.counts[slot] = 0
    close_slot(state, slot)
    merging = slot != other
    if merging:
        state.counts[other] = 0
        close_slot(state, other)
    proposed, components = _copied(franchise), copied_state(state, labels.copy(), state.counts.shape[0], family)
    free = np.empty((0, depth + 1), dtype=np.int64)
    old_sums = _seat_items(rng, franchise, state, gammas, family, data, items, paths, old, not merging)
    new_sums = _seat_items(rng, proposed, components, gammas, family, data, items, paths, free, merging)
    if math.log(rng.random()) < new_sums - old_sums:
        return proposed, components
    return franchise, state


@kernel
def _items_of(rng, state, first, second):
    """Both anchors, then the other items of their components in random order."""
    labels = state.labels
    n = state.counts[labels[first]] + (state.counts[labels[second]] if labels[first] != labels[second] else 0)
    items = np.empty(n, dtype=np.int64)
    items[0], items[1] = first, second
    others = np.empty(n - 2, dtype=np.int64)
    count = 0
    for item in range(labels.shape[0]):
        is_here = labels[item] == labels[first] or labels[item] == labels[second]
        if is_here and item != first and item != second:
            others[count] = item
            count += 1
    order = random_items(rng, n - 2, n - 2)
    for k in range(n - 2):
        items[k + 2] = others[order[k]]
    return items


@kernel
def _seats_of(franchise, items):
    """Nodes and tables of each item at levels 0 to depth."""
    n_levels = franchise.served.shape[0]
    paths = np.empty((items.shape[0], n_levels), dtype=np.int64)
    old = np.empty_like(paths)
    for k in range(items.shape[0]):
        table = franchise.seat[items[k]]
        for level in range(n_levels - 1, -1, -1):
            paths[k, level], old[k, level] = franchise.host[level, table], table
            table = franchise.tables.above[level, table]
    return paths, old


@kernel
def _copied(franchise):
    """A copy of all arrays that change when customers take seats."""
    tables = franchise.tables
    copied = Blocks(
        tables.active.copy(), tables.position.copy(), tables.size.copy(), tables.above.copy(), tables.count.copy()
    )
    return Franchise(
        franchise.nodes,
        copied,
        franchise.served.copy(),
        franchise.n_children,
        franchise.host.copy(),
        franchise.dish.copy(),
        franchise.seat.copy(),
    )


@kernel
def _seat_items(rng, franchise, state, gammas, family, data, items, paths, old, together):
    """Seat items that are in no component, by draws or at their old seats; return the sum of log sums. Shapes:
    ``items`` (m,), ``paths`` (m, depth + 1), ``old`` (m, depth + 1) or (0, depth + 1).
    """
    depth, n = gammas.shape[0] - 1, franchise.seat.shape[0]
    f, seated = np.zeros(state.counts.shape[0]), np.empty((depth + 1, n))
    # All tables of the components are opened here.
    opened, n_opened = np.empty((depth + 1, n), dtype=np.int64), np.zeros(depth + 1, dtype=np.int64)
    names = np.full((depth + 1, n), -1, dtype=np.int64)
    slots = np.full(2, -1, dtype=np.int64)
    total = 0.0
    for k in range(items.shape[0]):
        if k % 64 == 0:
            check_signals()
        item, leaf = items[k], paths[k, depth]
        opens = k == 0 or (k == 1 and not together)
        if opens:
            slots[k] = open_slot(state)
        largest = -math.inf
        for j in range(2):
            if slots[j] >= 0 and (j == k or not opens):
                f[slots[j]] = log_predictive(family, state.cache[slots[j]], data, item)
                largest = max(largest, f[slots[j]])
        if not -math.inf < largest < math.inf:
            raise ValueError("an item cannot be assigned to any component: all densities are 0, or one is not finite")
        for j in range(2):
            if slots[j] >= 0:
                # No table serves a component that opens, so its item opens tables up to the root.
                f[slots[j]] = 0.0 if opens else math.exp(f[slots[j]] - largest)
        path_weights(franchise, opened, n_opened, gammas, f, 1.0 if opens else 0.0, paths[k], seated)
        total += largest + math.log(seated[depth, leaf])
        joined, at_level = -1, -1
        if not opens and old.shape[0] > 0:
            joined, at_level = _old_seat(names, old[k])
        elif not opens:
            joined, at_level = draw_seat(rng, franchise, opened, n_opened, gammas, f, 0.0, seated, leaf, depth)
        slot = slots[k] if opens else franchise.dish[at_level, joined]
        table = seat_customer(franchise, leaf, depth, joined, at_level, slot)
        franchise.seat[item] = table
        for level in range(depth, -1, -1):
            if old.shape[0] > 0:
                names[level, old[k, level]] = table
            if level > at_level:
                opened[level, n_opened[level]] = table
                n_opened[level] += 1
            table = franchise.tables.above[level, table]
        attach(state, item, slot, family, data)
    return total


@kernel
def _old_seat(names, tables):
    """The first table on the way up that still exists, under its new label, and its level."""
    for level in range(tables.shape[0] - 1, -1, -1):
        if names[level, tables[level]] >= 0:
            return names[level, tables[level]], level
    return -1, -1
