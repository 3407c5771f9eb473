"""Local search for the nested partitions with the least expected sum over levels of a loss.

The loss of a level depends on its partition alone, so that every level has its own tables, see
:mod:`pymc_nrm.stats.search`.  What couples the levels is that they are nested: a move takes a set of items off the
levels 1, ..., l at once and puts it on the best path from the root to level l, through nodes that exist and, from some
level on, new ones.  Below level l its items stay together, so that the set must be a union of nodes of level l + 1.
"""

import numpy as np

from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.stats.contingency import as_labels
from pymc_nrm.stats.search import TOLERANCE, put, started, take, total_loss, with_room


@kernel
def block_costs(tables, candidate, items, marks, costs):
    """Write the change of a linear loss if items that are left out all join each slot, the last one an empty slot.

    ``marks`` has a zero for each row of the tables; ``costs`` has room for one slot more than there are.
    """
    table, extent = tables.table, candidate.extent[0]
    n_draws = tables.rows.shape[1]
    touched = np.empty(items.shape[0], dtype=np.int64)
    for slot in range(extent + 1):
        costs[slot] = 0.0
    for s in range(n_draws):
        check_signals()
        n_touched = 0
        for item in items:
            row = tables.rows[item, s]
            if marks[row] == 0:
                touched[n_touched] = row
                n_touched += 1
            marks[row] += 1
        for k in range(n_touched):
            row = touched[k]
            more = marks[row]
            marks[row] = 0
            for slot in range(extent):
                count = tables.counts[row, slot]
                costs[slot] += table[count + more] - table[count]
            costs[extent] += table[more]
    for slot in range(extent + 1):
        size = candidate.sizes[slot] if slot < extent else 0
        costs[slot] *= tables.coefficients[1] / n_draws
        costs[slot] += tables.coefficients[0] * (table[size + items.shape[0]] - table[size])


@kernel
def move_all(tables, candidate, items, slot):
    """Put items that are left out into a slot; leave them out if it is -1."""
    for item in items:
        if slot < 0:
            take(tables, candidate, item)
        else:
            put(tables, candidate, item, slot)


class NestedSearch:
    """Nested partitions that a local search changes, of at most so many nodes at each level."""

    def __init__(self, tables, rows, limits):
        n_levels, n = rows.shape
        self.n, self.n_levels, self._limits = n, n_levels, limits
        placed = [started(level_tables, row) for level_tables, row in zip(tables, rows, strict=True)]
        self._tables, self._candidates = map(list, zip(*placed, strict=True))
        self._marks = [np.zeros(len(level_tables.counts), dtype=np.int32) for level_tables in tables]
        self._costs = np.zeros(n + 2)

    def labels(self):
        """Labels of each level in order of appearance, shape (L, n)."""
        return as_labels("labels", np.stack([candidate.labels for candidate in self._candidates])).astype(np.int64)

    def improve(self, rng, max_sweeps):
        """Move nodes and items until none moves, then dissolve nodes, and again, until nothing is better."""
        for _ in range(max_sweeps):
            n_moved = 0
            for level in range(self.n_levels):
                for items in self._nodes(level, rng):
                    if len(items) < self.n:
                        n_moved += self.move(items, level + 1)
            for item in rng.permutation(self.n):
                n_moved += self.move(np.array([item]), self.n_levels)
            if n_moved == 0:
                for level in range(self.n_levels):
                    n_moved += sum(self.dissolve(rng, items, level) for items in self._nodes(level, rng))
            if n_moved == 0:
                return

    def _nodes(self, level, rng):
        """Items of each node of a level as they are when their turn comes, in random order."""
        candidate = self._candidates[level]
        for slot in rng.permutation(np.flatnonzero(candidate.sizes)):
            items = np.flatnonzero(candidate.labels == slot)
            if len(items):
                yield items

    def move(self, items, n_levels):
        """Move items together to the best path of levels 1, ..., `n_levels`; return whether they moved."""
        own_path = [int(self._candidates[level].labels[items[0]]) for level in range(n_levels)]
        self._take(items, n_levels)
        path, least, stay = self._weigh(items, own_path)
        moved = least < stay - TOLERANCE
        self._put(items, path if moved else own_path)
        return moved

    def dissolve(self, rng, items, level):
        """Take the parts of a node out, put them back one by one on their best paths, and keep what is better.

        Parts are the nodes of the next level, or items.  Return whether the partitions are better.
        """
        n_levels = level + 1
        names = self._candidates[n_levels].labels[items] if n_levels < self.n_levels else items
        parts = [items[names == name] for name in rng.permutation(np.unique(names))]
        if len(parts) == 1:
            return False
        own_paths = [[int(candidate.labels[part[0]]) for candidate in self._candidates[:n_levels]] for part in parts]
        before = self._loss(n_levels)
        self._take(items, n_levels)
        for part in parts:
            self._put(part, self._weigh(part, [-1] * n_levels)[0])
        better = self._loss(n_levels) < before - TOLERANCE
        if not better:
            self._take(items, n_levels)
            for part, path in zip(parts, own_paths, strict=True):
                self._put(part, path)
        return better

    def _loss(self, n_levels):
        return sum(total_loss(self._tables[level], self._candidates[level]) for level in range(n_levels))

    def _take(self, items, n_levels):
        for level in range(n_levels):
            move_all(self._tables[level], self._candidates[level], items, -1)

    def _put(self, items, path):
        """Put items that are left out into the slots of a path, -1 for an empty one."""
        for level, slot in enumerate(path):
            candidate = self._candidates[level]
            if slot < 0:
                slot = int(np.flatnonzero(candidate.sizes == 0)[0])
            self._tables[level] = with_room(self._tables[level], slot + 2)
            move_all(self._tables[level], candidate, items, slot)

    def _weigh(self, items, own_path):
        """The best path for items that are left out, its cost, and the cost of their own path."""
        # Costs of the best path to each slot, of new nodes, and of the path on which the items are.
        best, above, stay = np.zeros(1), np.zeros(self.n, dtype=np.int64), 0.0
        alone, chosen = [], []
        for level, slot in enumerate(own_path):
            candidate, tables = self._candidates[level], self._tables[level]
            block_costs(tables, candidate, items, self._marks[level], self._costs)
            extent = int(candidate.extent[0])
            costs = self._costs[: extent + 1].copy()
            occupied = candidate.sizes[:extent] > 0
            parent, placed = np.zeros(extent, dtype=np.int64), candidate.labels >= 0
            parent[candidate.labels[placed]] = above[placed]
            total = np.where(occupied, best[parent] + costs[:extent], np.inf) if extent else np.zeros(0)
            stay += costs[slot] if 0 <= slot < extent and occupied[slot] else costs[extent]
            alone.append(costs[extent] if occupied.sum() < self._limits[level] else np.inf)
            chosen.append((parent, total))
            best, above = total, np.maximum(candidate.labels, 0)
        return *self._best_path(chosen, np.array(alone)), stay

    @staticmethod
    def _best_path(chosen, alone):
        """Slots of the path with the least cost, -1 for new nodes, and its cost."""
        n_levels = len(alone)
        # Cost of new nodes at the levels after the first k.
        new = np.concatenate([np.cumsum(alone[::-1])[::-1], [0.0]])
        least, end = new[0], (0, -1)
        for k, (_, total) in enumerate(chosen, start=1):
            if len(total) and total.min() + new[k] < least:
                least, end = total.min() + new[k], (k, int(total.argmin()))
        path, (k, slot) = [-1] * n_levels, end
        while k > 0:
            path[k - 1] = slot
            slot = int(chosen[k - 1][0][slot])
            k -= 1
        return path, least
