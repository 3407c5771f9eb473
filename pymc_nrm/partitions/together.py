"""Flat partitions of items in groups that always share a cluster: twins, repeated measurements, must-links.

The measure is the law of the partition of the *groups*: each counts once, whatever its size, and an item on its own is
a group of one.  The data of a group are the data of all its items.  This law needs no constant, unlike the law of a
partition of all items given that groups stay together, whose constant depends on hyperparameters.  Kernels of steps see
groups in the place of items, and :class:`Grouped` in that of a family.
"""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.families.base import add_item, cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, parameters_size
from pymc_nrm.families.fast import update_cache
from pymc_nrm.families.features import features
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.measures.base import draw_partition
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.partitions.nested_laws.known_paths import canonical_paths

__all__ = ["Grouped", "GroupedRows", "Groups", "Together"]


class Groups(NamedTuple):
    """Group of each item, numbered in order of appearance: an input of the random variable."""

    # Int64 of shape (n,).
    groups: Any


@kernel
def _draw_groups(rng, n, measure, groups):
    return draw_partition(measure, groups.groups.max() + 1, rng)[groups.groups]


class Together(Ordered):
    """Items of one group share their cluster; the measure counts groups.

    ``groups`` are whole numbers or strings, one for each item.
    """

    further_priors = {Groups: ("(n)",)}
    only_mixtures = "partition {name!r}, some of whose items stay together: use a Mixture"
    draw = staticmethod(_draw_groups)

    argument = "together"

    def __init__(self, groups, title="together of a Partition"):
        paths, _ = canonical_paths(title, groups)
        self.groups = paths[:, -1].copy()
        self.n_items, self._sizes = len(self.groups), np.bincount(self.groups)
        self._start = np.concatenate([[0], np.cumsum(self._sizes)])
        self._members = np.argsort(self.groups, kind="stable")
        self.first = self._members[self._start[:-1]]
        super().__init__(self.groups.tobytes())

    def further_fields(self):
        return [pt.constant(self.groups)]

    def read(self, point):
        return super().read(point)[self.first]

    def write(self, point, state):
        point = super().write(point, state)
        return {**point, self.name: self.of_items(point[self.name])}

    def of_items(self, labels):
        return labels[self.groups]

    def kernel_parts(self, family, data):
        return Grouped(family), GroupedRows(data, self._start, self._members)

    def renamed(self, labels, n, argument):
        canonical = super().renamed(labels, n, argument)
        apart = canonical != self.of_items(canonical[self.first])
        if apart.any():
            item = int(np.argmax(apart))
            raise ValueError(
                f"{argument} must have one label for each group of together; items {self.first[self.groups[item]]} and "
                f"{item} are in one group"
            )
        return canonical

    def symbolic_sizes(self, labels, n):
        # Labels of another number of items are no value, but must not be read beyond their end.
        items = labels[pt.minimum(np.arange(len(self.groups)), labels.shape[0] - 1)]
        sizes, valid = super().symbolic_sizes(items[self.first], len(self.first))
        together = pt.all(pt.eq(items, items[self.first[self.groups]]))
        return sizes, valid & together & pt.eq(labels.shape[0], n)

    def counts(self, labels):
        return super().counts(labels[self.first])

    def log_join_others(self, labels, join):
        # The others of its group tell the cluster of an item.
        told = self._sizes[self.groups] > 1
        join[told] = -np.inf
        join[told, labels[told]] = 0.0
        return join


class GroupedRows(NamedTuple):
    """Data of a kernel in which the items are groups."""

    # Data of the items.
    rows: Any
    # Items sorted by group, of shape (n,); those of group g are ``members[start[g] : start[g + 1]]``.
    start: Any
    members: Any

    def features(self, rng):
        """Means over the items of each group."""
        values = features(self.rows, rng)[self.members]
        return np.add.reduceat(values, self.start[:-1]) / np.diff(self.start)[:, None]


class Grouped(NamedTuple):
    """A family whose items are groups, in kernels of steps; a cache ends with the statistics."""

    family: Any

    def statistics_size(self):
        return statistics_size(self.family)

    def cache_size(self):
        return cache_size(self.family) + statistics_size(self.family)

    def parameters_size(self):
        return parameters_size(self.family)

    def add_item(self, statistics, data, item, sign):
        for place in range(data.start[item], data.start[item + 1]):
            add_item(self.family, statistics, data.rows, data.members[place], sign)

    def refresh_cache(self, statistics, cache):
        size = cache_size(self.family)
        refresh_cache(self.family, statistics, cache[:size])
        copy_row(cache[size:], statistics)

    def update_cache(self, statistics, cache, data, item, sign):
        size = cache_size(self.family)
        for place in range(data.start[item], data.start[item + 1]):
            update_cache(self.family, statistics, cache[:size], data.rows, data.members[place], sign)
        copy_row(cache[size:], statistics)

    def log_predictive(self, cache, data, item):
        # Each item given those of the cluster and the ones before it in the group.
        size, first, last = cache_size(self.family), data.start[item], data.start[item + 1]
        total = log_predictive(self.family, cache[:size], data.rows, data.members[first])
        if last > first + 1:
            own, statistics = cache[:size].copy(), cache[size:].copy()
            for place in range(first + 1, last):
                update_cache(self.family, statistics, own, data.rows, data.members[place - 1], 1.0)
                total += log_predictive(self.family, own, data.rows, data.members[place])
        return total

    def log_marginal(self, statistics):
        return log_marginal(self.family, statistics)

    def draw_parameters(self, statistics, rng, parameters):
        draw_parameters(self.family, statistics, rng, parameters)

    def component_panel(self, n_columns):
        return component_panel(self.family, n_columns)

    def write_component(self, parameters, panel, column):
        write_component(self.family, parameters, panel, column)

    def add_component_densities(self, panel, data, item, width, values):
        for place in range(data.start[item], data.start[item + 1]):
            add_component_densities(self.family, panel, data.rows, data.members[place], width, values)
