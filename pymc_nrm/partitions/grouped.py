"""Several rows of data for each item: an item has the data of all its rows.

Kernels see items, or groups of items that stay together, instead of rows, and :class:`Grouped` instead of the family of
rows.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families import base, components, fast, features
from pymc_nrm.families.counted import Counted
from pymc_nrm.families.erased.shared_kernel import erase
from pymc_nrm.kernels.special import copy_row


class GroupedRows(NamedTuple):
    """Data of a kernel in which the items are groups of rows, some of which may be empty."""

    # Data of the rows.
    rows: Any
    # Rows sorted by item, of shape (n_rows,); item i has rows ``members[start[i] : start[i + 1]]``.
    start: Any
    members: Any

    @property
    def items(self):
        """Item of each row."""
        items = np.empty(len(self.members), dtype=np.int64)
        items[self.members] = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return items

    def features(self, rng):
        """Means over the rows of each item, 0 without rows."""
        values = features.features(self.rows, rng)
        sums = np.zeros((len(self.start) - 1, values.shape[1]))
        np.add.at(sums, self.items, values)
        return sums / np.maximum(np.diff(self.start), 1)[:, None]

    def take_items(self, items):
        lengths = np.diff(self.start)[items]
        start = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(start[-1]) + np.repeat(self.start[items] - start[:-1], lengths)
        return GroupedRows(base.take_items(self.rows, self.members[places]), start, np.arange(start[-1]))


def grouped_rows(rows, items, n):
    """Data of n items, from the data of rows and the item of each row."""
    start = np.concatenate([[0], np.cumsum(np.bincount(items, minlength=n))])
    return GroupedRows(rows, start, np.argsort(items, kind="stable"))


class Grouped(NamedTuple):
    """A family whose items are groups of rows, in kernels; a cache ends with the statistics."""

    family: Any

    def erase(self, data, form):
        family, rows = erase(self.family, data.rows, form)
        return Grouped(family), data._replace(rows=rows)

    def prepare_alike(self, X, data):
        # Each row is its own item.
        rows = base.prepare_alike(self.family, X, data.rows)
        return grouped_rows(rows, np.arange(len(X)), len(X))

    # What does not depend on how rows belong to items.
    check_resolution, restore_parameters = Counted.check_resolution, Counted.restore_parameters
    statistics_size, parameters_size = Counted.statistics_size, Counted.parameters_size
    log_marginal, draw_parameters = Counted.log_marginal, Counted.draw_parameters
    component_panel, write_component = Counted.component_panel, Counted.write_component

    def cache_size(self):
        return base.cache_size(self.family) + base.statistics_size(self.family)

    def add_item(self, statistics, data, item, sign):
        for place in range(data.start[item], data.start[item + 1]):
            base.add_item(self.family, statistics, data.rows, data.members[place], sign)

    def refresh_cache(self, statistics, cache):
        size = base.cache_size(self.family)
        base.refresh_cache(self.family, statistics, cache[:size])
        copy_row(cache[size:], statistics)

    def update_cache(self, statistics, cache, data, item, sign):
        size = base.cache_size(self.family)
        for place in range(data.start[item], data.start[item + 1]):
            fast.update_cache(self.family, statistics, cache[:size], data.rows, data.members[place], sign)
        copy_row(cache[size:], statistics)

    def log_predictive(self, cache, data, item):
        # Predictive density of each row given the rows of the cluster and the preceding rows of the item.
        size, first, last = base.cache_size(self.family), data.start[item], data.start[item + 1]
        if first == last:
            return 0.0
        total = base.log_predictive(self.family, cache[:size], data.rows, data.members[first])
        if last > first + 1:
            with_rows, statistics = cache[:size].copy(), cache[size:].copy()
            for place in range(first + 1, last):
                fast.update_cache(self.family, statistics, with_rows, data.rows, data.members[place - 1], 1.0)
                total += base.log_predictive(self.family, with_rows, data.rows, data.members[place])
        return total

    def student_predictive(self, cache, data, item, feature, law):
        row = data.members[data.start[item]]
        fast.student_predictive(self.family, cache[: base.cache_size(self.family)], data.rows, row, feature, law)

    def add_component_densities(self, panel, data, item, width, values):
        for place in range(data.start[item], data.start[item + 1]):
            components.add_component_densities(self.family, panel, data.rows, data.members[place], width, values)


def family_of_rows(family):
    """The family of single rows, without what wraps it for items of several rows or observations."""
    return family.family if isinstance(family, Grouped | Counted) else family
