"""Search for the partition with the least expected loss: sequential allocation, sweeps, dissolving of clusters.

This is the search of Dahl, Johnson & Mueller (2022), "Search algorithms and loss functions for Bayesian clustering", on
contingency tables of the candidate with each draw.  A loss is linear if its expectation is, up to a constant, a sum of
costs over clusters and cells of these tables.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import shuffle
from pymc_nrm.stats.contingency import order_by_cluster

LINEAR, NORMALIZED_INFORMATION, ADJUSTED_RAND = 0, 1, 2

# Smaller changes of n times the expected loss are rounding errors.
TOLERANCE = 1e-7


class Candidate(NamedTuple):
    """The partition that the search changes; unlike a draw, it may leave items out."""

    # Slot of each item, -1 if left out; int64 of shape (n,).
    labels: Any
    # Number of items of each slot; int64 of shape (n + 2,).
    sizes: Any
    # One plus the number of the last occupied slot, and the number of clusters; int64 of shape (2,).
    extent: Any


class DrawTables(NamedTuple):
    """Contingency tables of the candidate with each draw, and what one more item in a cell changes.

    A row stands for a cluster of a draw, a column for a slot of the candidate.  There is room for a limited number of
    slots; :func:`with_room` adds more.
    """

    # Row of the cluster of item i in draw s; int32 of shape (n, S).
    rows: Any
    # Entries of the contingency tables; R is the number of clusters of all draws together; int32 of shape (R, room).
    counts: Any
    # `table[counts + 1] - table[counts]`, which are numbers of float32; float32 of shape (R, room).
    gains: Any
    # Sum of `table` over the cells of each draw; float64 of shape (S,).
    cells: Any
    # Sum of `table` over the clusters of each draw; float64 of shape (S,).
    margins: Any
    # Float64 of shape (n + 2,).
    table: Any
    # Coefficients in the linear loss: of the sum over clusters of the candidate, and of the mean over draws of the sums
    # over cells.  Losses that are ratios also have a linear loss, for partitions that leave items out.
    coefficients: Any
    # `LINEAR`, `NORMALIZED_INFORMATION` or `ADJUSTED_RAND`.
    ratio: Any


@kernel
def join_costs(tables, candidate, item, costs):
    """Write the change of the linear loss if an item, first taken out, joins each slot; 0 for an empty slot."""
    rows, table = tables.rows[item], tables.table
    extent, own_slot = candidate.extent[0], candidate.labels[item]
    sum_gains(tables.gains, rows, extent, costs)
    if own_slot >= 0:
        costs[own_slot] = 0.0
        for s in range(rows.shape[0]):
            count = tables.counts[rows[s], own_slot]
            costs[own_slot] += table[count] - table[count - 1]
    for slot in range(extent):
        size = candidate.sizes[slot] - (slot == own_slot)
        costs[slot] *= tables.coefficients[1] / rows.shape[0]
        costs[slot] += tables.coefficients[0] * (table[size + 1] - table[size])
    costs[extent] = 0.0


@kernel
def sum_gains(gains, rows, extent, sums):
    """Sum the gains of each slot over draws, for the rows of one item."""
    for slot in range(extent + 1):
        sums[slot] = 0.0
    n_draws = rows.shape[0]
    for s in range(0, n_draws - 3, 4):  # four at a time: sums are read and written less often
        a, b, c, d = gains[rows[s]], gains[rows[s + 1]], gains[rows[s + 2]], gains[rows[s + 3]]
        for slot in range(extent):
            sums[slot] = sums[slot] + a[slot] + b[slot] + c[slot] + d[slot]  # all in float64
    for s in range(n_draws - n_draws % 4, n_draws):
        gain = gains[rows[s]]
        for slot in range(extent):
            sums[slot] += gain[slot]


@kernel
def ratio_losses(tables, candidate, item, losses):
    """Write ``n`` times the expected loss with the item in each slot, for losses that are ratios."""
    rows, table = tables.rows[item], tables.table
    extent, own_slot = candidate.extent[0], candidate.labels[item]
    n, n_draws = tables.rows.shape
    clusters = 0.0
    for slot in range(extent):
        clusters += table[candidate.sizes[slot] - (slot == own_slot)]
    joined = np.empty(extent + 1)
    for slot in range(extent + 1):
        size = candidate.sizes[slot] - (slot == own_slot)
        joined[slot] = clusters + table[size + 1] - table[size]
        losses[slot] = 0.0
    stay = 0.0
    for s in range(n_draws):
        row = rows[s]
        count = tables.counts[row, own_slot]
        margin, gain = tables.margins[s], tables.gains[row]
        # The draw without the item.
        cells = tables.cells[s] - (table[count] - table[count - 1])
        if tables.ratio == NORMALIZED_INFORMATION:
            for slot in range(extent + 1):
                losses[slot] += normalized_information(joined[slot], margin, cells + gain[slot], table[n])
            stay += normalized_information(joined[own_slot], margin, tables.cells[s], table[n])
        else:
            for slot in range(extent + 1):
                losses[slot] += adjusted_rand_loss(joined[slot], margin, cells + gain[slot], table[n])
            stay += adjusted_rand_loss(joined[own_slot], margin, tables.cells[s], table[n])
    # The gains of the item's own slot were computed with the item in it.
    losses[own_slot] = stay
    for slot in range(extent + 1):
        losses[slot] *= n / n_draws


@kernel
def item_losses(tables, candidate, item, costs):
    """Write the loss, up to a constant, with the item in each slot; no other item may be left out."""
    if tables.ratio == LINEAR:
        join_costs(tables, candidate, item, costs)
    else:
        ratio_losses(tables, candidate, item, costs)


@kernel
def count_item(tables, item, slot, sign):
    """Add an item to a slot of the tables (``sign`` 1), or take it out (-1)."""
    rows, table = tables.rows[item], tables.table
    for s in range(rows.shape[0]):
        row = rows[s]
        before = tables.counts[row, slot]
        after = before + sign
        tables.counts[row, slot] = after
        tables.gains[row, slot] = table[after + 1] - table[after]
        tables.cells[s] += table[after] - table[before]


@kernel
def with_room(tables, extent):
    """Return tables with room for at least ``extent`` slots: the same ones, or larger copies."""
    n_rows, room = tables.counts.shape
    if extent <= room:
        return tables
    counts = np.zeros((n_rows, extent + 16), dtype=np.int32)
    gains = np.zeros((n_rows, extent + 16), dtype=np.float32)  # of empty cells: the table begins with two zeros
    # Plain loops compile many times faster than assignments of slices.
    for row in range(n_rows):
        for slot in range(room):
            counts[row, slot] = tables.counts[row, slot]
            gains[row, slot] = tables.gains[row, slot]
    return DrawTables(
        tables.rows, counts, gains, tables.cells, tables.margins, tables.table, tables.coefficients, tables.ratio
    )


@kernel
def total_loss(tables, candidate):
    """Loss of the candidate, up to a constant."""
    n, n_draws = tables.rows.shape
    clusters, total = 0.0, 0.0
    for slot in range(candidate.extent[0]):
        clusters += tables.table[candidate.sizes[slot]]
    for s in range(n_draws):
        cells, margin = tables.cells[s], tables.margins[s]
        if tables.ratio == LINEAR:
            total += tables.coefficients[1] * cells
        elif tables.ratio == NORMALIZED_INFORMATION:
            total += n * normalized_information(clusters, margin, cells, tables.table[n])
        else:
            total += n * adjusted_rand_loss(clusters, margin, cells, tables.table[n])
    total /= n_draws
    return total + tables.coefficients[0] * clusters if tables.ratio == LINEAR else total


@kernel
def normalized_information(clusters, margin, cells, whole):
    """Normalised variation of information from sums of x log x; ``whole`` is n log n."""
    joint = whole - cells
    # The smallest positive value is 2, for n = 2: smaller ones are rounding errors.
    return (clusters + margin - 2.0 * cells) / joint if joint > 0.5 else 0.0


@kernel
def adjusted_rand_loss(clusters, margin, cells, whole):
    """One minus the adjusted Rand index from numbers of pairs; ``whole`` is the number of all pairs."""
    mean = (clusters + margin) / 2.0
    range_ = mean - clusters * margin / whole
    # It is at least 1/2, or 0 if both partitions have one cluster or both have n.
    return (mean - cells) / range_ if range_ > 0.25 else 0.0


@kernel
def order_of_visits(rng, candidate):
    """Items in a random order, items of one cluster side by side, since they share most rows of the tables."""
    n = candidate.labels.shape[0]
    items, slots = np.arange(n), np.arange(candidate.extent[0])
    shuffle(rng, items)
    shuffle(rng, slots)
    places, start = np.empty(n, dtype=np.int64), np.empty(slots.shape[0] + 1, dtype=np.int64)
    order_by_cluster(slots[candidate.labels[items]], places, start)
    return items[places]


@kernel
def members(labels, slot):
    """Items with a given label, in order."""
    items = np.empty(labels.shape[0], dtype=np.int64)
    n_items = 0
    for item in range(labels.shape[0]):
        if labels[item] == slot:
            items[n_items] = item
            n_items += 1
    return items[:n_items].copy()


@kernel
def put(tables, candidate, item, slot):
    """Put an item that is left out into a slot."""
    count_item(tables, item, slot, 1)
    candidate.labels[item] = slot
    candidate.sizes[slot] += 1
    candidate.extent[0] = max(candidate.extent[0], slot + 1)
    candidate.extent[1] += candidate.sizes[slot] == 1


@kernel
def take(tables, candidate, item):
    """Leave an item out."""
    slot = candidate.labels[item]
    count_item(tables, item, slot, -1)
    candidate.labels[item] = -1
    candidate.sizes[slot] -= 1
    candidate.extent[1] -= candidate.sizes[slot] == 0
    while candidate.extent[0] > 0 and candidate.sizes[candidate.extent[0] - 1] == 0:
        candidate.extent[0] -= 1


@kernel
def best_slot(candidate, costs, own_slot, max_clusters):
    """Slot with the least cost for an item; its own slot, if any, unless another is better by more than rounding."""
    n_others = candidate.extent[1]
    if own_slot >= 0 and candidate.sizes[own_slot] == 1:
        n_others -= 1
    best, least = own_slot, np.inf
    if own_slot >= 0:
        least = costs[own_slot] - TOLERANCE
    offered = False
    for slot in range(candidate.extent[0] + 1):
        if slot == own_slot:
            continue
        if candidate.sizes[slot] == 0:
            # Empty slots are alike: the first one stands for all, and an item that is alone needs none.
            if offered or n_others >= max_clusters or (own_slot >= 0 and candidate.sizes[own_slot] == 1):
                continue
            offered = True
        if costs[slot] < least:
            best, least = slot, costs[slot]
    return best


@kernel
def allocate(tables, candidate, items, costs, max_clusters):
    """Put items that are left out, one by one, into the slot with the least linear loss of the items put so far."""
    for item in items:
        check_signals()
        tables = with_room(tables, candidate.extent[0] + 2)
        join_costs(tables, candidate, item, costs)
        put(tables, candidate, item, best_slot(candidate, costs, -1, max_clusters))
    return tables


@kernel
def sweep(rng, tables, candidate, costs, max_clusters, max_sweeps):
    """Move items one by one, cluster after cluster, to their best slots, until none moves."""
    n = candidate.labels.shape[0]
    # All sweeps share one order, so that n visits in a row cover all items.
    items = order_of_visits(rng, candidate)
    unchanged = 0
    for _ in range(max_sweeps):
        for item in items:
            check_signals()
            tables = with_room(tables, candidate.extent[0] + 2)
            own_slot = candidate.labels[item]
            item_losses(tables, candidate, item, costs)
            slot = best_slot(candidate, costs, own_slot, max_clusters)
            unchanged += 1
            if slot != own_slot:
                take(tables, candidate, item)
                put(tables, candidate, item, slot)
                unchanged = 0
            if unchanged >= n:
                return tables
    return tables


@kernel
def dissolve(rng, tables, candidate, costs, max_clusters):
    """Dissolve clusters in random order, allocate their items again, and keep the better partition.

    Return the tables and the number of improvements.
    """
    n_improved = 0
    loss = total_loss(tables, candidate)
    slots = np.arange(candidate.extent[0])
    shuffle(rng, slots)
    for slot in slots:
        check_signals()
        if candidate.sizes[slot] == 0 or candidate.extent[1] == 1:
            continue
        before = candidate.labels.copy()
        items = members(before, slot)
        shuffle(rng, items)
        for item in items:
            check_signals()
            take(tables, candidate, item)
        tables = allocate(tables, candidate, items, costs, max_clusters)
        new_loss = total_loss(tables, candidate)
        if new_loss < loss - TOLERANCE:
            loss = new_loss
            n_improved += 1
        else:
            for item in items:
                check_signals()
                if candidate.labels[item] != before[item]:
                    take(tables, candidate, item)
                    put(tables, candidate, item, before[item])
    return tables, n_improved


@kernel
def place(tables, candidate, labels):
    """Put every item whose label is not -1 into the slot of that number."""
    tables = with_room(tables, labels.max() + 1)
    for item in range(labels.shape[0]):
        if item % 64 == 0:
            check_signals()
        if labels[item] >= 0:
            put(tables, candidate, item, labels[item])
    return tables


def started(tables, labels):
    """Tables and a candidate with every item in the slot of its label, or left out if that is -1."""
    n = len(labels)
    candidate = Candidate(np.full(n, -1), np.zeros(n + 2, dtype=np.int64), np.zeros(2, dtype=np.int64))
    # All other arrays that change are replaced by larger ones first.
    return place(tables._replace(cells=np.zeros_like(tables.cells)), candidate, labels), candidate


def search(rng, labels, tables, max_clusters, max_sweeps, max_zealous):
    """Search locally, from a partition or from scratch. Labels are in any order."""
    costs = np.zeros(len(labels) + 2)
    # These calls stay in Python: one kernel around them would take as long to compile as all the others.
    tables, candidate = started(tables, labels)
    tables = allocate(tables, candidate, rng.permutation(np.flatnonzero(labels < 0)), costs, max_clusters)
    tables = sweep(rng, tables, candidate, costs, max_clusters, max_sweeps)
    for _ in range(max_zealous):
        tables, n_improved = dissolve(rng, tables, candidate, costs, max_clusters)
        if n_improved == 0:
            break
        tables = sweep(rng, tables, candidate, costs, max_clusters, max_sweeps)
    return candidate.labels
